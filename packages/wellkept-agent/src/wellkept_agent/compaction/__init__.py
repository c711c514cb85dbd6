"""Keeps a conversation within the model's window, in three tiers.

1. Micro-compaction clears old tool results before a model call (`micro`).
2. The session's running summary replaces what it covers (`wellkept_agent.session_memory`).
3. The model writes a summary (`summary`); files, todos, plan and skills are shown again
   (`restore`).

Open `capability` first, then `compactor`.
"""

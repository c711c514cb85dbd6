"""Optional wording by a chat model, within a daily token budget.

Open `session_summaries.py` first. Imports `core`, `memory` and `observe.session`.
"""

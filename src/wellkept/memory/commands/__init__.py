"""Explicit memory commands in prompts: "remember …", "always …", "forget …".

Imports `core` and the rest of `memory`. Start with `execute.py`; `detect.py` finds the commands,
`user_text.py` masks quoted and pasted text first.
"""

"""`wellkept team`: organisations, people, tokens, audit and policies. Open `group.py` first."""

"""Shell hooks of skills: trust, process, events.

May import `core` and `skills.documents`. Start with `runner.py`.
"""

"""Shell hooks of skills: trust, process, events.

Start with `runner.py`.
"""

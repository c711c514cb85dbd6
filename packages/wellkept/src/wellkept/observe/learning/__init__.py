"""From scratchpads to memories: signals, validation, inference rules, promotion.

Open `promote.py` first.
"""

"""From scratchpads to memories: signals, validation, inference rules, promotion.

Open `promote.py` first. Imports `core`, `memory` and other parts of `observe`; no client, no app.
"""

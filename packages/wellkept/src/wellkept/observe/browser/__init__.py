"""Facts about a running application, learned from calls of browser and desktop tools.

Open `steps.py` first, then `rules.py`.
"""

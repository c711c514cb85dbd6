"""Records, errors, ids, clock, text and ports shared by every package.

Open `memory.py` first, then `ports/store.py`. Imports the standard library only.
"""

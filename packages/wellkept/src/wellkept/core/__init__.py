"""Records, errors, ids, clock, settings, ports and doors that every room uses.

Open `memory.py` first, then `ports/store.py`. Standard library only.
"""

"""Collect signals on a session's scratchpad: file use, errors, backtracks, dead ends, validations.

Open `collector.py` first; its state is part of the session state. `scratchpad.py` bounds what is
kept. What several sessions show is learned in `observe.learning`.
"""

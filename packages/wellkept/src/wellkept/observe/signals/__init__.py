"""Signals of a session, folded from its step log: file use, errors, backtracks, dead ends, tests.

Open `fold.py` first. What several sessions show is learned in `observe.learning`.
"""

"""Failed commands and what made them work: the way out of a failure.

`cause` reads output: did the command fail, and which line says why. `way_out` compares a failed
command with the next success of the same intent and keeps what differed. `lessons` finds these
pairs in a session's step log. Open `way_out.py` first. Imports `core` and `observe.reading` only.
"""

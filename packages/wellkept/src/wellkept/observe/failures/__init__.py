"""Failed commands and what made them work: the way out of a failure.

Open `way_out.py` first: it compares a failed command with a success of the same intent and keeps
what differed. `episodes` finds such pairs in a session's step log, `lessons` keeps them as memories
and finds the one for a new failure.
"""

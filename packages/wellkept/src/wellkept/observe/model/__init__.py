"""What an optional text model reads in sessions, within a daily token budget.

Open `consolidation.py` first: it reads one session after the other. `event_log.py` keeps what was
said, `quotations.py` finds the words it points at, `claims.py` checks its own,
and `extraction.py` and `session_summaries.py` ask and apply what holds.
"""

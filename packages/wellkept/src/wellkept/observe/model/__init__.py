"""What an optional text model reads in sessions, within a daily token budget.

Open `consolidation.py` first: it reads one session after the other. `event_log.py` keeps what was
said, `prompt.py` asks, `grounding.py` checks the answer against the events, and `extraction.py` and
`session_summaries.py` apply what holds.
"""

"""What injected lines led to: the log, and by rule whether each line was used.

Start with `feedback.py`: an event becomes a log entry; `outcomes.py` compares its lines with what
the session did afterwards.
"""

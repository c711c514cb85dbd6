"""From events to sessions, observations and lessons, by rule.

Open `session/reducer.py` first: it applies an event to the one session state. `ingest` takes events
from the spool exactly once, `signals` and `failures` read what was done, `learning` turns what held
up into memories, `imports` brings what exists before the first session.
"""

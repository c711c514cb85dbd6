"""Apply events to a session: counts, step log, observations and summary.

Open `reducer.py` first, then `state.py`: one reducer, one state. `observations.py` turns steps into
observations by the rules in `observation_rules.py` and `failures.py`.
"""

"""Apply events to a session: counts, step log, observations and summary.

Open `reducer.py` first, then `state.py`: one reducer, one state. Observations, digest and summary
are folds over the step log.
"""

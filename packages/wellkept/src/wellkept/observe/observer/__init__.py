"""`wk.observer` and `wk.methodology`, and draining the spool. Open `api.py`, then `drain.py`."""

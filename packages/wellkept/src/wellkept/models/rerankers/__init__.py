"""Rerankers. May import `core` and other `providers`. Open `http.py`."""

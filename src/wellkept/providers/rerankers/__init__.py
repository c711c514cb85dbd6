"""Rerankers. May import `core` and `providers.http`. Open `http.py`."""

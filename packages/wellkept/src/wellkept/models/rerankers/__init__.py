"""Rerankers. Open `http.py`."""

"""Answers questions about a built graph: impact, dependencies, data flow, test coverage.

Open `queries.py` first.
"""

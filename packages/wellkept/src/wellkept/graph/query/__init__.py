"""Answers questions about a built graph: impact, dependencies, data flow, test coverage.

Open `queries.py` first. Data flow may also import `parse`, `resolve` and `index`.
"""

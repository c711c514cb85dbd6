"""Builds and updates the graph incrementally, parsing in worker processes.

Open `builder.py` first.
"""

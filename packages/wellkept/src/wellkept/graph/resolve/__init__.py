"""Resolves names across files and builds edges. Open `edges.py` first."""

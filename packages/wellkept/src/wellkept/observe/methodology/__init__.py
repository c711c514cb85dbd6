"""Methodologies: phase names, work units, and what one stage hands on to the next.

Open `protocol.py` first.
"""

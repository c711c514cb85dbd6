"""Coding clients: the hook process they start, what they ask, and how they are answered.

Importing this package costs nothing; the hook process does it at every event.
"""

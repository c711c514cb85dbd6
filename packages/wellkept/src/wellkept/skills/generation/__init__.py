"""Generates skills from successful sessions.

May import `core` and the other packages of `skills`. Start with `generate.py`.
"""

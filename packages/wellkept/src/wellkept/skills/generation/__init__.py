"""Generates skills from successful sessions.

Start with `generate.py`.
"""

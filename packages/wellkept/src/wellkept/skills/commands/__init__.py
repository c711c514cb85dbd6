"""Slash commands: parsing, lookup and rendering of prompts.

May import `core`. Start with `table.py`.
"""

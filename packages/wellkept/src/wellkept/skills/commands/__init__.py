"""Slash commands: parsing, lookup and rendering of prompts.

Start with `table.py`.
"""

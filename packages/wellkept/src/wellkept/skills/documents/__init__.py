"""Reads SKILL.md documents as `Skill` records.

Start with `reader.py`.
"""

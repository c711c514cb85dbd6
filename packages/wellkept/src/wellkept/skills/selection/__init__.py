"""Selects the skills that fit a project and a prompt, and renders them.

May import `core`, `skills.globs` and `skills.commands`. Start with `select.py`.
"""

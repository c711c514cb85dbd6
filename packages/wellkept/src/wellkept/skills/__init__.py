"""Skills: reading, finding, selecting, running and generating SKILL.md documents.

Packages: `documents` (bytes -> `Skill`), `sources` (where skills are found), `authoring` (create,
edit, validate), `selection` (which skills fit a prompt), `commands` (slash commands), `hooks`
(trusted shell hooks), `generation` (skills from sessions). May import `core` only. Start with
`documents/reader.py`.
"""

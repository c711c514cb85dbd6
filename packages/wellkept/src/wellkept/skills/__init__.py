"""Skills: reading, finding, selecting, running and generating SKILL.md documents.

Open `documents/reader.py` first (bytes to `Skill`), then `library/api.py` (`wk.skills`). `sources`
finds skills, `selection` picks those that fit a prompt, `authoring` writes them, `commands` and
`hooks` run them, `generation` makes them from sessions.
"""

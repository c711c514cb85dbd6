"""A plugin that cannot even be loaded."""

raise RuntimeError("made for another version")

"""Finding files and text in the project: names, lines, meaning, structure."""

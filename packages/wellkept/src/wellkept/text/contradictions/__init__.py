"""Whether a new statement replaces an old one: subjects, verbs, values, words of change."""

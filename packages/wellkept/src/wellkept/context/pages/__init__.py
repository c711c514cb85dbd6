"""The project pages as verbs."""

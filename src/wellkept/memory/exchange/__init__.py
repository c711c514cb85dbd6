"""Memory in and out of files: exact JSONL, and Markdown that people can edit."""

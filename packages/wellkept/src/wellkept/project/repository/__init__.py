"""What a repository says about itself, as statements: commands, conventions, places, people, past.

Start with `read.py`, which asks every reader; `project_files.py` has the record they give. Readers
only read files and git, never run a project's code, and are bounded in number and size. Does not
know storage: `observe.imports.repository` stores the statements.
"""

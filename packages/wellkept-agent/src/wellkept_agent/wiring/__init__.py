"""The agent runtime put together with the memory, settings and files of this user.

Open `assembly` first. `wellkept_agent` knows no store and no settings file; what it needs of them
is made here and passed in.
"""

"""Teams: organisations on PostgreSQL, their people, and memory as one person may see it.

Open `administration.py` first. Knows nothing of HTTP and terminals.
"""

"""Memory in the loop: what is known reaches the model at the moment it matters.

Open `capability` first. Everything that is told comes from one operation, the same that answers the
hooks of other clients; it is passed in as a `ContextSource`.
"""

"""Code written for Mem0, with one import changed."""

import sys

from wellkept_adapters.mem0 import Memory  # was: from mem0 import Memory

question = " ".join(sys.argv[1:]) or "what food does she like?"

with Memory() as memory:
    memory.add("I like pizza with mushrooms", user_id="alice")
    memory.add("I like sushi", user_id="bob")
    for found in memory.search(question, filters={"user_id": "alice"})["results"]:
        print(found["memory"])

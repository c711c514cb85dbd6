"""What people say to the memory: "remember …", "forget …", corrections and rules in plain speech,
answers to an agent's questions.

Start with `execute.py`; `detect.py` finds the commands, `statements.py` the rules without a memory
word, `answers.py` the decisions; `user_text.py` masks quoted and pasted text first.
"""

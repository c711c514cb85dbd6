"""Only the memory, with another framework: here the plain OpenAI SDK.

`recall` finds what is known about a question; `remember` keeps the answer.
"""

import sys

import openai

import wellkept

question = " ".join(sys.argv[1:]) or "In which unit do we write amounts?"

with wellkept.open() as wk:
    known = "\n".join(f"- {hit.memory.content}" for hit in wk.recall(question, limit=5))
    client = openai.OpenAI()  # OPENAI_API_KEY, OPENAI_BASE_URL
    stream = client.chat.completions.create(
        model="gpt-5-mini",
        messages=[
            {"role": "system", "content": f"Answer in one sentence. We know:\n{known}"},
            {"role": "user", "content": question},
        ],
        stream=True,
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    answer = "".join(pieces)
    print(answer)
    wk.remember(f"{question} {answer}", source="agent_explicit")

"""Local and remote embedders. Open `settings.py` first: tiers and model ids.

`static.py` is the default, `minilm.py` the better local model; `ollama.py` and `openai.py` are
remote.
"""

"""Chat models. May import `core` and `providers.http`. Open `openai.py`."""

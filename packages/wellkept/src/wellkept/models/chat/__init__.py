"""Chat models: streamed with tools and thinking for agents, one question at a time for sessions.

`open_model` in `open` is an agent's way in, `open_chat_model` in `text` that of whoever asks one
question. Each protocol (`anthropic`, `openai`) is written once; `wire` says what one is, `open`
streams it with retries and time limits. `data/models.toml` lists vendors, context sizes and
capabilities, and a user's own file adds to it.

Invariants: an API key is in no message, log or repr; a key of one vendor is never sent to another;
redirects are refused.
"""

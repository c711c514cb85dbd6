"""Chat models for agents: streamed, with tools and thinking, over the vendors' own SDKs.

`open_model` in `open` is the way in; `data/models.toml` lists vendors, context sizes and
capabilities, and a user's own file adds to it. One module per wire protocol (`anthropic`, `openai`)
with its translation beside it (`anthropic_messages`, `openai_messages`); `attempts` holds retries
and time limits, `failures` turns the SDKs' errors into ours.

Invariants: an API key is in no message, log or repr; a key of one vendor is never sent to another;
redirects are refused.
"""

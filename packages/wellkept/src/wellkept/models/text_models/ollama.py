"""Answers from a local Ollama server over `/api/chat`."""

from __future__ import annotations

from wellkept.core.ports.models import ChatAnswer
from wellkept.models.http.client import Endpoint
from wellkept.models.http.json_fields import json_object
from wellkept.models.text_models.request import SYSTEM_TEXT, answer_of, key_mark, post_within_limit

DEFAULT_MODEL = "qwen3:4b"
_CONTEXT_STEP = 4_096
_CHARS_PER_TOKEN = 3


class OllamaChatModel:
    """Asks a model that the server has pulled."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._endpoint = endpoint
        self._model = model

    @property
    def model_id(self) -> str:
        return f"ollama/{self._model}"

    @property
    def login(self) -> str:
        return key_mark(self._endpoint)

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        """The model's answer to `prompt`."""
        # Ollama silently cuts what does not fit its context, by default 4,096 tokens.
        needed = (len(SYSTEM_TEXT) + len(prompt)) // _CHARS_PER_TOKEN + max_tokens
        context = -(-needed // _CONTEXT_STEP) * _CONTEXT_STEP
        body: dict[str, object] = {
            "model": self._model,
            "stream": False,
            "messages": [
                {"role": "system", "content": SYSTEM_TEXT},
                {"role": "user", "content": prompt},
            ],
            "options": {"num_predict": max_tokens, "num_ctx": context, "temperature": 0},
        }
        reply = json_object(post_within_limit(self._endpoint, "/api/chat", body), what="the answer")
        text = json_object(reply.get("message"), what="a message").get("content")
        what = f"{self._model} at {self._endpoint.shown_url}"
        names = ("prompt_eval_count", "eval_count")
        return answer_of(text, reply, names=names, what=what)

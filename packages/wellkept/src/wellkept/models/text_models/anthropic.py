"""Answers from any server with Anthropic's `/v1/messages`."""

from __future__ import annotations

from wellkept.core.ports.models import ChatAnswer
from wellkept.core.records import replace
from wellkept.models.http.client import Endpoint
from wellkept.models.http.json_fields import json_array, json_object
from wellkept.models.text_models.request import SYSTEM_TEXT, answer_of, key_mark, post_within_limit

DEFAULT_URL = "https://api.anthropic.com"
DEFAULT_MODEL = "claude-haiku-4-5"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
_VERSION = {"anthropic-version": "2023-06-01"}


class AnthropicChatModel:
    """Asks over `/v1/messages`; the endpoint's address may end with `/v1`."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._endpoint = replace(endpoint, key_header="x-api-key", headers=_VERSION)
        self._model = model
        has_version = endpoint.base_url.rstrip("/").endswith("/v1")
        self._path = "/messages" if has_version else "/v1/messages"

    @property
    def model_id(self) -> str:
        return f"anthropic/{self._model}"

    @property
    def login(self) -> str:
        return key_mark(self._endpoint)

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        """The model's answer to `prompt`."""
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": max_tokens,
            "system": SYSTEM_TEXT,
            "messages": [{"role": "user", "content": prompt}],
        }
        sent = post_within_limit(self._endpoint, self._path, body)
        reply = json_object(sent, what="the answer")
        blocks = json_array(reply.get("content"), what="content")
        parts = [json_object(block, what="a block").get("text") for block in blocks]
        text = "".join(part for part in parts if isinstance(part, str))
        what = f"{self._model} at {self._endpoint.shown_url}"
        names = ("input_tokens", "output_tokens")
        return answer_of(text, reply.get("usage"), names=names, what=what)

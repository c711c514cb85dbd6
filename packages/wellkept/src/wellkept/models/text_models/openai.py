"""Answers from any server with `/v1/chat/completions`."""

from __future__ import annotations

from urllib.parse import urlsplit

from wellkept.core.ports.models import ChatAnswer
from wellkept.models.http.client import Endpoint
from wellkept.models.http.json_fields import json_array, json_object
from wellkept.models.text_models.request import SYSTEM_TEXT, answer_of, key_mark, post_within_limit

DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIChatModel:
    """Asks over `/chat/completions` under the endpoint's address."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._endpoint = endpoint
        self._model = model
        # OpenAI renamed the field for its newer models; other servers know only the old name.
        is_openai = urlsplit(endpoint.base_url).hostname == "api.openai.com"
        self._limit_field = "max_completion_tokens" if is_openai else "max_tokens"

    @property
    def model_id(self) -> str:
        return f"openai/{self._model}"

    @property
    def login(self) -> str:
        return key_mark(self._endpoint)

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        """The model's answer to `prompt`."""
        body: dict[str, object] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": SYSTEM_TEXT},
                {"role": "user", "content": prompt},
            ],
            self._limit_field: max_tokens,
        }
        sent = post_within_limit(self._endpoint, "/chat/completions", body)
        reply = json_object(sent, what="the answer")
        choices = json_array(reply.get("choices"), what="choices")
        text: object = None
        if choices:
            message = json_object(choices[0], what="a choice").get("message")
            text = json_object(message, what="a message").get("content")
        what = f"{self._model} at {self._endpoint.shown_url}"
        names = ("prompt_tokens", "completion_tokens")
        return answer_of(text, reply.get("usage"), names=names, what=what)

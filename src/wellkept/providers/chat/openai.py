"""Single-prompt completions from any server with `/v1/chat/completions`.

For small, synchronous uses of a model, not for conversation. Invariant: a blank completion is an
error, never an empty string.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from wellkept.core.errors import ProviderError
from wellkept.providers.http import json_fields
from wellkept.providers.http.client import Endpoint, post_json


class OpenAIChatModel:
    """Completes over `/chat/completions` under the endpoint's address."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._endpoint = endpoint
        self._model = model
        # OpenAI renamed the field for its newer models; other servers know only the old name.
        is_openai = urlsplit(endpoint.base_url).hostname == "api.openai.com"
        self._limit_field = "max_completion_tokens" if is_openai else "max_tokens"

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's completion of `prompt`."""
        body: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            self._limit_field: max_tokens,
        }
        reply = post_json(self._endpoint, "/chat/completions", body)
        choices = json_fields.json_array(
            json_fields.json_object(reply, what="the answer").get("choices"), what="choices"
        )
        if not choices:
            raise self._blank()
        message = json_fields.json_object(choices[0], what="a choice").get("message")
        content = json_fields.json_object(message, what="a message").get("content")
        if not isinstance(content, str) or not content.strip():
            raise self._blank()
        return content

    def _blank(self) -> ProviderError:
        return ProviderError(
            f"{self._model} at {self._endpoint.shown_url} gave a blank answer.",
            hint="Allow more tokens or choose another model.",
        )

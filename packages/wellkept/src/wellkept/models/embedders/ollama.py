"""Embeddings from an Ollama server.

Invariant: vectors have the promised dimension. Older servers ignore `dimensions`; their longer
vectors are cut and rescaled, as Matryoshka training allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.models.embedders.http_embedder import RemoteEmbedder, RequestLimits
from wellkept.models.http import json_fields
from wellkept.models.http.client import Endpoint, get_json, post_json

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_URL = "http://127.0.0.1:11434"

# These models expect a task description before queries, and only before queries.
_QUERY_TASKS = {
    "qwen3-embedding": "Instruct: Find the notes about a software project that answer the query"
    "\nQuery: "
}


class OllamaEmbedder(RemoteEmbedder):
    """Embeds with a model of an Ollama server."""

    provider = "ollama"
    limits = RequestLimits(texts=32, chars=200_000, chars_per_text=32_000)

    def embed_query(self, text: str) -> bytes:
        task = _QUERY_TASKS.get(self._model.partition(":")[0], "")
        return super().embed_query(task + text if text.strip() else text)

    def _request(self, texts: list[str], endpoint: Endpoint) -> list[list[float]]:
        body = {
            "model": self._model,
            "input": texts,
            "truncate": True,
            "dimensions": self._dimension,
        }
        answer = json_fields.json_object(post_json(endpoint, "/api/embed", body), what="the answer")
        found = json_fields.json_array(answer.get("embeddings"), what="embeddings")
        return [json_fields.numbers(row, what="an embedding")[: self._dimension] for row in found]


def installed_models(endpoint: Endpoint) -> list[str]:
    """The server's models; `ProviderError` when it does not answer."""
    answer = json_fields.json_object(get_json(endpoint, "/api/tags"), what="the answer")
    listed = json_fields.json_array(answer.get("models"), what="models")
    return [
        json_fields.json_string(
            json_fields.json_object(row, what="a model").get("name"), what="a model's name"
        )
        for row in listed
    ]


def has_model(endpoint: Endpoint, model: str) -> bool:
    """Whether the server has `model`; a name without tag means the tag `latest`."""
    wanted = model if ":" in model else f"{model}:latest"
    return wanted in installed_models(endpoint)


def server_url(environment: Mapping[str, str]) -> str:
    """The server's address from OLLAMA_HOST, in any form that Ollama accepts."""
    host = environment.get("OLLAMA_HOST", "").strip()
    if not host:
        return DEFAULT_URL
    url = host if "://" in host else f"http://{host}"
    scheme, _, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    # The variable may be the server's listen address: "all interfaces" means this machine.
    address = address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
    if not address:
        raise ProviderError(f"OLLAMA_HOST={host!r} names no host.", hint="Use host:port.")
    has_port = address.rpartition("]")[2].count(":") == 1
    return f"{scheme}://{address if has_port else f'{address}:11434'}{slash}{path}"

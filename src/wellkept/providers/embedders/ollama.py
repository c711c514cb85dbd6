"""Embeddings from a local Ollama server, over its own HTTP API.

Invariant: vectors have the promised dimension; a longer one (older servers ignore `dimensions`)
is cut and scaled again, which is what Matryoshka training allows. Knows nothing of which
embedder ought to be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.providers.embedders.batches import RequestLimits
from wellkept.providers.embedders.http_embedder import RemoteEmbedder
from wellkept.providers.http import json_fields
from wellkept.providers.http.client import Endpoint, get_json, post_json

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_URL = "http://127.0.0.1:11434"

# These models are trained to read queries, and only queries, behind a task description.
_QUERY_TASKS = {
    "qwen3-embedding": "Instruct: Find the notes about a software project that answer the query"
    "\nQuery: "
}


class OllamaEmbedder(RemoteEmbedder):
    """Embeds with a model that an Ollama server holds."""

    provider = "ollama"
    limits = RequestLimits(texts=32, chars=200_000, chars_per_text=32_000)

    def embed_query(self, text: str) -> bytes:
        task = _QUERY_TASKS.get(self._model.partition(":")[0], "")
        return super().embed_query(task + text if text.strip() else text)

    def _request(self, texts: list[str]) -> list[list[float]]:
        body = {
            "model": self._model,
            "input": texts,
            "truncate": True,
            "dimensions": self._dimension,
        }
        answer = json_fields.table(post_json(self._endpoint, "/api/embed", body), what="the answer")
        found = json_fields.rows(answer.get("embeddings"), what="embeddings")
        return [json_fields.numbers(row, what="an embedding")[: self._dimension] for row in found]


def installed_models(endpoint: Endpoint) -> list[str]:
    """List the models that the server has; raises `ProviderError` when it does not answer."""
    answer = json_fields.table(get_json(endpoint, "/api/tags"), what="the answer")
    listed = json_fields.rows(answer.get("models"), what="models")
    return [
        json_fields.text(json_fields.table(row, what="a model").get("name"), what="a model's name")
        for row in listed
    ]


def has_model(endpoint: Endpoint, model: str) -> bool:
    """Whether the server holds `model`; a name without a tag means the tag `latest`."""
    wanted = model if ":" in model else f"{model}:latest"
    return wanted in installed_models(endpoint)


def server_url(environment: Mapping[str, str]) -> str:
    """Read the server's address from OLLAMA_HOST, in any of the forms that Ollama accepts."""
    host = environment.get("OLLAMA_HOST", "").strip()
    if not host:
        return DEFAULT_URL
    url = host if "://" in host else f"http://{host}"
    scheme, _, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    # The same variable tells the server where to listen: every address means this machine here.
    address = address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
    if not address:
        raise ProviderError(f"OLLAMA_HOST={host!r} names no host.", hint="Use host:port.")
    has_port = address.rpartition("]")[2].count(":") == 1
    return f"{scheme}://{address if has_port else f'{address}:11434'}{slash}{path}"

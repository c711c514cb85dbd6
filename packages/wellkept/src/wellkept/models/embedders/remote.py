"""Embedders over HTTP: Ollama, and any server with OpenAI's `/v1/embeddings`.

Texts are sent in batches within the server's limits. Invariants: one vector per text, in order;
blank texts are not sent and become zero vectors; every vector has the promised dimension, so that
an index never mixes sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from wellkept.core.errors import ProviderError
from wellkept.core.records import record, replace
from wellkept.models.embedders.settings import DEFAULT_DIMENSION, DEFAULT_MODELS, ModelName
from wellkept.models.http import (
    Endpoint,
    get_json,
    json_array,
    json_object,
    json_string,
    number,
    numbers,
    post_json,
    sort_by_index,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
QUERY_LIMIT_S = 10.0
QUERY_ATTEMPTS = 2
# These models expect a task description before queries, and only before queries.
_QUERY_TASKS = {
    "qwen3-embedding": "Instruct: Find the notes about a software project that answer the query"
    "\nQuery: "
}


@record
class _RequestLimits:
    """Size limits of one request."""

    texts: int = 64
    chars: int = 100_000
    chars_per_text: int = 8_000


class _RemoteEmbedder(ABC):
    """Embeds with a model on a server."""

    provider: ClassVar[str]
    limits: ClassVar[_RequestLimits]

    def __init__(
        self, endpoint: Endpoint, *, model: str | None = None, dimension: int = DEFAULT_DIMENSION
    ) -> None:
        self._endpoint = endpoint
        self._model = model or DEFAULT_MODELS[self.provider]
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        return ModelName(self.provider, self._dimension, self._model).model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts to search in."""
        return self._embed(texts, self._endpoint)

    def embed_query(self, text: str) -> bytes:
        """Embed a search query. Somebody waits, and can be answered by words alone, so a server
        that is silent is not waited for as long as with texts."""
        usual = self._endpoint
        retries = replace(usual.retries, attempts=min(usual.retries.attempts, QUERY_ATTEMPTS))
        limit_s = min(usual.timeout_s, QUERY_LIMIT_S)
        return self._embed([text], replace(usual, timeout_s=limit_s, retries=retries))[0]

    def _embed(self, texts: Sequence[str], endpoint: Endpoint) -> list[bytes]:
        return _embed_in_batches(
            texts,
            request=lambda batch: self._request(batch, endpoint),
            limits=self.limits,
            dimension=self._dimension,
        )

    @abstractmethod
    def _request(self, texts: list[str], endpoint: Endpoint) -> list[list[float]]:
        """Send one request; vectors in the order of the texts."""


class OpenAICompatibleEmbedder(_RemoteEmbedder):
    """Embeds over `/embeddings` under the endpoint's address."""

    provider = "openai"
    # The service allows 8,192 tokens a text; a Chinese character can be more than one token.
    limits = _RequestLimits(texts=64, chars=100_000, chars_per_text=8_000)

    def _request(self, texts: list[str], endpoint: Endpoint) -> list[list[float]]:
        body = {
            "model": self._model,
            "input": texts,
            "dimensions": self._dimension,
            "encoding_format": "float",
        }
        answer = json_object(post_json(endpoint, "/embeddings", body), what="the answer")
        rows = json_array(answer.get("data"), what="data")
        found = [
            (
                number(row.get("index"), what="an index"),
                numbers(row.get("embedding"), what="an embedding"),
            )
            for row in (json_object(one, what="an embedding") for one in rows)
        ]
        return sort_by_index(found, count=len(texts), what="embeddings")


class OllamaEmbedder(_RemoteEmbedder):
    """Embeds with a model of an Ollama server. Older servers ignore `dimensions`; their longer
    vectors are cut and rescaled, as Matryoshka training allows."""

    provider = "ollama"
    limits = _RequestLimits(texts=32, chars=200_000, chars_per_text=32_000)

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
        answer = json_object(post_json(endpoint, "/api/embed", body), what="the answer")
        found = json_array(answer.get("embeddings"), what="embeddings")
        return [numbers(row, what="an embedding")[: self._dimension] for row in found]


def installed_models(endpoint: Endpoint) -> list[str]:
    """The server's models; `ProviderError` when it does not answer."""
    answer = json_object(get_json(endpoint, "/api/tags"), what="the answer")
    listed = json_array(answer.get("models"), what="models")
    return [
        json_string(json_object(row, what="a model").get("name"), what="a model's name")
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
        return OLLAMA_URL
    url = host if "://" in host else f"http://{host}"
    scheme, _, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    # The variable may be the server's listen address: "all interfaces" means this machine.
    address = address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
    if not address:
        raise ProviderError(f"OLLAMA_HOST={host!r} names no host.", hint="Use host:port.")
    has_port = address.rpartition("]")[2].count(":") == 1
    return f"{scheme}://{address if has_port else f'{address}:11434'}{slash}{path}"


# -- Batches --------------------------------------------------------------------------------------


def _embed_in_batches(
    texts: Sequence[str],
    *,
    request: Callable[[list[str]], list[list[float]]],
    limits: _RequestLimits,
    dimension: int,
) -> list[bytes]:
    """Embed all `texts`, split into requests within the limits."""
    from wellkept.models.embedders.words import pack_unit

    vectors = [bytes(4 * dimension)] * len(texts)
    numbered = [(i, _sendable(t, limits)) for i, t in enumerate(texts) if t.strip()]
    for batch in _batches(numbered, limits):
        rows = request([text for _, text in batch])
        _check(rows, count=len(batch), dimension=dimension)
        for (position, _), values in zip(batch, rows, strict=True):
            vectors[position] = pack_unit(values)
    return vectors


def _sendable(text: str, limits: _RequestLimits) -> str:
    # Lone surrogates have no UTF-8 form, and some servers refuse or mangle them.
    return text[: limits.chars_per_text].encode("utf-8", "replace").decode("utf-8")


def _batches(
    items: Sequence[tuple[int, str]], limits: _RequestLimits
) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    chars = 0
    for item in items:
        if batch and (len(batch) >= limits.texts or chars + len(item[1]) > limits.chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += len(item[1])
    if batch:
        yield batch


def _check(rows: Sequence[Sequence[float]], *, count: int, dimension: int) -> None:
    if len(rows) != count:
        raise ProviderError(
            f"The server sent {len(rows)} vectors for {count} texts.",
            hint="Check the address and the model's name.",
        )
    wrong = {len(values) for values in rows} - {dimension}
    if wrong:
        raise ProviderError(
            f"The server sent vectors of {min(wrong)} dimensions, {dimension} were asked for.",
            hint="Set embedding.dimension to the model's, or choose another model.",
        )

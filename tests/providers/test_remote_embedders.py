"""Ollama and OpenAI-compatible embedders against a loopback server with the same protocols."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.ports.models import Embedder
from wellkept.models.embedders.remote import (
    OllamaEmbedder,
    OpenAICompatibleEmbedder,
    has_model,
    installed_models,
    server_url,
)
from wellkept.models.embedders.words import cosine, unpack
from wellkept.models.http import NO_RETRIES, Endpoint, Retries
from wellkept.models.rerankers import HttpReranker

pytestmark = pytest.mark.feature("B4")

_KEY = "sk-test-0123456789abcdef"


class Waits:
    """Keeps the waiting times instead of waiting."""

    def __init__(self) -> None:
        self.taken_s: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken_s.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@contextmanager
def _serving(**behaviour: object) -> Generator[FakeEmbeddingServer]:
    with FakeEmbeddingServer(Behaviour(**behaviour)) as server:  # pyright: ignore[reportArgumentType]
        yield server


@pytest.fixture
def server() -> Iterator[FakeEmbeddingServer]:
    with FakeEmbeddingServer() as running:
        yield running


def _ollama(server: FakeEmbeddingServer, waits: Waits, *, timeout_s: float = 5.0) -> Embedder:
    return OllamaEmbedder(Endpoint(server.url, timeout_s=timeout_s, retries=Retries(sleep=waits)))


def _openai(server: FakeEmbeddingServer, waits: Waits, *, timeout_s: float = 5.0) -> Embedder:
    retries = Retries(sleep=waits)
    endpoint = Endpoint(server.openai_url, api_key=_KEY, timeout_s=timeout_s, retries=retries)
    return OpenAICompatibleEmbedder(endpoint)


Opener = Callable[[FakeEmbeddingServer, Waits], Embedder]
both = pytest.mark.parametrize("open_", [_ollama, _openai], ids=["ollama", "openai"])


@both
def test_vectors_come_in_order_with_the_promised_dimension(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    embedder = open_(server, waits)
    near, far, same = embedder.embed_documents(["run the tests", "rotate keys", "run the tests"])
    assert unpack(near).shape == (embedder.dimension,) == (1024,)
    assert near == same
    assert cosine(near, far) < 0.5
    assert cosine(near, near) == pytest.approx(1.0, abs=1e-6)


@both
def test_the_dimension_is_always_sent(open_: Opener, server: FakeEmbeddingServer, waits: Waits):
    open_(server, waits).embed_query("anything")
    assert server.seen[0].body["dimensions"] == 1024


@both
def test_blank_texts_are_not_sent_and_become_zero_vectors(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    embedder = open_(server, waits)
    first, blank, space = embedder.embed_documents(["text", "", " \n"])
    assert unpack(first).any()
    assert not unpack(blank).any()
    assert not unpack(space).any()
    assert not unpack(embedder.embed_query("  ")).any()
    assert [request.body["input"] for request in server.seen] == [["text"]]


@both
def test_many_and_long_texts_are_split_over_requests_without_losing_order(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    embedder = open_(server, waits)
    texts = [f"note {number} " + "pad " * (3000 * (number % 7 == 0)) for number in range(150)]
    vectors = embedder.embed_documents(texts)
    assert len(server.seen) > 2
    assert vectors[140] == embedder.embed_documents([texts[140]])[0]
    assert len(set(vectors)) == len(texts)


@both
def test_surrogates_nul_and_huge_texts_are_sent_in_a_form_the_server_takes(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    vectors = open_(server, waits).embed_documents(["\ud800 lone", "nul \x00 byte", "x " * 500_000])
    assert all(unpack(vector).any() for vector in vectors)


@both
@pytest.mark.parametrize(
    "fault",
    [Fault(status=429), Fault(status=500), Fault(status=503), Fault(drop=True)],
    ids=["429", "500", "503", "dropped"],
)
def test_a_passing_fault_is_tried_again_with_growing_waits(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits, fault: Fault
):
    server.fail_next(fault, fault)
    assert unpack(open_(server, waits).embed_documents(["text"])[0]).any()
    assert waits.taken_s == [0.25, 0.5]


@both
def test_lasting_faults_end_in_an_error_after_a_bounded_number_of_attempts(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    server.fail_next(*[Fault(status=503)] * 10)
    with pytest.raises(ProviderError, match="after 4 attempts: HTTP 503: fault 503"):
        open_(server, waits).embed_documents(["text"])
    assert len(server.seen) == 4


@both
def test_a_question_is_tried_only_once_more(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    server.fail_next(*[Fault(status=503)] * 10)
    with pytest.raises(ProviderError, match="after 2 attempts: HTTP 503: fault 503"):
        open_(server, waits).embed_query("text")
    assert waits.taken_s == [0.25]


@both
def test_the_servers_own_waiting_time_is_kept_within_reason(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    server.fail_next(
        Fault(status=429, headers={"Retry-After": "3"}),
        Fault(status=429, headers={"Retry-After": "9999"}),
        Fault(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    )
    open_(server, waits).embed_documents(["text"])
    assert waits.taken_s == [3.0, 8.0, 1.0]


@both
def test_a_client_error_is_not_tried_again(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits
):
    server.fail_next(Fault(status=400))
    with pytest.raises(ProviderError, match="HTTP 400: fault 400"):
        open_(server, waits).embed_query("text")
    assert waits.taken_s == []


def test_a_server_that_never_answers_runs_into_the_time_out(
    server: FakeEmbeddingServer, waits: Waits
):
    server.fail_next(*[Fault(hang=True)] * 4)
    with pytest.raises(ProviderError, match=r"no answer within 0\.05 s"):
        _ollama(server, waits, timeout_s=0.05).embed_query("text")


@both
def test_a_server_that_is_not_there_says_so(open_: Opener, waits: Waits):
    with FakeEmbeddingServer() as gone:
        embedder = open_(gone, waits)
    with pytest.raises(ProviderError, match=r"no connection .*Check that the server is running"):
        embedder.embed_query("text")


@both
@pytest.mark.parametrize("body", [b"<html>", b"[]", b'"text"', b"{}", b'{"data": 1}', b""])
def test_an_answer_of_another_shape_is_refused(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits, body: bytes
):
    server.fail_next(Fault(body=body))
    with pytest.raises(ProviderError, match="Check"):
        open_(server, waits).embed_query("text")


@both
@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"null", b'"0.1"', b"true"])
def test_what_is_not_a_finite_number_is_refused(
    open_: Opener, server: FakeEmbeddingServer, waits: Waits, number: bytes
):
    row = b"[" + b",".join([number] * 1024) + b"]"
    body = b'{"embeddings":[%s],"data":[{"index":0,"embedding":%s}]}' % (row, row)
    server.fail_next(Fault(body=body))
    with pytest.raises(ProviderError, match="finite number"):
        open_(server, waits).embed_query("text")


@both
def test_fewer_vectors_than_texts_are_refused(open_: Opener, waits: Waits):
    with _serving(leaves_out_last=True) as server, pytest.raises(ProviderError, match="2 texts"):
        open_(server, waits).embed_documents(["one", "two"])


@both
def test_shorter_vectors_than_asked_for_are_refused(open_: Opener, waits: Waits):
    with _serving(native_dimension=768) as server:  # noqa: SIM117
        with pytest.raises(ProviderError, match="768 dimensions, 1024 were asked for"):
            open_(server, waits).embed_query("text")


def test_an_older_ollama_that_ignores_dimensions_has_its_vectors_cut_and_scaled(waits: Waits):
    with _serving(honours_dimensions=False) as server:
        vector = unpack(_ollama(server, waits).embed_query("several words of text to embed"))
    assert vector.shape == (1024,)
    assert float(vector @ vector) == pytest.approx(1.0, abs=1e-5)


def test_an_openai_server_that_ignores_dimensions_is_refused(waits: Waits):
    with _serving(honours_dimensions=False, native_dimension=1536) as server:  # noqa: SIM117
        with pytest.raises(ProviderError, match="1536 dimensions, 1024 were asked for"):
            _openai(server, waits).embed_query("text")


def test_openai_answers_are_put_in_order_by_their_index(waits: Waits):
    with _serving(answers_in_reverse=True) as server:
        embedder = _openai(server, waits)
        one, two = embedder.embed_documents(["one", "two"])
        assert one == embedder.embed_documents(["one"])[0]
        assert two == embedder.embed_documents(["two"])[0]


def test_a_missing_ollama_model_is_named(waits: Waits):
    with _serving(models=["llama3:8b"]) as server:  # noqa: SIM117
        with pytest.raises(ProviderError, match=r'model "qwen3-embedding:4b" not found'):
            _ollama(server, waits).embed_query("text")


def test_qwen3_queries_carry_a_task_and_documents_do_not(server: FakeEmbeddingServer, waits: Waits):
    embedder = _ollama(server, waits)
    embedder.embed_documents(["note"])
    embedder.embed_query("question")
    assert server.seen[0].body["input"] == ["note"]
    assert str(server.seen[1].body["input"]).startswith("['Instruct: ")


def test_model_ids_name_tier_model_and_dimension(server: FakeEmbeddingServer, waits: Waits):
    assert _ollama(server, waits).model_id == "ollama:qwen3-embedding:4b@1024"
    assert _openai(server, waits).model_id == "openai:text-embedding-3-small@1024"


def test_the_api_key_is_sent_but_never_shown(waits: Waits):
    with _serving(api_key="sk-another") as server:
        embedder = _openai(server, waits)
        with pytest.raises(ProviderError) as caught:
            embedder.embed_query("text")
        assert server.seen[0].headers["Authorization"] == f"Bearer {_KEY}"
    assert _KEY not in str(caught.value)
    assert "***" in str(caught.value)
    assert _KEY not in repr(Endpoint("http://127.0.0.1:1", api_key=_KEY))


def test_credentials_in_an_address_are_not_shown():
    assert Endpoint("http://user:secret@127.0.0.1:1/v1").shown_url == "http://127.0.0.1:1/v1"
    with pytest.raises(UsageError) as caught:
        Endpoint("ftp://user:secret@host/v1")
    assert "secret" not in str(caught.value)


def test_a_redirect_is_refused_so_that_the_key_stays_here(
    server: FakeEmbeddingServer, waits: Waits
):
    with FakeEmbeddingServer() as elsewhere:
        target = {"Location": f"{elsewhere.openai_url}/embeddings"}
        server.fail_next(Fault(status=307, headers=target))
        with pytest.raises(ProviderError, match=r"HTTP 307.*configure the final address"):
            _openai(server, waits).embed_query("text")
        assert elsewhere.seen == []


def test_a_proxy_in_the_environment_is_not_used_for_loopback(
    server: FakeEmbeddingServer, waits: Waits, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert unpack(_ollama(server, waits).embed_query("text")).any()


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/passwd", "http://"])
def test_an_address_that_is_none_is_a_usage_error(url: str):
    with pytest.raises(UsageError, match="not an http"):
        Endpoint(url)


def test_a_time_out_of_nothing_and_a_key_with_a_line_end_are_usage_errors(
    server: FakeEmbeddingServer,
):
    with pytest.raises(UsageError, match="time-out"):
        Endpoint("http://127.0.0.1:1", timeout_s=0)
    embedder = OpenAICompatibleEmbedder(Endpoint(server.openai_url, api_key="sk-x\n"))
    with pytest.raises(UsageError, match="API key"):
        embedder.embed_query("text")


def test_installed_ollama_models_are_listed(server: FakeEmbeddingServer):
    endpoint = Endpoint(server.url, retries=NO_RETRIES)
    assert "qwen3-embedding:4b" in installed_models(endpoint)
    assert has_model(endpoint, "qwen3-embedding:4b")
    assert not has_model(endpoint, "qwen3-embedding")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("gpu-box", "http://gpu-box:11434"),
        ("https://models.example:443/ollama", "https://models.example:443/ollama"),
        ("[::]:5000", "http://[::1]:5000"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_every_form_of_ollama_host_is_understood(host: str, url: str):
    assert server_url({"OLLAMA_HOST": host}) == url


@pytest.mark.feature("B7")
@pytest.mark.parametrize("answers_in_reverse", [False, True])
def test_a_reranker_scores_texts_in_their_own_order(answers_in_reverse: bool):
    with _serving(answers_in_reverse=answers_in_reverse) as server:
        reranker = HttpReranker(Endpoint(server.openai_url), model="rerank-small")
        texts = ["nothing here", "run the tests"] + ["filler"] * 149 + ["the tests"]
        scores = reranker.scores("run the tests", texts)
    assert len(scores) == len(texts)
    assert scores[1] == max(scores)
    assert scores[-1] > scores[0]
    assert len(server.seen) == 2


@pytest.mark.feature("B7")
def test_a_reranker_that_leaves_texts_out_is_refused():
    with _serving(leaves_out_last=True) as server:
        reranker = HttpReranker(Endpoint(server.openai_url), model="rerank-small")
        with pytest.raises(ProviderError, match="do not match the 2 texts"):
            reranker.scores("query", ["a", "b"])
        assert reranker.scores("query", []) == []

"""What an operator sees: readiness, metrics, request log and traces, without any content."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

import wellkept
from tests.server.http_serving import Served, served, served_in
from tests.server.mcp_client import memories_in
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.telemetry.requests import JsonLines
from wellkept.api.telemetry.traces import open_traces

pytestmark = pytest.mark.feature("T5")

SECRET = "the zebra deploys on Fridays"


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def asked(server: Served, path: str) -> httpx2.Response:
    """An answer to somebody without a token."""
    return httpx2.get(f"{server.address}{path}", timeout=30)


# -- Readiness ------------------------------------------------------------------------------------


def test_a_server_is_ready_until_it_stops_and_alive_until_it_ends(server: Served) -> None:
    assert asked(server, "/api/ready").json()["status"] == "ok"
    server.stopping.set()
    refused = asked(server, "/api/ready")
    assert refused.status_code == 503
    assert "stopping" in refused.json()["detail"]
    assert asked(server, "/api/health").status_code == 200


def test_a_server_whose_database_is_away_is_not_ready_and_does_not_say_where_it_is(
    tmp_path: Path,
) -> None:
    pytest.importorskip("psycopg_pool")
    url = "postgresql://robin:pa55word@127.0.0.1:1/none"

    def away(folder: Path, project: str | None) -> wellkept.Wellkept:
        return wellkept.open(url, project=project or "demo", cwd=folder, embedder="none")

    with served(OpenProjects(away, folder=tmp_path)) as server:
        refused = asked(server, "/api/ready")
        assert refused.status_code == 503
        assert "127.0.0.1" not in refused.text
        assert "pa55word" not in refused.text
        assert asked(server, "/api/health").status_code == 200
        assert "wellkept_ready 0.0" in server.client.get("/metrics").text


# -- Metrics --------------------------------------------------------------------------------------


def counted(server: Served) -> dict[str, float]:
    """Every sample by its name and labels."""
    lines = server.client.get("/metrics").text.splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_metrics_count_requests_by_route_and_need_the_token(server: Served) -> None:
    assert asked(server, "/metrics").status_code == 401
    name = server.remember(SECRET, key="zebra-day")
    for _ in range(3):
        server.get("show", ids=name)
    found = counted(server)
    route = "/show"
    assert found[f'wellkept_requests_total{{method="GET",route="{route}",status="200"}}'] == 3
    assert found[f'wellkept_request_seconds_count{{route="{route}"}}'] == 3
    assert 'wellkept_requests_total{method="GET",route="-",status="401"}' in found
    assert found["process_resident_memory_bytes"] > 0


def test_a_stranger_cannot_add_counters_or_put_words_into_them(server: Served) -> None:
    for number in range(20):
        asked(server, f"/zebra/{number}")
        httpx2.request(f"ZEBRA{number}", f"{server.address}/api/health", timeout=30)
    server.remember(SECRET)
    text = server.client.get("/metrics").text
    assert "zebra" not in text.lower()
    assert len([line for line in text.splitlines() if "wellkept_requests_total{" in line]) < 12


# -- Log ------------------------------------------------------------------------------------------


def test_the_log_is_one_json_object_per_line_without_any_content(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="wellkept.server"):
        server.client.get("/api/show?ids=zebra-day", headers={"X-Request-Id": "req-7"})
        server.remember(SECRET)
    written = [JsonLines().format(record) for record in caplog.records]
    lines = [json.loads(line) for line in written]
    (mine,) = [line for line in lines if line.get("request_id") == "req-7"]
    assert mine["route"] == "/show"
    assert (mine["method"], mine["status"], mine["level"]) == ("GET", 404, "info")
    assert mine["ms"] >= 0
    assert "zebra" not in "".join(written)
    assert all("\n" not in line for line in written)


# -- Traces ---------------------------------------------------------------------------------------


@contextmanager
def collector() -> Generator[tuple[str, list[Any]]]:
    """A collector that speaks OTLP over HTTP, and the spans that it got."""
    proto = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            request = proto.ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", spans
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_a_request_is_a_span_in_the_trace_of_its_caller_with_the_work_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with collector() as (address, spans):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        traces = open_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": address})
        assert traces is not None
        with served(memories_in(tmp_path), traces=traces) as server:
            headers = {"traceparent": f"00-{trace}-{parent}-01"}
            body = {"content": SECRET}
            server.client.post("/api/memory_store", json=body, headers=headers)
            server.client.get("/api/show?ids=zebra-day", headers=headers)
        traces.close()
    requests = {span.name: span for span in spans if span.name != "memory"}
    assert set(requests) == {"POST /memory_store", "GET /show"}
    stored = requests["POST /memory_store"]
    assert (stored.trace_id.hex(), stored.parent_span_id.hex()) == (trace, parent)
    work = [span for span in spans if span.name == "memory"]
    assert {span.parent_span_id for span in work} == {span.span_id for span in requests.values()}
    assert "zebra" not in str(spans)


def test_without_a_collector_nothing_is_traced() -> None:
    assert open_traces({}) is None
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}
    assert open_traces(named) is None

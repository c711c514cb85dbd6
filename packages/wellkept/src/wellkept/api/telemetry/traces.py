"""OpenTelemetry traces: a span for each request, and one inside it for the work on the store.

Set up from the usual variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, …) with the
extra `traces`. Without the variables nothing is sent and nothing is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from wellkept import __version__
from wellkept.api.server.auth import REQUEST_ID, App, Message, Receive, Scope, Send, route_of
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_DISABLED: Final = "OTEL_SDK_DISABLED"


def open_traces(environment: Mapping[str, str]) -> Traces | None:
    """Spans for the collector that the environment names; None when it names none."""
    is_off = environment.get(_DISABLED, "").lower() == "true"
    if is_off or not any(environment.get(name) for name in ENDPOINTS):
        return None
    if find_spec("opentelemetry.exporter") is None:
        raise UsageError(
            "Traces need the packages of OpenTelemetry.",
            hint=f"Run: pip install 'wellkept[traces]', or unset {' and '.join(ENDPOINTS)}.",
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.version": __version__})
    if not environment.get("OTEL_SERVICE_NAME"):
        resource = resource.merge(Resource({"service.name": "wellkept"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)


class Traces:
    """Spans of one server process."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("wellkept.server", __version__)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()

    def span(self, name: str) -> AbstractContextManager[Any]:
        """A span inside the current one. The text of an error may hold memories: it is left out."""
        return self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        )

    def around(self, app: App) -> App:
        """The app with a span for each request, inside the trace of whoever asks."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        async def run(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            method = scope["method"]
            headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
            with self._tracer.start_as_current_span(
                method,
                context=extract(headers),
                kind=SpanKind.SERVER,
                record_exception=False,
                set_status_on_exception=False,
            ) as span:

                async def answer(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        span.set_attribute("http.response.status_code", message["status"])
                        if message["status"] >= 500:
                            span.set_status(Status(StatusCode.ERROR))
                    await send(message)

                try:
                    await app(scope, receive, answer)
                finally:
                    route = route_of(scope)
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.request.method", method)
                    span.set_attribute("http.route", route)
                    span.set_attribute("wellkept.request_id", str(scope.get(REQUEST_ID, "")))

        return run

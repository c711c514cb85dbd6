"""Counters of one server process in the text format of Prometheus.

Several processes of a team are scraped one by one; Prometheus adds them up.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    exposition,
)

from wellkept import __version__
from wellkept.api.telemetry.requests import FinishedRequest

MEDIA_TYPE: Final = exposition.CONTENT_TYPE_PLAIN_0_0_4
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServerMetrics:
    """Requests by route and status, their time, and the process itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        Info("wellkept", "Version of the server.", registry=self.registry).info(
            {"version": __version__}
        )
        self._requests = Counter(
            "wellkept_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "wellkept_request_seconds",
            "Time until a request was answered.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._ready = Gauge(
            "wellkept_ready", "1 when the store answered the last check.", registry=self.registry
        )

        self._behind = Gauge(
            "wellkept_store_behind_seconds",
            "How far the standby that answered the last check is behind; -1 on the primary.",
            registry=self.registry,
        )
        self._upkeep = Counter(
            "wellkept_upkeep",
            "Rounds of upkeep of this process.",
            ("outcome",),
            registry=self.registry,
        )
        self._upkeep_deleted = Counter(
            "wellkept_upkeep_deleted",
            "Rows that policies kept no longer.",
            ("what",),
            registry=self.registry,
        )
        self._upkeep_at = Gauge(
            "wellkept_upkeep_success_seconds",
            "When a round of upkeep last ended well, in seconds since 1970.",
            registry=self.registry,
        )
        self.upkeep: str | None = None
        """How the last round of upkeep ended: `ok` or `failing`; None before the first."""

    def upkeep_done(self, *, memories: int, audit_entries: int) -> None:
        """Count a round of upkeep that ended well."""
        self.upkeep = "ok"
        self._upkeep.labels("ok").inc()
        self._upkeep_deleted.labels("memories").inc(memories)
        self._upkeep_deleted.labels("audit_entries").inc(audit_entries)
        self._upkeep_at.set_to_current_time()

    def upkeep_failed(self) -> None:
        """Count a round of upkeep that failed."""
        self.upkeep = "failing"
        self._upkeep.labels("failed").inc()

    def request_finished(self, done: FinishedRequest) -> None:
        """Count a request. One without a route counts as `-`, whatever was asked for."""
        method = done.method if done.method in _METHODS else "other"
        self._requests.labels(method, done.route, str(done.status or 0)).inc()
        self._seconds.labels(done.route).observe(done.seconds)

    def set_ready(self, *, ready: bool) -> None:
        """The outcome of the last check of the store."""
        self._ready.set(1 if ready else 0)

    def set_behind(self, behind_s: float | None) -> None:
        """How far the standby that answers is behind; None on the primary."""
        self._behind.set(-1 if behind_s is None else behind_s)

    def text(self) -> bytes:
        """All counters, for a scrape."""
        return exposition.generate_latest(self.registry)

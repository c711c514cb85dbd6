"""Finished requests, and their log lines: plain ones for people, JSON for collectors."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

from wellkept.core.records import record

LOGGER: Final = logging.getLogger("wellkept.server")
_FIELDS: Final = "request"


@record(kw_only=True)
class FinishedRequest:
    """A request that was answered. `route` is the template: a path may contain keys of memories."""

    id: str
    method: str
    route: str
    status: int | None
    seconds: float


OnFinished: TypeAlias = Callable[[FinishedRequest], None]


def log_request(done: FinishedRequest) -> None:
    """One line at level INFO."""
    fields = {
        "request_id": done.id,
        "method": done.method,
        "route": done.route,
        "status": done.status,
        "ms": round(done.seconds * 1000, 1),
    }
    LOGGER.info(
        "%s %s %s %s %.0f ms",
        done.id,
        done.method,
        done.route,
        done.status or "-",
        done.seconds * 1000,
        extra={_FIELDS: fields},
    )


class JsonLines(logging.Formatter):
    """One JSON object per line; of a request its fields instead of a sentence."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": at,
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, _FIELDS, None)
        if isinstance(fields, dict):
            line |= fields
        else:
            line["message"] = record.getMessage()
        return json.dumps(line, ensure_ascii=False)

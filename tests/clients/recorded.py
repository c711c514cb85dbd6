"""Hook payloads recorded from the real clients, and reading them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from wellkept.clients.registry import translate, translator
from wellkept.core.session.events import Event

AT = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)
EVENT_ID = "01a1e0c8-7458-7160-9f9f-93db6cb7a749"
FOLDER = Path(__file__).parent / "payloads"
FRAME = "<wellkept-memory>\nRecalled: the sky is green [m:abc]\n</wellkept-memory>"
T = TypeVar("T")


def recorded(client: str, name: str) -> dict[str, object]:
    """A payload, e.g. `recorded("codex", "Stop")`."""
    return json.loads((FOLDER / client / f"{name}.json").read_text("utf-8"))


def names(client: str) -> list[str]:
    """Every payload of a client."""
    return sorted(path.stem for path in (FOLDER / client).glob("*.json"))


def event_name(name: str) -> str:
    """The event that a payload's file name begins with."""
    return name.partition("-")[0]


def told(client: str, event: str, payload: dict[str, object]) -> list[Event]:
    """The events that a payload tells, the same by both doors."""
    found = translator(client)(event, payload, event_id=EVENT_ID, at=AT)
    raw = json.dumps(payload).encode()
    assert translate(client, event, raw, event_id=EVENT_ID, at=AT) == found
    return found


def only(kind: type[T], client: str, event: str, payload: dict[str, object]) -> T:
    """The one event that a payload tells, which must be of this kind."""
    (found,) = told(client, event, payload)
    assert isinstance(found, kind)
    return found

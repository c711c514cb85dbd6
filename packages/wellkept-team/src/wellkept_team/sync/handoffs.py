"""Hand-overs that came from the team's server, by project and branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.store import KeyValueStore

NAMESPACE = "handoffs"
_REMOTES = "remotes"


def keep_handoffs(store: KeyValueStore, project: str, texts: Mapping[str, str]) -> None:
    """Keep what the server has now, by branch."""
    value: Json = dict(texts)
    store.put_value(NAMESPACE, project, value if texts else None)


def received_handoff(store: KeyValueStore, project: str, branch: str) -> str:
    """What was handed over on a branch; empty when nothing was."""
    known = store.get_value(NAMESPACE, project)
    text = known.get(branch) if isinstance(known, dict) else None
    return text if isinstance(text, str) else ""


def received_as(store: KeyValueStore, project: str) -> str | None:
    """The name by which the server knows this person."""
    known = store.get_value(_REMOTES, project)
    name = known.get("person") if isinstance(known, dict) else None
    return name if isinstance(name, str) else None

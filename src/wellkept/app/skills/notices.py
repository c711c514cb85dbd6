"""Telling those who follow along which skills a project calls for.

News are told once: which ones it called for last is kept on the shelf. Where the store cannot be
written now, somebody else tells it later. That a skill was made is told by the store itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from wellkept.core.activity import ActivityKind
from wellkept.core.changes import Announce
from wellkept.core.codec import Json
from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError
from wellkept.core.text import shorten

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services

_SPACE: Final = "skills.detected"
_SUBJECT_CHARS: Final = 300
_NOT_NOW: Final = (StoreReadOnlyError, StoreBusyError, StoreFullError)


def announce_detected(services: Services, names: Sequence[str]) -> bool:
    """Tell which skills a project calls for, if they are others than last time."""
    if services.read_only:
        return False
    found: list[Json] = [*sorted(names)]
    store, project = services.store, services.project
    if (store.get_value(_SPACE, project) or []) == found:
        return False
    with suppress(*_NOT_NOW):
        store.put_value(_SPACE, project, found)
        if found:
            subject = shorten(", ".join(names), limit=_SUBJECT_CHARS)
            store.apply([Announce(ActivityKind.SKILLS_DETECTED, project, subject)])
        return bool(found)
    return False

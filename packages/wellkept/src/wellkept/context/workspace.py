"""What a verb of this room may use of an open memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.context.injection_log import InjectedLines
    from wellkept.core.memory import Memory
    from wellkept.observe.observer.api import Observer


class TellingMemory(OpenMemory, Protocol):
    """An open memory that knows what agents were given."""

    @cached_property
    def injected(self) -> InjectedLines: ...

    @cached_property
    def observer(self) -> Observer: ...


class _Correction(Protocol):
    @property
    def memory(self) -> Memory: ...

    @property
    def undo_id(self) -> str | None: ...

    @property
    def undo_until(self) -> datetime | None: ...


class MemoryWithPages(OpenMemory, Protocol):
    """An open memory whose pages can be corrected."""

    def edit_page_line(
        self, name: str, text: str, *, if_updated_at: datetime | None = None
    ) -> _Correction: ...

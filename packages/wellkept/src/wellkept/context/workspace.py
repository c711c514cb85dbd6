"""What a verb of this room may use of an open memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.context.injection_log import InjectedLines
    from wellkept.observe.observer.api import Observer


class TellingMemory(OpenMemory, Protocol):
    """An open memory that knows what agents were given."""

    @cached_property
    def injected(self) -> InjectedLines: ...

    @cached_property
    def observer(self) -> Observer: ...

"""`Workspace`: what the parts beside memory read of an open memory.

Code graph, observer and skills take it; `wellkept.api` opens it. Knows no engine and no vendor.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from wellkept.core.memory import Memory, MemoryDraft
    from wellkept.core.ports.store import Store
    from wellkept.core.settings.model import Settings
    from wellkept.core.types import Phase
    from wellkept.memory.engine import Engine
    from wellkept.memory.remember import RememberResult
    from wellkept.memory.request_builder import RequestBuilder


class Workspace(Protocol):
    """One open memory: its store, its project and folders, and the settings."""

    @cached_property
    def engine(self) -> Engine: ...

    @cached_property
    def store(self) -> Store: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def environment(self) -> Mapping[str, str]: ...

    @cached_property
    def project(self) -> str:
        """The identity that memories are stored under."""
        ...

    @cached_property
    def root(self) -> Path:
        """The folder that file paths start at."""
        ...

    @property
    def folder(self) -> Path:
        """The caller's folder."""
        ...

    @property
    def path(self) -> Path:
        """The database file, or where what stays on this machine is kept."""
        ...

    @property
    def is_usual(self) -> bool:
        """Whether this is the store of the settings, which hooks capture for."""
        ...

    @property
    def read_only(self) -> bool: ...

    @property
    def requests(self) -> RequestBuilder:
        """Parses the arguments of a caller, as of now."""
        ...

    def clock(self) -> datetime: ...


class OpenMemory(Protocol):
    """What a verb may use of an open memory."""

    @property
    def engine(self) -> Engine: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def project(self) -> str: ...

    @property
    def project_name(self) -> str: ...

    @property
    def root(self) -> Path: ...

    @property
    def requests(self) -> RequestBuilder: ...

    @property
    def has_own_folder(self) -> bool:
        """Whether the project was derived from its folder, so that its files are here."""
        ...

    def get(self, name: str, /) -> Memory:
        """One memory by id, short id, unique prefix of an id, or key."""
        ...

    def phase(self, name: str | None, /) -> Phase | None:
        """A phase by name, also one of the methodology in use."""
        ...

    def embedding_note(self) -> str | None:
        """A warning about the vectors in use, or None."""
        ...

    @property
    def embedding_problem(self) -> str | None:
        """Why vectors could not be made since this was opened; None when all went well."""
        ...

    def remember_many(
        self, statements: Iterable[MemoryDraft | str], *, merge_similar: bool = ...
    ) -> list[RememberResult]:
        """Store statements, an agent's as its notes."""
        ...

"""`AsyncWellkept`: the verbs of `Wellkept` for code that runs in an event loop.

    async with wellkept.open_async() as wk:
        await wk.remember("Deploys go through the staging cluster first")

Each verb is one line of the class below and keeps the types of the method it runs; nothing is
written twice. Verbs run in one small thread pool. A cancelled call has either happened as a whole
or not at all: what has begun is finished in its thread, what still waits is dropped, and `close`
waits for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)

from wellkept.api.verbs.library import AsyncVerbs
from wellkept.api.wellkept import Wellkept, open  # noqa: A004 - reads `wellkept.open()`
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.core.settings.model import Settings

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
THREADS: Final = 4
_READ_AT_ONCE: Final = 100


class _Verb(Generic[_Given, _Result]):
    """A method of `Wellkept` to be awaited."""

    def __init__(self, method: Callable[Concatenate[Wellkept, _Given], _Result]) -> None:
        self.method = method

    @overload
    def __get__(self, instance: None, owner: type[object]) -> Self: ...

    @overload
    def __get__(
        self, instance: AsyncWellkept, owner: type[object]
    ) -> Callable[_Given, Coroutine[Any, Any, _Result]]: ...

    def __get__(
        self, instance: AsyncWellkept | None, owner: type[object]
    ) -> Self | Callable[_Given, Coroutine[Any, Any, _Result]]:
        if instance is None:
            return self

        async def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            return await instance.run(self.method, *args, **kwargs)

        return update_wrapper(call, self.method)


class _Stream(Generic[_Given, _Item]):
    """A method of `Wellkept` that yields many, as an asynchronous iterator."""

    def __init__(self, method: Callable[Concatenate[Wellkept, _Given], Iterable[_Item]]) -> None:
        self.method = method

    @overload
    def __get__(self, instance: None, owner: type[object]) -> Self: ...

    @overload
    def __get__(
        self, instance: AsyncWellkept, owner: type[object]
    ) -> Callable[_Given, AsyncIterator[_Item]]: ...

    def __get__(
        self, instance: AsyncWellkept | None, owner: type[object]
    ) -> Self | Callable[_Given, AsyncIterator[_Item]]:
        if instance is None:
            return self

        async def stream(*args: _Given.args, **kwargs: _Given.kwargs) -> AsyncIterator[_Item]:
            def begin(wk: Wellkept) -> Iterable[_Item]:
                return iter(self.method(wk, *args, **kwargs))

            def read(_: Wellkept) -> list[_Item]:
                return list(islice(items, _READ_AT_ONCE))

            items = await instance.run(begin)
            while found := await instance.run(read):
                for one in found:
                    yield one

        return update_wrapper(stream, self.method)


class AsyncWellkept(AsyncVerbs):
    """The memory of one project, for an event loop. See `Wellkept` for what each verb does."""

    # Write
    remember_many = _Verb(Wellkept.remember_many)
    # Read
    pack = _Verb(Wellkept.pack)
    ask = _Verb(Wellkept.ask)
    get = _Verb(Wellkept.get)
    phase = _Verb(Wellkept.phase)
    iterate = _Stream(Wellkept.iterate)
    state = _Verb(Wellkept.state)
    moment = _Verb(Wellkept.moment)
    # Upkeep
    decay = _Verb(Wellkept.decay)
    prune = _Verb(Wellkept.prune)
    prune_unsure = _Verb(Wellkept.prune_unsure)
    remove_stale = _Verb(Wellkept.remove_stale)
    compact = _Verb(Wellkept.compact)
    refresh = _Verb(Wellkept.refresh)
    maintain = _Verb(Wellkept.maintain)
    maintain_if_due = _Verb(Wellkept.maintain_if_due)
    maintenance_is_due = _Verb(Wellkept.maintenance_is_due)
    reindex = _Verb(Wellkept.reindex)
    fill_vectors = _Verb(Wellkept.fill_vectors)
    embedding_note = _Verb(Wellkept.embedding_note)
    doctor = _Verb(Wellkept.doctor)
    health = _Verb(Wellkept.health)
    storage = _Verb(Wellkept.storage)
    preview = _Verb(Wellkept.preview)
    replay_prompts = _Verb(Wellkept.replay_prompts)
    judge_silence = _Verb(Wellkept.judge_silence)
    mute = _Verb(Wellkept.mute)
    # Data
    export = _Verb(Wellkept.export)
    export_markdown = _Verb(Wellkept.export_markdown)
    import_jsonl = _Verb(Wellkept.import_jsonl)
    import_markdown = _Verb(Wellkept.import_markdown)
    import_repository = _Verb(Wellkept.import_repository)
    backup = _Verb(Wellkept.backup)
    restore = _Verb(Wellkept.restore)
    projects = _Verb(Wellkept.projects)
    merge_project = _Verb(Wellkept.merge_project)
    preview_join = _Verb(Wellkept.preview_join)
    join_project = _Verb(Wellkept.join_project)
    edit_page_line = _Verb(Wellkept.edit_page_line)
    # Agents
    handoff = _Verb(Wellkept.handoff)
    agent = _Verb(Wellkept.agent)
    agent_sessions = _Verb(Wellkept.agent_sessions)

    def __init__(self, wellkept: Wellkept) -> None:
        self._wellkept = wellkept
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wellkept")
        self._running: set[Future[Any]] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def sync(self) -> Wellkept:
        """The same memory for code without an event loop; its methods block."""
        return self._wellkept

    @property
    def path(self) -> Path:
        """The database file."""
        return self._wellkept.path

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self._wellkept.settings

    async def run(
        self,
        function: Callable[Concatenate[Wellkept, _Given], _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> _Result:
        """Call a function with the memory in the thread pool, for what has no verb here:

        `await wk.run(lambda wk: wk.skills.list())`
        """
        if self._closed:
            raise UsageError("This memory is closed.", hint="Open it again to use it.")
        work = partial(copy_context().run, function, self._wellkept, *args, **kwargs)
        return await asyncio.wrap_future(self._submit(work))

    def _submit(self, work: Callable[[], _Result]) -> Future[_Result]:
        future = self._pool.submit(work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    async def close(self) -> None:
        """Wait for what runs, then flush buffers and close the files. Closing twice is no error."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        begun = [asyncio.wrap_future(one) for one in self._running.copy()]
        await asyncio.gather(*begun, return_exceptions=True)
        try:
            await asyncio.wrap_future(self._submit(self._wellkept.close))
        finally:
            self._pool.shutdown(wait=False)


def _asynchronous(opener: Callable[_Given, Wellkept]) -> Callable[_Given, AsyncWellkept]:
    def opened(*args: _Given.args, **kwargs: _Given.kwargs) -> AsyncWellkept:
        return AsyncWellkept(opener(*args, **kwargs))

    update_wrapper(opened, opener)
    opened.__name__ = opened.__qualname__ = "open_async"
    return opened


open_async = _asynchronous(open)
"""Open a memory for an event loop; takes what `wellkept.open` takes."""

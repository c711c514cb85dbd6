"""Live events by SSE: what is new in the store, whichever process brought it there.

The store numbers its news and keeps the latest, so it is the buffer: a subscriber holds nothing but
the last number it was sent, reads on at its own pace, and can go on later from where it was
(`Last-Event-ID`). Nobody waits for a slow one. While there are subscribers the store is asked for
its newest number a few times a second, once for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio

from wellkept.app.activity import ActivityItem, read_activity
from wellkept.core.activity import ActivityRange
from wellkept.core.errors import StoreBusyError, UsageError, WellkeptError
from wellkept.core.records import record
from wellkept.server.http.records import NewsRecord
from wellkept.server.http_errors import problem_of
from wellkept.server.threads import WorkerThreads

if TYPE_CHECKING:
    from wellkept.app import Wellkept

MAX_SUBSCRIBERS: Final = 64
PAGE: Final = 100
_GREETING = b"retry: 2000\n: wellkept\n\n"
_HEARTBEAT = b": alive\n\n"


@record(kw_only=True)
class FeedIntervals:
    """How often the store is looked at, and how long a line may be silent."""

    look_every_s: float = 0.25
    heartbeat_every_s: float = 15.0


@record(kw_only=True)
class Subscription:
    """What somebody wants to hear, and the last number they heard; None means from now on."""

    project: str = ""
    all_projects: bool = False
    after: int | None = None


class EventFeed:
    """The events of a server, for any number of subscribers."""

    def __init__(
        self,
        crossing: WorkerThreads,
        *,
        stopping: threading.Event,
        pace: FeedIntervals | None = None,
    ) -> None:
        self._crossing = crossing
        self._stopping = stopping
        self._pace = pace or FeedIntervals()
        self._subscribers = 0
        self._looking = anyio.Lock()
        self._looked_at: float | None = None
        self._newest = 0

    async def subscribe(self, wanted: Subscription) -> AsyncGenerator[bytes]:
        """The lines of a subscription; errors are raised here, before the first line."""
        if self._subscribers >= MAX_SUBSCRIBERS:
            raise StoreBusyError(
                f"{MAX_SUBSCRIBERS} subscribers are listening already.", hint="Try again later."
            )
        # A project that cannot be opened is told now, while there is a status to tell it with.
        await self._crossing.ask(wanted.project, _activity_range)
        start, gap = await self._start(wanted)
        return self._lines(wanted, start, gap)

    async def _start(self, wanted: Subscription) -> tuple[int, bytes]:
        span = await self._crossing.ask("", _activity_range)
        after = wanted.after
        if after is None:
            return span.newest, b""
        if after > span.newest or (after and after < span.oldest - 1):
            return span.newest, _gap(after, span.oldest, span.newest)
        return after, b""

    async def _lines(self, wanted: Subscription, after: int, gap: bytes) -> AsyncGenerator[bytes]:
        self._subscribers += 1
        try:
            yield _GREETING + gap
            async for lines in self._news(wanted, after):
                yield lines
        except WellkeptError as error:
            yield _line("problem", problem_of(error).model_dump_json())
        finally:
            self._subscribers -= 1

    async def _news(self, wanted: Subscription, after: int) -> AsyncGenerator[bytes]:
        spoken_at = monotonic()
        while not self._stopping.is_set():
            newest = await self._newest_number()
            if newest > after:
                page = await self._page(wanted, after)
                if page:
                    yield b"".join(map(_event, page))
                    spoken_at = monotonic()
                # A page may reach beyond the newest number, when more came in meanwhile.
                last = page[-1].news.number if page else 0
                after = last if len(page) == PAGE else max(newest, last)
                continue
            if newest < after:
                # Either the number was asked for earlier than the page, or a backup was put in
                # place: then the news begin again at a smaller one.
                span = await self._crossing.ask("", _activity_range)
                if span.newest < after:
                    yield _gap(after, span.oldest, span.newest)
                    after, spoken_at = span.newest, monotonic()
            if monotonic() - spoken_at >= self._pace.heartbeat_every_s:
                yield _HEARTBEAT
                spoken_at = monotonic()
            await anyio.sleep(self._pace.look_every_s)

    async def _page(self, wanted: Subscription, after: int) -> list[ActivityItem]:
        return await self._crossing.ask(
            wanted.project,
            lambda wk: read_activity(
                wk.engine.store,
                project=None if wanted.all_projects else wk.project,
                after=after,
                limit=PAGE,
            ),
        )

    async def _newest_number(self) -> int:
        """The number of the latest news, asked for once by all who want to know."""
        async with self._looking:
            looked = self._looked_at
            if looked is None or monotonic() - looked >= self._pace.look_every_s:
                self._newest = (await self._crossing.ask("", _activity_range)).newest
                self._looked_at = monotonic()
        return self._newest


def read_event_id(text: str) -> int | None:
    """The number in a `Last-Event-ID`; None when there is none."""
    given = text.strip()
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise UsageError(
            f"{given[:40]!r} is not the id of an event.",
            hint="Send the id of the last event that came, or none to start from now.",
        )
    return int(given)


def _event(item: ActivityItem) -> bytes:
    told = NewsRecord.of(item)
    data = told.model_dump_json(exclude_none=True)
    return f"id: {told.number}\n".encode() + _line(told.kind.value, data)


def _gap(after: int, oldest: int, newest: int) -> bytes:
    """Tells that something was missed, so that a page loads what it shows anew."""
    data = f'{{"after":{after},"oldest":{oldest},"newest":{newest}}}'
    return f"id: {newest}\n".encode() + _line("gap", data)


def _line(kind: str, data: str) -> bytes:
    # JSON has no raw line breaks, so one data line holds it all.
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _activity_range(wk: Wellkept) -> ActivityRange:
    return wk.engine.store.activity_range()

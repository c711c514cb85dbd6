"""Live events by SSE: the activity log of the store, written by any process.

The log is numbered, so it is the buffer: a subscriber only has the last number it received, reads
at its own pace, and can resume (`Last-Event-ID`). While there are subscribers, the newest number is
polled a few times a second, once for all of them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncGenerator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio

from wellkept.api.http.endpoints import event
from wellkept.api.server.http_errors import problem_of
from wellkept.api.server.threads import WorkerThreads
from wellkept.api.verbs.as_json import plain
from wellkept.core.errors import StoreBusyError, UsageError, WellkeptError
from wellkept.core.records import record
from wellkept.core.session.activity import ActivityRange
from wellkept.core.team.people import asking
from wellkept.memory.history import ActivityItem, Event, read_activity

if TYPE_CHECKING:
    from wellkept.api import Wellkept

MAX_SUBSCRIBERS: Final = 64
PAGE: Final = 100
QUIET_S: Final = 5.0
_GREETING = b"retry: 2000\n: wellkept\n\n"
_HEARTBEAT = b": alive\n\n"


@record(kw_only=True)
class FeedIntervals:
    """Poll interval, and interval of heartbeats."""

    look_every_s: float = 0.25
    heartbeat_every_s: float = 15.0


@record(kw_only=True)
class Subscription:
    """Filter of a subscriber and the last number it received; None starts now."""

    project: str = ""
    all_projects: bool = False
    after: int | None = None


class _Polled(NamedTuple):
    """When the newest number of a tenant was asked for, what it was, and how often activity had
    been told by then."""

    at_s: float
    newest: int
    told: int | None


class EventFeed:
    """The events of a server, for any number of subscribers."""

    def __init__(
        self,
        workers: WorkerThreads,
        *,
        stopping: threading.Event,
        pace: FeedIntervals | None = None,
    ) -> None:
        self._workers = workers
        self._stopping = stopping
        self._pace = pace or FeedIntervals()
        self._subscribers = 0
        self._poll_lock = anyio.Lock()
        self._newest: dict[str, _Polled] = {}

    async def subscribe(self, subscription: Subscription) -> AsyncGenerator[bytes]:
        """The lines of a subscription; errors are raised here, before the first line."""
        if self._subscribers >= MAX_SUBSCRIBERS:
            raise StoreBusyError(
                f"{MAX_SUBSCRIBERS} subscribers are listening already.", hint="Try again later."
            )
        # Taken before anything is awaited, so that the limit holds for many that come at once.
        seat = _Seat(self)
        try:
            # Open the project now: errors need an HTTP status, before the stream starts.
            await self._workers.run(subscription.project, _activity_range)
            start, gap = await self._start(subscription)
        except BaseException:
            seat.leave()
            raise
        lines = self._lines(subscription, start, gap, seat)
        # A client that goes before the first line never starts the generator.
        weakref.finalize(lines, seat.leave)
        return lines

    async def _start(self, subscription: Subscription) -> tuple[int, bytes]:
        span = await self._workers.run("", _activity_range)
        after = subscription.after
        if after is None:
            return span.newest, b""
        if after > span.newest or (after and after < span.oldest - 1):
            return span.newest, _gap(after, span.oldest, span.newest)
        return after, b""

    async def _lines(
        self, subscription: Subscription, after: int, gap: bytes, seat: _Seat
    ) -> AsyncGenerator[bytes]:
        try:
            yield _GREETING + gap
            async for lines in self._news(subscription, after):
                yield lines
        except WellkeptError as error:
            yield event("problem", problem_of(error))
        finally:
            seat.leave()

    def count(self, change: int) -> None:
        """Count a subscriber who comes or goes."""
        self._subscribers += change

    async def _news(self, subscription: Subscription, after: int) -> AsyncGenerator[bytes]:
        sent_at = monotonic()
        while not self._stopping.is_set():
            newest = await self._newest_number()
            if newest > after:
                page = await self._page(subscription, after)
                if page:
                    yield b"".join(map(_event, page))
                    sent_at = monotonic()
                # A page may reach beyond the newest number, when more came in meanwhile.
                last = page[-1].news.number if page else 0
                after = last if len(page) == PAGE else max(newest, last)
                continue
            if newest < after:
                # Either the number was asked for earlier than the page, or a backup was put in
                # place: then the news begin again at a smaller one.
                span = await self._workers.run("", _activity_range)
                if span.newest < after:
                    yield _gap(after, span.oldest, span.newest)
                    after, sent_at = span.newest, monotonic()
            if monotonic() - sent_at >= self._pace.heartbeat_every_s:
                yield _HEARTBEAT
                sent_at = monotonic()
            await anyio.sleep(self._pace.look_every_s)

    async def _page(self, subscription: Subscription, after: int) -> list[ActivityItem]:
        return await self._workers.run(
            subscription.project,
            lambda wk: read_activity(
                wk.engine.store,
                project=None if subscription.all_projects else wk.project,
                after=after,
                limit=PAGE,
            ),
        )

    async def _newest_number(self) -> int:
        """The newest number, polled once for all subscribers of a tenant."""
        tenant = asking().tenant
        async with self._poll_lock:
            known, told = self._newest.get(tenant), self._workers.activity_count(tenant)
            # Where the database tells of activity, it is asked when it did, and now and then.
            is_quiet = known is not None and told is not None and told == known.told
            wait_s = QUIET_S if is_quiet else self._pace.look_every_s
            if known is None or monotonic() - known.at_s >= wait_s:
                newest = (await self._workers.run("", _activity_range)).newest
                known = self._newest[tenant] = _Polled(monotonic(), newest, told)
        return known.newest


class _Seat:
    """The place of one subscriber; given back once, however it goes."""

    def __init__(self, feed: EventFeed) -> None:
        self._feed: EventFeed | None = feed
        feed.count(1)

    def leave(self) -> None:
        """Give it back."""
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.count(-1)


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
    shown = cast("dict[str, Any]", plain(Event.of(item)))
    told = {name: value for name, value in shown.items() if value is not None}
    return f"id: {item.news.number}\n".encode() + event(item.news.kind.value, told)


def _gap(after: int, oldest: int, newest: int) -> bytes:
    """An event that reports missed numbers, so that a page reloads."""
    data = {"after": after, "oldest": oldest, "newest": newest}
    return f"id: {newest}\n".encode() + event("gap", data)


def _activity_range(wk: Wellkept) -> ActivityRange:
    return wk.engine.store.activity_range()

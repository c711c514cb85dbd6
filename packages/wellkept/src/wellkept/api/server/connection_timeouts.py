"""Closes connections that send nothing, or a request head that never ends."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_LIMIT_S: Final = 5.0
MAX_CONNECTIONS: Final = 512


class TimedProtocol(H11Protocol):
    """Closes a connection on which no whole request head has come in time."""

    header_limit_s = HEADER_LIMIT_S
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._cancel_timer()
        elif self._head_timer is None:
            # The start of a further request, or a body that nobody asked for.
            self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._cancel_timer()
        # Part of a further head may have come already.
        if not self._is_answering():
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self.header_limit_s, self._close_if_silent)

    def _cancel_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_if_silent(self) -> None:
        self._head_timer = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()

"""An HTTP server of a test, in a thread on a free loopback port between `with` and its end.

Invariant: after the end no request is being answered and the port is free.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer
    from types import TracebackType


class LoopbackServer:
    """Serves with the given server; `closing` tells handlers that wait to end."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.closing = threading.Event()
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

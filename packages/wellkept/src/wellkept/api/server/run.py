"""Listen on a port and run a web application until SIGINT or SIGTERM."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, cast

from wellkept.api.server.auth import App
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from uvicorn._types import ASGIApplication

LOOPBACK = "127.0.0.1"
END_WITHIN_S = 3
_BACKLOG = 128
_ENDING = (signal.SIGINT, signal.SIGTERM)


def listening(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free port.

    Its protocol is named, or asyncio leaves Nagle's delay on: 40 ms a request on a kept connection.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"Port {port} of {host} cannot be used: {why}.",
            hint="Choose another with --port; 0 picks a free port.",
        ) from None
    listener.listen(_BACKLOG)
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(
    app: App,
    listener: socket.socket,
    *,
    stopping: threading.Event,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; `stopping` is set first, so that streams can end.

    `on_ready` is called once requests are answered.
    """
    import uvicorn

    from wellkept.api.server.connection_timeouts import MAX_CONNECTIONS, TimedProtocol

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            stopping.set()
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_ready()

    config = uvicorn.Config(
        cast("ASGIApplication", app),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=END_WITHIN_S,
        http=TimedProtocol,
        limit_concurrency=MAX_CONNECTIONS,
    )
    # Once it has ended, the server raises the signal again; by then there is nothing to interrupt.
    known = {number: signal.signal(number, _ended) for number in _ENDING}
    try:
        Server(config).run(sockets=[listener])
    finally:
        stopping.set()
        for number, handler in known.items():
            signal.signal(number, handler)


def _ended(number: int, frame: FrameType | None) -> None:
    pass

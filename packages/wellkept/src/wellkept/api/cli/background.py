"""Background services of `serve` and `mcp`: answer hooks, drain the spool, register for `status`.

Imports happen on start, which
may be delayed, so that a server's first response does not wait for them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import wellkept
from wellkept.core.errors import WellkeptError
from wellkept.core.records import record

BUSY_TIMEOUT_MS = 1_000
_LOG = logging.getLogger("wellkept.live")


@record(kw_only=True)
class ServerProcess:
    """A server process as registered for `wellkept status`."""

    kind: str
    folder: Path
    address: str | None = None
    starts_after_s: float = 0.0


@contextmanager
def background_services(
    process: ServerProcess, open_in: Callable[[Path], wellkept.Wellkept]
) -> Generator[None]:
    """Run the background services of a server process until the end of the block."""
    stack, lock, stopped = ExitStack(), threading.Lock(), threading.Event()

    def start() -> None:
        with lock:
            if stopped.is_set():
                return
            try:
                _start(stack, process, open_in)
            except (OSError, WellkeptError) as error:
                # With an unwritable home folder, reading still works.
                _log_error(error)

    timer = threading.Timer(process.starts_after_s, start)
    timer.daemon = True
    if process.starts_after_s:
        timer.start()
    else:
        start()
    try:
        yield
    finally:
        timer.cancel()
        stopped.set()
        with lock:
            stack.close()


def _start(
    stack: ExitStack, process: ServerProcess, open_in: Callable[[Path], wellkept.Wellkept]
) -> None:
    from wellkept.api.background import BackgroundWorker
    from wellkept.api.hook_context import HookContextProvider, open_existing
    from wellkept.api.processes import RunningProcess, announced
    from wellkept.clients.answers.injection_spool import InjectionSpool, ShownItems
    from wellkept.clients.answers.responder import HookResponder
    from wellkept.clients.answers.server import AnswerServer
    from wellkept.clients.registry import translate_spooled
    from wellkept.observe.observer.spool_folder import SpoolFolder

    state = SpoolFolder.of(os.environ).state
    announcement = RunningProcess(
        kind=process.kind,
        pid=os.getpid(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=wellkept.__version__,
        address=process.address,
    )
    context = HookContextProvider(
        lambda folder: open_existing(
            folder, environment=os.environ, busy_timeout_ms=BUSY_TIMEOUT_MS, with_skills=True
        )
    )
    worker = BackgroundWorker(
        open_in,
        folder=process.folder,
        translate=translate_spooled,
        environment=os.environ,
        on_error=_log_error,
    )
    stack.enter_context(announced(state, announcement))
    stack.callback(context.close)
    shown = ShownItems(state)
    shown.forget_old()
    responder = HookResponder(context, shown=shown, log=InjectionSpool(str(state)))
    stack.enter_context(AnswerServer(state, responder, on_error=_log_error))
    stack.enter_context(worker)


def _log_error(error: Exception) -> None:
    """Log the error type only: the message may contain memory content."""
    _LOG.warning("%s. Run `wellkept admin doctor` for details.", type(error).__name__)

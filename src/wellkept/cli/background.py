"""What `serve` and `mcp` do beside serving: answer hooks, drain the spool, and show in `status`.

Put together here because servers and clients do not know each other. Nothing is loaded before it
starts, and it may start a moment later, so that a server's first answer does not wait for it.
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
class Role:
    """What a process is, as others see it."""

    kind: str
    folder: Path
    address: str | None = None
    starts_after_s: float = 0.0


@contextmanager
def live_parts(role: Role, open_in: Callable[[Path], wellkept.Wellkept]) -> Generator[None]:
    """The live parts of a process until the end of the block."""
    stack, lock, over = ExitStack(), threading.Lock(), threading.Event()

    def begin() -> None:
        with lock:
            if over.is_set():
                return
            try:
                _start(stack, role, open_in)
            except (OSError, WellkeptError) as error:
                # A home that cannot be written still has a memory to be asked.
                _note(error)

    timer = threading.Timer(role.starts_after_s, begin)
    timer.daemon = True
    if role.starts_after_s:
        timer.start()
    else:
        begin()
    try:
        yield
    finally:
        timer.cancel()
        over.set()
        with lock:
            stack.close()


def _start(stack: ExitStack, role: Role, open_in: Callable[[Path], wellkept.Wellkept]) -> None:
    from wellkept.app.background import BackgroundWorker
    from wellkept.app.hook_context import HookContextProvider, open_existing
    from wellkept.app.observer.spool_folder import SpoolFolder
    from wellkept.app.processes import RunningProcess, announced
    from wellkept.clients.answers.responder import HookResponder
    from wellkept.clients.answers.server import AnswerServer
    from wellkept.clients.answers.shown_items import ShownItems
    from wellkept.clients.registry import translate_spooled

    state = SpoolFolder.of(os.environ).state
    process = RunningProcess(
        kind=role.kind,
        pid=os.getpid(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=wellkept.__version__,
        address=role.address,
    )
    context = HookContextProvider(
        lambda folder: open_existing(
            folder, environment=os.environ, busy_timeout_ms=BUSY_TIMEOUT_MS, with_skills=True
        )
    )
    live = BackgroundWorker(
        open_in,
        folder=role.folder,
        translate=translate_spooled,
        environment=os.environ,
        on_error=_note,
    )
    stack.enter_context(announced(state, process))
    stack.callback(context.close)
    shown = ShownItems(state)
    shown.forget_old()
    stack.enter_context(AnswerServer(state, HookResponder(context, shown=shown), on_error=_note))
    stack.enter_context(live)


def _note(error: Exception) -> None:
    """Tell that something failed, but not its words: they may hold what somebody keeps."""
    _LOG.warning("%s; `wellkept doctor` tells more.", type(error).__name__)

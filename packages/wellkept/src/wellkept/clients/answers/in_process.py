"""Answer in the hook process itself, from the database file, when no server is running.

Searches by words only: loading a model takes longer than a client should wait. The context is built
by the same operation as everywhere else. To start faster, bytecode comes from one file, garbage
collection is off, and `startup` defers costly modules and patterns.
Secrets are taken out of a payload before it is written, when the setting asks for that.

This is the one place in `clients` that imports `api`: the hook process has no caller that could
pass the context source in.
"""

from __future__ import annotations

import gc
import os

from wellkept.clients.answers import bytecode_bundle
from wellkept.store.spool import REDACT_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BUSY_TIMEOUT_MS = 150


def answer_in_process(
    state: str, *, client: str, event: str, payload: bytes, write: Callable[[bytes], None]
) -> None:
    """Write the response to an event. Call it only in a process that exits right after."""
    gc.disable()
    bundle = bytecode_bundle.install(state)
    from wellkept.core import startup

    startup.KNOWN.update(bundle.patterns)
    write(_respond(state, client, event, payload))
    bytecode_bundle.refresh(state, bundle, startup.KNOWN)


def _respond(state: str, client: str, event: str, payload: bytes) -> bytes:
    from wellkept.core import startup

    startup.install_for_one_answer()
    from pathlib import Path

    from wellkept.api.hook_context import HookContextProvider, open_existing
    from wellkept.clients.answers.injection_spool import InjectionSpool, ShownItems
    from wellkept.clients.answers.responder import HookResponder

    context = HookContextProvider(
        lambda folder: open_existing(
            folder, environment=os.environ, busy_timeout_ms=BUSY_TIMEOUT_MS
        )
    )
    try:
        shown, log = ShownItems(Path(state)), InjectionSpool(state)
        return HookResponder(context, shown=shown, log=log)(client, event, payload)
    finally:
        context.close()


def redacted(state: str, payload: bytes) -> bytes:
    """The payload without its secrets. Raises when that fails: then nothing may be written."""
    from wellkept.core import startup

    startup.install_for_one_answer()
    from wellkept.text.secrets.known_values import read_known, use_known
    from wellkept.text.secrets.redaction import redact_payload

    use_known(read_known(_known_file(state)))
    return redact_payload(payload)


def _known_file(state: str) -> str:
    """Where the hashes of known values are; the mark in the state folder says it."""
    try:
        with open(f"{state}/{REDACT_NAME}", encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except FileNotFoundError:
        return ""

"""The answer when nobody else is there to give it: from the database file, in the hook process.

Searches by words alone, since loading a model would take longer than a client should wait. It is
the same context operation as everywhere else, after measures that save time at its start: byte code
comes from one file, no garbage is looked for, two standard modules are swapped for lighter ones,
and regular expressions are compiled when they are first used.
"""

import gc
import os

from wellkept.clients.answers import bytecode_bundle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BUSY_TIMEOUT_MS = 150


def answer_here(
    state: str, *, client: str, event: str, payload: bytes, write: "Callable[[bytes], None]"
) -> None:
    """Write what the client is told at an event. Call it in a process that ends right after."""
    # Nothing that is made here outlives the answer, so looking for garbage is time lost.
    gc.disable()
    modules = bytecode_bundle.install(state)
    write(_answer(state, client, event, payload))
    bytecode_bundle.refresh(state, modules)


def _answer(state: str, client: str, event: str, payload: bytes) -> bytes:
    from wellkept.clients.answers import lazy_patterns, light_modules

    light_modules.install()
    lazy_patterns.install()
    from pathlib import Path

    from wellkept.clients.answers.answer import HookResponder
    from wellkept.clients.answers.context_source import MemoryContext, existing_memory
    from wellkept.clients.answers.shown_items import ShownItems

    context = MemoryContext(
        lambda folder: existing_memory(
            folder, environment=os.environ, busy_timeout_ms=BUSY_TIMEOUT_MS
        )
    )
    try:
        return HookResponder(context, shown=ShownItems(Path(state)))(client, event, payload)
    finally:
        context.close()

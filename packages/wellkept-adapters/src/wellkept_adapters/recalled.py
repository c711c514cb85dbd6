"""What adapters share beside items: recall as text for a prompt, and keeping what was said.

Recalled text is framed and quoted as data, as in every client; what Wellkept itself put into a
prompt is never kept again.
"""

from __future__ import annotations

from typing import Final

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.views.chat import ended
from wellkept.api.wellkept import Wellkept
from wellkept.context.packing import ITEM_CHARS, PREAMBLE
from wellkept.core.memory import Evidence
from wellkept.core.session.injected_text import FRAME, quoted, without_injected
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind

DEFAULT_LIMIT: Final = 5
_MAX_QUESTION_CHARS: Final = 2_000


def as_async(wellkept: Wellkept | AsyncWellkept) -> AsyncWellkept:
    """The memory for an event loop, whichever of the two was given."""
    return wellkept if isinstance(wellkept, AsyncWellkept) else AsyncWellkept(wellkept)


def as_sync(wellkept: Wellkept | AsyncWellkept) -> Wellkept:
    """The memory without an event loop, whichever of the two was given."""
    return wellkept.sync if isinstance(wellkept, AsyncWellkept) else wellkept


def recalled_text(
    wellkept: Wellkept,
    question: str,
    *,
    limit: int = DEFAULT_LIMIT,
    without_session: str | None = None,
) -> str:
    """What is known about a question, for a prompt; empty when nothing is.

    Memories that wait for review are left out, and so are those of the session that asks.
    """
    asked = without_injected(question).strip()[:_MAX_QUESTION_CHARS]
    if not asked:
        return ""
    found = wellkept.recall(asked, limit=limit, needs_review=False)
    lines = [
        f"- {shorten(quoted(hit.memory.content), limit=ITEM_CHARS)}{ended(hit.memory)}"
        f" [m:{hit.memory.short}]"
        for hit in found
        if without_session is None or hit.memory.session_id != without_session
    ]
    return "\n".join([f"<{FRAME}>", PREAMBLE, *lines, f"</{FRAME}>"]) if lines else ""


def keep_said(
    wellkept: Wellkept, text: str, *, framework: str, by_user: bool, session: str | None
) -> None:
    """Keep a turn of a conversation, and the rules that a person gave in it."""
    said = without_injected(text).strip()
    if not said:
        return
    if by_user:
        wellkept.apply(said, session=session)
    wellkept.remember(
        said,
        type="episode",
        tags=[framework, f"{framework}:{'user' if by_user else 'assistant'}"],
        session=session,
        evidence=evidence_of(framework, session),
    )


def evidence_of(framework: str, session: str | None) -> list[Evidence]:
    """The evidence of what came through a framework."""
    return [Evidence(EvidenceKind.SESSION, f"{framework}:{session}" if session else framework)]

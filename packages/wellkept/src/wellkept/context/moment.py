"""What memory says at one moment of a session: the answer to a hook, or to the agent's own loop.

A request names the moment; the answer is a text with ids, or nothing. Budgets are small where
nobody asked. Imported by the hook process: `observe.observer` waits until a prompt needs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.session.hook_context import (
    ASKED,
    ASKED_AT_STOP,
    ContextLine,
    HookContext,
    HookContextRequest,
)
from wellkept.core.session.injected_text import FRAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wellkept.context.build import Considered
    from wellkept.context.packing import ContextPack
    from wellkept.memory.engine import Engine

SKILL_TIMEOUT_S = 0.15
MAX_CHARS = 9_000
_AT_FAILURE = "failure:"


class GivesContext(Protocol):
    """The part of `Wellkept` that is asked."""

    @property
    def engine(self) -> Engine: ...

    @property
    def project(self) -> str: ...

    @property
    def pack(self) -> Callable[..., ContextPack]: ...


@record(kw_only=True)
class ContextLimits:
    """How much a caller takes; None is what the settings say."""

    start_tokens: int | None = None
    start_chars: int | None = None
    max_items: int | None = None
    prompt_items: int | None = None
    phase: str | None = None
    complexity: str | None = None
    skills: bool = True
    skills_by: str | None = None
    """How a skill is read in full; None is the usual way."""

    def items(self, moment: str) -> int | None:
        """How many memories may be told at a moment; None is as many as fit."""
        limits = (self.max_items, self.prompt_items if moment == "prompt" else None)
        return min((one for one in limits if one is not None), default=None)


NO_LIMITS = ContextLimits()


def _told_before(request: HookContextRequest, shown: frozenset[str]) -> frozenset[str]:
    """What is not told again. Who fails all the same has missed what the session start said: at a
    failure only what was told at one counts."""
    if request.moment != "failure":
        return shown
    return frozenset(one.removeprefix(_AT_FAILURE) for one in shown if one.startswith(_AT_FAILURE))


def context_for(
    wk: GivesContext,
    request: HookContextRequest,
    shown: frozenset[str],
    *,
    quiet: bool,
    skill_timeout_s: float = SKILL_TIMEOUT_S,
    limits: ContextLimits = NO_LIMITS,
) -> HookContext:
    """What a project's memory says to a request, without the ids in `shown`."""
    from wellkept.context.packing import SKILLS_BY, render_context

    pack = pack_for(wk, request, shown, quiet=quiet, skill_timeout_s=skill_timeout_s, limits=limits)
    if pack is None:
        return HookContext()
    ids = pack.ids
    if request.moment == "failure":
        ids = (*ids, *(f"{_AT_FAILURE}{one}" for one in ids))
    return HookContext(
        render_context(pack, skills_by=limits.skills_by or SKILLS_BY),
        ids,
        injected_lines(pack),
        pack.project,
        pack.used_tokens,
    )


def pack_for(
    wk: GivesContext,
    request: HookContextRequest,
    shown: frozenset[str],
    *,
    quiet: bool,
    skill_timeout_s: float = SKILL_TIMEOUT_S,
    limits: ContextLimits = NO_LIMITS,
    trace: list[Considered] | None = None,
) -> ContextPack | None:
    """The pack for a request; None where the project cannot say anything to it."""
    try:
        pack = wk.pack(
            request.query,
            moment=request.moment,
            files=request.files,
            phase=limits.phase,
            budget_tokens=limits.start_tokens if request.moment == "session" else None,
            max_chars=(limits.start_chars if request.moment == "session" else None) or MAX_CHARS,
            shown=_told_before(request, shown),
            session=request.session,
            skills_within_s=skill_timeout_s,
            output=request.output,
            reading=request.reading,
            quiet=quiet,
            client=request.client,
            complexity=limits.complexity,
            trace=trace,
        )
    except UsageError:
        # A file outside the project, or a deleted folder.
        return None
    return replace(
        pack,
        items=pack.items[: limits.items(request.moment)],
        extras=pack.extras if limits.skills else (),
    )


_POINTS_BACK = re.compile(
    r"(?:^|[.!?;:\n*-])\s*(?:[\w']+\W+){0,4}?(?:it|they|that|this|those|these)\b"
    r"|\b(?:(?:that|this|other|same) way|like (?:that|this)|as (?:before|usual)|instead of that"
    r"|do (?:it|that)|over there)\b",
    re.IGNORECASE,
)
"""Only a sentence that begins like this points at what was said before."""
_ASK = (
    "The user just laid something down that these words alone will not explain later."
    " Store it with wellkept's `memory_remember` as one sentence that stands by itself, then go on."
)
_ASK_AT_STOP = (
    "Something that the user laid down in this session is not stored yet. Store it with wellkept's"
    " `memory_remember` as one sentence that stands by itself, then end without repeating your"
    " answer."
)


def tell(
    wk: GivesContext,
    request: HookContextRequest,
    shown: frozenset[str],
    *,
    skill_timeout_s: float = SKILL_TIMEOUT_S,
    limits: ContextLimits = NO_LIMITS,
    asks: bool = False,
) -> HookContext:
    """What is told at a moment, in hooks as in the agent's own loop. With `asks`, the agent is also
    asked to word what the person laid down."""
    asked = silenced(request, shown)
    if asked is None:
        return HookContext()
    if request.moment == "stop":
        return _at_stop(wk, request, shown) if asks else HookContext()
    told = context_for(
        wk, asked[0], shown, quiet=asked[1], skill_timeout_s=skill_timeout_s, limits=limits
    )
    return asking_for_words(told, request, at=wk.engine.clock()) if asks else told


def asking_for_words(
    told: HookContext, request: HookContextRequest, *, at: datetime
) -> HookContext:
    """The context with one line that asks the agent to word what the person laid down, where a
    quotation alone would not be understood later."""
    if request.moment not in ("prompt", "plan") or request.agent:
        return told
    if _POINTS_BACK.search(request.query) is None:
        return told
    from wellkept.text.memory_commands.detect import wants_wording
    from wellkept.text.own_words import own_words

    if not wants_wording(own_words(request.query)):
        return told
    text = f"{told.text}\n<{FRAME}>\n{_ASK}\n</{FRAME}>".strip()
    return replace(told, text=text, ids=(*told.ids, f"{ASKED}{to_ms(at)}"))


def _at_stop(wk: GivesContext, request: HookContextRequest, shown: frozenset[str]) -> HookContext:
    """The same once more before the session may end, where the agent stored nothing since."""
    from wellkept.core.query import Filter, Order
    from wellkept.core.types import Source

    store = wk.engine.store
    since = min(int(one.removeprefix(ASKED)) for one in shown if one.startswith(ASKED))
    noted = Filter(project=wk.project, sources=(Source.AGENT_EXPLICIT,))
    latest = store.list(noted, order=Order.NEWEST, limit=1).items
    pad = store.scratchpad(request.session)
    if (latest and to_ms(latest[0].created_at) >= since) or (pad and pad.notes):
        return HookContext()
    return HookContext(f"<{FRAME}>\n{_ASK_AT_STOP}\n</{FRAME}>", (ASKED_AT_STOP,))


def silenced(
    request: HookContextRequest, shown: frozenset[str]
) -> tuple[HookContextRequest, bool] | None:
    """The request as it is answered and whether quietly; None for silence.

    A resumed session still has what it was told at its start.
    """
    if request.moment == "session":
        return None if shown and not request.fresh else (request, False)
    if request.moment == "stop":
        is_due = ASKED_AT_STOP not in shown and any(one.startswith(ASKED) for one in shown)
        return (request, True) if is_due and not request.agent else None
    if request.moment not in ("prompt", "plan"):
        return request, False
    from wellkept.context.prompt_policy import PromptKind, named_files, prompt_kind

    # The prompt of a sub-agent is the brief of the agent that started it.
    match PromptKind.BRIEF if request.agent else prompt_kind(request.query):
        case PromptKind.NOTICE:
            return None
        case PromptKind.BRIEF:
            files = named_files(request.query, cwd=request.cwd)
            told = replace(request, moment="file", query="", files=files, reading=True)
            return (told, False) if files else None
        case PromptKind.SHORT:
            return request, True
        case PromptKind.PLAIN:
            return request, False


def injected_lines(pack: ContextPack) -> tuple[ContextLine, ...]:
    """The lines of a pack for the log of injections, in the order of the text."""
    lines = [
        ContextLine(line.line, line.section.value, line.id, None, line.reason)
        for line in pack.lines
    ]
    items = [
        # A note of this session has an id, but is not stored as a memory yet.
        ContextLine(
            item.line,
            item.memory.type.value,
            item.memory.id,
            item.memory.id if item.citation.startswith("m:") else None,
            item.reason,
            item.weight,
            item.memory.importance,
            item.memory.confidence,
        )
        for item in pack.items
    ]
    extras = [
        ContextLine(extra.line, "skill", extra.id, None, extra.reason) for extra in pack.extras
    ]
    order = {name: number for number, name in enumerate(pack.ids)}
    return tuple(sorted((*lines, *items, *extras), key=lambda line: order[line.id]))

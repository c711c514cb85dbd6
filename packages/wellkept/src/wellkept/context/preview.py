"""The next session, before it happens: the exact pack for a moment, and what was left out, and why.

Asks the very operation that hooks ask (`moment.pack_for`) and writes nothing: no log, no use. Also
keeps what a person says about silence: examples to judge the rules by, not rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from wellkept.context.build import Considered
from wellkept.context.moment import ContextLimits, GivesContext, pack_for, silenced
from wellkept.context.packing import ContextItem, ContextPack, render_context
from wellkept.context.sections import SHARES, Section
from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.session.hook_context import HookContextRequest
from wellkept.core.text import content_words, estimate_tokens, stem
from wellkept.core.types import MemoryType
from wellkept.memory.recall.ranking import TELLING, tells
from wellkept.memory.recall.requests import TOLD_FROM
from wellkept.project.pages import LineSource, line_source

if TYPE_CHECKING:
    from wellkept.core.memory import Memory
    from wellkept.core.ports.store import KeyValueStore

MAX_LEFT_OUT = 20
MAX_JUDGED = 500
MAX_REPLAYED = 40
_JUDGED = "judged_silence"
_NEAREST = 3
_KINDS = {Section.GIT: "git", Section.COMMANDS: "record", Section.KNOWN: "record"}
"""Lines of the other sections are the words of a person or an agent."""


@record(kw_only=True)
class PreviewLine:
    """One line as it would be given. `kind` is quote, record, git or skill; `exact` its text."""

    id: str
    kind: str
    text: str
    exact: str
    tokens: int
    reason: str
    source: LineSource
    memory_id: str | None = None
    updated_at: datetime | None = None
    pinned: bool = False


@record(kw_only=True)
class PreviewSection:
    """Lines that are told together. `limit` is the part of the budget that they may take first."""

    name: str
    title: str
    tokens: int
    limit: int
    lines: tuple[PreviewLine, ...]


@record(kw_only=True)
class LeftOut:
    """A memory that was looked at and is not given. `why`: no room, loaded, silent."""

    id: str
    text: str
    why: str
    fits_at: int | None = None


@record(kw_only=True)
class Nearest:
    """How near a memory comes to a prompt, and which words both have."""

    id: str
    text: str
    probability: float
    shared: tuple[str, ...]
    missing: tuple[str, ...]
    source: LineSource


@record(kw_only=True)
class ContextPreview:
    """What would be given now. `exact` is the whole text. `silence` says why nothing
    is, where that is no matter of degree."""

    moment: str
    budget_tokens: int
    used_tokens: int
    exact: str
    lines: int
    sections: tuple[PreviewSection, ...]
    left_out: tuple[LeftOut, ...] = ()
    threshold: float = TOLD_FROM
    nearest: tuple[Nearest, ...] = ()
    silence: str = ""


@record(kw_only=True)
class Replayed:
    """A prompt of an earlier session, and what it would be given now."""

    prompt: str
    at: datetime
    lines: int
    tokens: int


@record(kw_only=True)
class JudgedSilence:
    """A person's word about a prompt: whether silence was right, or what should have been given."""

    prompt: str
    should_give: str | None
    probability: float | None
    at: datetime


@record
class _Judged:
    examples: tuple[JudgedSilence, ...] = ()


def preview(
    wk: GivesContext, request: HookContextRequest, *, budget_tokens: int | None = None
) -> ContextPreview:
    """What a hook's request would be given now."""
    asked = silenced(request, frozenset())
    if asked is None:
        return _silent(request.moment, "not a person's words")
    request, quiet = asked
    trace: list[Considered] = []
    pack = pack_for(
        wk,
        request,
        frozenset(),
        quiet=quiet,
        limits=ContextLimits(start_tokens=budget_tokens),
        trace=trace,
    )
    if pack is None:
        return _silent(request.moment, "outside the project")
    return ContextPreview(
        moment=pack.moment,
        budget_tokens=pack.budget_tokens,
        used_tokens=pack.used_tokens,
        exact=render_context(pack),
        lines=len(pack.ids),
        sections=tuple(_sections(pack)),
        left_out=_left_out(trace, pack),
        nearest=tuple(_nearest(trace, request.query)),
        silence="too short to tell" if quiet and not pack.ids else "",
    )


def _silent(moment: str, why: str) -> ContextPreview:
    return ContextPreview(
        moment=moment, budget_tokens=0, used_tokens=0, exact="", lines=0, sections=(), silence=why
    )


def _sections(pack: ContextPack) -> Iterator[PreviewSection]:
    items = {item.id: item for item in pack.items}
    plain = {line.id: line for line in pack.lines}
    for section in pack.sections:
        lines = tuple(
            _of_memory(items[name])
            if name in items
            else PreviewLine(
                id=name,
                kind=_KINDS.get(section.name, "quote"),
                text=plain[name].text,
                exact=exact,
                tokens=estimate_tokens(exact),
                reason=plain[name].reason,
                source=LineSource(kind="git" if section.name is Section.GIT else "session"),
            )
            for name, exact in zip(section.ids, section.lines, strict=True)
        )
        yield _section(section.name.value, section.title, lines, pack, SHARES[section.name])
    if pack.extras:
        skills = tuple(
            PreviewLine(
                id=one.id,
                kind="skill",
                text=one.line,
                exact=one.line,
                tokens=estimate_tokens(one.line),
                reason=one.reason,
                source=LineSource(kind="skill", name=one.name),
            )
            for one in pack.extras
        )
        yield _section("skills", "Skills", skills, pack, 1.0)


def _section(
    name: str, title: str, lines: tuple[PreviewLine, ...], pack: ContextPack, share: float
) -> PreviewSection:
    return PreviewSection(
        name=name,
        title=title,
        tokens=sum(one.tokens for one in lines),
        limit=int(pack.budget_tokens * share),
        lines=lines,
    )


def _of_memory(item: ContextItem) -> PreviewLine:
    memory = item.memory
    return PreviewLine(
        id=item.id,
        kind="quote",
        text=item.text,
        exact=item.line,
        tokens=estimate_tokens(item.line),
        reason=item.reason,
        source=line_source(memory),
        memory_id=memory.id if item.citation.startswith("m:") else None,
        updated_at=memory.updated_at,
        pinned=memory.pinned,
    )


def _left_out(trace: Sequence[Considered], pack: ContextPack) -> tuple[LeftOut, ...]:
    found = {one.memory.id: one for one in trace if one.why != "below"}
    return tuple(
        LeftOut(
            id=one.memory.id,
            text=one.memory.content,
            why=one.why,
            fits_at=pack.used_tokens + estimate_tokens(one.memory.content) + 8
            if one.why == "no room"
            else None,
        )
        for one in list(found.values())[:MAX_LEFT_OUT]
    )


def _nearest(trace: Sequence[Considered], prompt: str) -> Iterator[Nearest]:
    below = [one for one in trace if one.probability is not None]
    below.sort(key=lambda one: -(one.probability or 0.0))
    asked = {stem(word): word for word in content_words(prompt)}
    mine = {base: word for base, word in asked.items() if tells(base) >= TELLING}
    for one in below[:_NEAREST]:
        held = {stem(word) for word in content_words(one.memory.content)}
        yield Nearest(
            id=one.memory.id,
            text=one.memory.content,
            probability=round(one.probability or 0.0, 3),
            shared=tuple(word for base, word in mine.items() if base in held),
            missing=tuple(word for base, word in mine.items() if base not in held)[:6],
            source=line_source(one.memory),
        )


# -- Earlier prompts, and what a person says about silence ----------------------------------------


def replayed(wk: GivesContext, *, limit: int = 12) -> tuple[Replayed, ...]:
    """The latest prompts, and what each would be given now."""
    where = Filter(project=wk.project, types=(MemoryType.PROMPT,), include_user=False)
    page = wk.engine.store.list(where, order=Order.NEWEST, limit=min(limit, MAX_REPLAYED))
    return tuple(_replay(wk, memory) for memory in page.items)


def _replay(wk: GivesContext, memory: Memory) -> Replayed:
    request = HookContextRequest(client="", session="", moment="prompt", query=memory.content)
    told = preview(wk, request)
    return Replayed(
        prompt=memory.content, at=memory.valid_from, lines=told.lines, tokens=told.used_tokens
    )


def judge_silence(
    wk: GivesContext, prompt: str, *, should_give: str | None, probability: float | None
) -> JudgedSilence:
    """Keep a person's word about a prompt."""
    if not prompt.strip():
        raise UsageError("Which prompt?", hint="Give its text.")
    said = JudgedSilence(
        prompt=prompt.strip(), should_give=should_give, probability=probability,
        at=wk.engine.clock(),
    )  # fmt: skip
    store, project = wk.engine.store, wk.project
    others = [one for one in judged(store, project) if one.prompt != said.prompt]
    kept = _Judged((*others, said)[-MAX_JUDGED:])
    store.put_value(_JUDGED, project, cast("Json", record_to_json(kept)))
    return said


def judged(store: KeyValueStore, project: str) -> tuple[JudgedSilence, ...]:
    """What people said about silence here, oldest first."""
    value = store.get_value(_JUDGED, project)
    try:
        return record_from_json(_Judged, value).examples if isinstance(value, dict) else ()
    except UsageError:
        return ()


def forget_judged(store: KeyValueStore, project: str) -> None:
    """Forget what was said about silence in a project."""
    store.put_value(_JUDGED, project, None)

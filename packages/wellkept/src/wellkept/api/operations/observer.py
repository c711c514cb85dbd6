"""Observer operations: QA verdicts, and the origin, use and harm of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output
from wellkept.context.packing import quoted
from wellkept.core.errors import NotFoundError
from wellkept.core.session.scratchpad import QaIssue
from wellkept.core.types import EvidenceKind

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.memory import Memory
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.observe.learning.promote import SkippedConclusion

_MAX_ISSUES = 50
_MAX_SKIPPED = 20


class QaIssueInput(Model):
    """Something that QA found."""

    description: str = Field(min_length=1, max_length=4_000)
    severity: Literal["critical", "high", "medium", "low"] = "high"
    file: str | None = None
    module: str | None = None
    tried: str | None = None
    recommendation: str | None = None


class VerdictInput(Input):
    """A verdict on the work of a session."""

    verdict: Literal["passed", "failed"]
    session: str = Field(
        default="", description="The session's id or the beginning of it; the latest without it."
    )
    task: str | None = Field(default=None, description="One sub-task; without it, all of the work.")
    detail: str = Field(default="", max_length=2_000, description="What was checked and how.")
    issues: list[QaIssueInput] = Field(default_factory=list[QaIssueInput], max_length=_MAX_ISSUES)
    complexity: Literal["trivial", "standard", "complex"] | None = None


class NotPromotedOutput(Model):
    """A conclusion that did not become a memory, and why."""

    rule: str
    subject: str
    reason: str


class VerdictOutput(Output):
    """What a verdict led to."""

    session: str
    verdict: str
    promoted: list[str] = Field(default_factory=list)
    confirmed: list[str] = Field(default_factory=list)
    error_patterns: list[str] = Field(default_factory=list)
    discarded: int = 0
    skipped: list[NotPromotedOutput] = Field(default_factory=list[NotPromotedOutput])
    note: str = Field(default="", description="Why nothing could be promoted at all.")

    def text(self) -> str:
        first = (
            f"{self.session} {self.verdict}: {len(self.promoted)} memories promoted,"
            f" {len(self.confirmed)} confirmed, {len(self.error_patterns)} error patterns kept,"
            f" {self.discarded} sub-tasks discarded"
        )
        shown = self.skipped[:_MAX_SKIPPED]
        left_off = len(self.skipped) - len(shown)
        lines = [f"not promoted ({one.rule}): {one.reason}" for one in shown]
        lines += [f"not promoted: {left_off} more"] if left_off else []
        return "\n".join([first, *([self.note] if self.note else []), *lines])


class WhyInput(Input):
    """A question for where a memory comes from."""

    id: str = Field(min_length=1, description="A memory's id, short id or key.")


class FlagInput(Input):
    """A memory that did harm."""

    id: str = Field(min_length=1, description="A memory's id, short id or key.")
    reason: str = Field(default="", max_length=2_000, description="What was wrong, in a sentence.")
    session: str = Field(default="", description="The session it did harm in. Default: the latest.")


class FlagOutput(Output):
    """A memory that waits for review."""

    id: str
    content: str

    def text(self) -> str:
        return f"[m:{self.id}] is silent and waits for review: {self.content}"


class WhyOutput(Output):
    """Why a memory is there."""

    id: str
    content: str
    source: str
    told_by: str = Field(default="", description="Whose words it holds.")
    rule: str = ""
    validated_by: str = ""
    score: float | None = None
    frequency: float | None = None
    recency: float | None = None
    novelty: float | None = None
    threshold: float | None = None
    sessions: list[str] = Field(default_factory=list)
    signals: list[str] = Field(default_factory=list)
    evidence: list[str] = Field(default_factory=list)
    came_from: list[str] = Field(
        default_factory=list, description="Sessions with date, phase and kind of work."
    )
    given_text: str = Field(default="", description="How often given, used, ignored, in words.")
    given: int = Field(default=0, description="How often agents were given it unasked.")
    given_sessions: int = 0
    used: int = Field(default=0, description="In how many of these sessions it was used.")
    ignored: int = 0
    unclear: int = Field(default=0, description="In how many no act could show its use.")
    harm: int = 0
    last_given: str = ""
    last_used: str = ""
    saved_tokens: int | None = Field(
        default=None, description="Net estimate of tokens saved; null when it was never given."
    )
    latest: list[str] = Field(default_factory=list, description="The latest times it was given.")
    silent: str = Field(default="", description="Why it is no longer given unasked.")
    suspect: str = Field(default="", description="Why its text is cut: it speaks to the agent.")

    def text(self) -> str:
        lines = [
            f"[m:{self.id}] {self.content}",
            f"whose words: {self.told_by}; source: {self.source}",
        ]
        lines += [f"from: {one}" for one in self.came_from]
        if self.rule:
            parts = (
                f" (frequency {self.frequency}, recency {self.recency}, novelty {self.novelty};"
                f" more than {self.threshold} is needed at first)"
            )
            score = f"; score {self.score}" if self.score else ""
            lines.append(
                f"rule {self.rule}, validated by {self.validated_by}{score}"
                + (parts if self.frequency else "")
            )
        lines += [f"sessions: {', '.join(self.sessions)}"] if self.sessions else []
        lines += [f"signal: {signal}" for signal in self.signals]
        named = {f"{EvidenceKind.SESSION.value} {one}" for one in self.sessions}
        lines += [f"evidence: {item}" for item in self.evidence if item not in named]
        lines.append(f"given: {self.given_text}")
        if self.saved_tokens is not None:
            lines.append(f"tokens saved, net estimate: {self.saved_tokens}")
        lines += [f"given: {one}" for one in self.latest]
        lines += [f"cut or left out: it {self.suspect}"] if self.suspect else []
        return "\n".join([*lines, *([f"silent: {self.silent}"] if self.silent else [])])


def record_verdict(wk: Wellkept, request: VerdictInput) -> VerdictOutput:
    """Take a verdict in, and promote or discard accordingly."""
    session = _session(wk, request.session)
    result = wk.observer.verdict(
        session.id,
        request.verdict,
        detail=request.detail,
        task=request.task,
        issues=[QaIssue(**issue.model_dump()) for issue in request.issues],
        complexity=request.complexity,
    )
    report = result.report
    return VerdictOutput(
        session=session.id,
        verdict=request.verdict,
        promoted=list(report.promoted) if report else [],
        confirmed=list(report.confirmed) if report else [],
        error_patterns=list(result.error_patterns),
        discarded=report.discarded if report else 0,
        skipped=[_not_promoted(one) for one in report.skipped] if report else [],
        note=result.note,
    )


def _not_promoted(one: SkippedConclusion) -> NotPromotedOutput:
    return NotPromotedOutput(rule=one.rule, subject=quoted(one.subject), reason=quoted(one.reason))


def _session(wk: Wellkept, name: str) -> SessionRecord:
    from wellkept.context.start.session_view import find_session

    if name.strip():
        return find_session(wk.engine.store, name, project=wk.project)
    latest = wk.engine.store.sessions(project=wk.project, limit=1)
    if not latest:
        raise NotFoundError(
            "No session of this project is known, so there is nothing to judge.",
            hint="Sessions are watched through the client's hooks: `wellkept install`.",
        )
    return latest[0]


def flag_memory(wk: Wellkept, request: FlagInput) -> FlagOutput:
    """Flag a memory at the point of damage."""
    memory = wk.injected.flag(request.id, reason=request.reason, session=request.session or None)
    return FlagOutput(id=memory.short, content=quoted(memory.content))


def explain_memory(wk: Wellkept, request: WhyInput) -> WhyOutput:
    """Tell why a memory is there."""
    reason = wk.observer.why(wk.get(request.id))
    memory, why = reason.memory, reason.explanation
    output = WhyOutput(
        id=memory.short,
        content=quoted(memory.content),
        source=memory.source.value,
        told_by=memory.told_by,
        sessions=list(memory.provenance_sessions),
        evidence=[f"{e.kind.value} {e.ref}" for e in memory.evidence],
        **_use_fields(wk, memory),
    )
    if why is None:
        return output
    return output.model_copy(
        update={
            "rule": why.rule,
            "validated_by": why.validated_by,
            "score": why.score,
            "frequency": why.frequency,
            "recency": why.recency,
            "novelty": why.novelty,
            "threshold": why.threshold,
            "sessions": list(why.sessions),
            "signals": list(why.signals),
        }
    )


def _use_fields(wk: Wellkept, memory: Memory) -> dict[str, Any]:
    """Where it was learned, and whether it was ever of use."""
    from wellkept.context.injection_log import session_text, use_text

    known = wk.injected.use_of(memory)
    fields: dict[str, Any] = {
        "came_from": [session_text(one) for one in known.sessions],
        "silent": quoted(known.silent.reason) if known.silent else "",
        "given_text": use_text(known.use),
        "suspect": known.suspect or "",
    }
    use = known.use
    if use is None:
        return fields
    return fields | {
        "given": use.given,
        "given_sessions": use.sessions,
        "used": use.used,
        "ignored": use.ignored,
        "unclear": use.unclear,
        "harm": use.harm,
        "last_given": f"{use.last_at:%Y-%m-%d}",
        "last_used": f"{use.last_used_at:%Y-%m-%d}" if use.last_used_at else "",
        "saved_tokens": use.saved_tokens,
        "latest": [quoted(one) for one in known.latest_texts],
    }

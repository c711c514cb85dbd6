"""Inference rules: one small pure function per rule, from signals to lessons.

A lesson is a candidate memory with its evidence. `promote` decides whether it becomes one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from wellkept.core.code_modules import module_of
from wellkept.core.ids import digest
from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation
from wellkept.core.payloads import CausalDependency, DeadEnd
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import (
    MAX_SESSIONS_PER_SUBJECT,
    Explanation,
    SessionSignal,
    SignalKind,
    Validation,
)
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.lifecycle.confirmation import QUOTED_TAG
from wellkept.observe.learning.co_access import FileUsage
from wellkept.observe.thresholds import (
    LINK_SHARE,
    MIN_REPEATS,
    RULES,
    InferenceRule,
)

LEARNED_FROM = (
    SignalKind.CO_ACCESS,
    SignalKind.DEAD_END,
    SignalKind.NOTE,
    SignalKind.SEQUENCE,
)
IMPORTANCE = 0.6
_TEST_NAME = re.compile(
    r"^(?:tests?|spec)[._-](?=.)|(?<=.)[._-](?:tests?|spec)$|(?<=[a-z0-9])(?:Tests?|Spec)$"
)


@record(kw_only=True)
class PromotionBasis:
    """What a promotion rests on: the session, what validated it, its commits."""

    project: str
    session_id: str
    at: datetime
    validated_by: str
    commits: tuple[Validation, ...] = ()


@record(kw_only=True)
class Lesson:
    """A candidate memory: what would be stored, and why. `known` is the memory that already says
    it."""

    rule: InferenceRule
    draft: MemoryDraft
    why: Explanation
    last_seen: datetime
    known: Memory | None = None

    @property
    def key(self) -> str:
        """The key of its memory."""
        return key_for(self.why.rule, self.why.subject)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that showed it."""
        return self.why.sessions


def key_for(rule: str, subject: str) -> str:
    """The memory key of what a rule concludes about a subject."""
    return f"observer:{rule}:{digest(subject)}"


def infer(
    known: Mapping[SignalKind, Sequence[SessionSignal]], usage: FileUsage, basis: PromotionBasis
) -> list[Lesson]:
    """The lessons about some subjects. `known` holds all signals of them, `usage` the sessions
    that used their files."""
    groups = defaultdict[tuple[SignalKind, str], list[SessionSignal]](list)
    for signal in (s for some in known.values() for s in some):
        groups[signal.kind, signal.subject].append(signal)
    found: list[Lesson] = []
    for (kind, _), group in groups.items():
        group.sort(key=lambda s: (s.at, s.session_id))
        match kind:
            case SignalKind.CO_ACCESS:
                lesson = co_dependence(group, usage, basis)
            case SignalKind.DEAD_END:
                lesson = dead_end(group, basis)
            case SignalKind.NOTE:
                lesson = agent_note(group, basis)
            case _:
                continue
        if lesson is not None and len(lesson.sessions) >= lesson.rule.min_sessions:
            found.append(lesson)
    return found


# -- The rules ------------------------------------------------------------------------------------


def co_dependence(
    group: Sequence[SessionSignal], usage: FileUsage, basis: PromotionBasis
) -> Lesson | None:
    """Two files used within three steps in three sessions, both edited in two of them, and seldom
    used without each other."""
    edited = [s for s in group if s.fields.get("edited") is True]
    both = {s.session_id for s in group if s.fields.get("both") is True}
    file_a, _, file_b = group[0].subject.partition("\n")
    if not edited or not file_b or is_obvious_pair(file_a, file_b) or len(both) < MIN_REPEATS:
        return None
    if usage.share_together(group, file_a, file_b) <= LINK_SHARE:
        return None
    order = sum(s.number("a_first") * 2 - s.count for s in group)
    first, second = (file_a, file_b) if order >= 0 else (file_b, file_a)
    draft = MemoryDraft(
        content=f"Edited together: `{first}`, `{second}`",
        files=(first, second),
        needs_review=True,
        payload=CausalDependency(first, (second,)),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file=second, auto_extracted=True),),
    )
    return lesson_of(
        "co_dependence", edited, basis, draft,
        describe=lambda s: f"used within {s.number('step_delta')} steps, {s.count} times",
    )  # fmt: skip


def dead_end(group: Sequence[SessionSignal], basis: PromotionBasis) -> Lesson:
    """An approach abandoned after real effort, or that the agent said it abandoned."""
    last = group[-1]
    approach, why, files = last.text("approach"), last.text("why"), _files(group)
    instead = last.text("instead")
    quotes = (
        f"“{approach}”" if approach else "",
        f"Undone: {', '.join(f'`{path}`' for path in files)}",
        f"Before it: {why}",
        f"Instead: “{instead}”" if instead else "",
    )
    is_said = last.fields.get("said") is True
    draft = MemoryDraft(
        content=approach if is_said else "\n".join(filter(None, quotes)),
        # What somebody said is told from the next session on.
        tags=(QUOTED_TAG,) if approach else (),
        files=files,
        payload=DeadEnd(approach, why, instead or None, last.text("context") or None),
    )
    return lesson_of(
        "dead_end", group, basis, draft,
        describe=lambda s: "said by the agent" if s.fields.get("said") is True
        else f"undone after {s.number('steps')} steps",
    )  # fmt: skip


def agent_note(group: Sequence[SessionSignal], basis: PromotionBasis) -> Lesson | None:
    """A note of the agent."""
    last = group[-1]
    if not last.text("content"):
        return None
    draft = MemoryDraft(
        content=last.text("content"),
        type=MemoryType(last.text("type") or "fact"),
        files=_files(group),
        source=Source.AGENT_EXPLICIT,
    )
    told = "noted by the agent while it worked"
    return lesson_of("agent_note", group, basis, draft, describe=lambda _: told)


# -- Helpers --------------------------------------------------------------------------------------


def lesson_of(
    rule: str,
    group: Sequence[SessionSignal],
    basis: PromotionBasis,
    draft: MemoryDraft,
    *,
    describe: Callable[[SessionSignal], str],
    subject: str | None = None,
) -> Lesson:
    """The lesson of some signals, with the commit that touched the same files."""
    made_by, subject = RULES[rule], subject or group[0].subject
    last_seen = max(s.at for s in group)
    sessions = tuple(dict.fromkeys(s.session_id for s in group))[-MAX_SESSIONS_PER_SUBJECT:]
    touching = [one for one in basis.commits if one.sha and {*one.files} & {*draft.files}]
    sha = touching[-1].sha if touching else None
    evidence = [Evidence(EvidenceKind.SESSION, one[:500], at=last_seen) for one in sessions]
    whole = replace(
        draft,
        # A note says its own type.
        type=draft.type if rule == "agent_note" else made_by.makes,
        key=key_for(rule, subject),
        tags=("observer", rule, *draft.tags),
        modules=modules_of(draft.files),
        importance=IMPORTANCE,
        confidence=made_by.confidence,
        scope=Scope.GLOBAL,
        source=draft.source if rule == "agent_note" else Source.OBSERVER_INFERRED,
        session_id=basis.session_id,
        commit_sha=sha,
        evidence=(*evidence, *([Evidence(EvidenceKind.COMMIT, sha, at=basis.at)] if sha else ())),
        valid_from=basis.at,
    )
    why = Explanation(
        memory_id="",
        project=basis.project,
        rule=rule,
        subject=subject,
        at=basis.at,
        validated_by=basis.validated_by,
        sessions=sessions,
        signals=tuple(f"{s.session_id}: {describe(s)}" for s in group[-10:]),
        threshold=made_by.min_score,
    )
    return Lesson(rule=made_by, draft=whole, why=why, last_seen=last_seen)


def _files(group: Iterable[SessionSignal]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for s in group for path in s.texts("files")))[:8]


def is_obvious_pair(file_a: str, file_b: str) -> bool:
    """Whether the names already show that two files belong together: a source and its test, a
    header and its implementation."""
    one, other = PurePosixPath(file_a), PurePosixPath(file_b)
    stems = _TEST_NAME.sub("", one.stem), _TEST_NAME.sub("", other.stem)
    is_test = (stems[0] != one.stem) != (stems[1] != other.stem)
    same = stems[0].strip("_-") == stems[1].strip("_-")
    return same and (is_test or one.parent == other.parent)


def modules_of(files: Iterable[str]) -> tuple[str, ...]:
    """The modules that contain the files."""
    return tuple(dict.fromkeys(module_of(path) for path in files if module_of(path) != "."))

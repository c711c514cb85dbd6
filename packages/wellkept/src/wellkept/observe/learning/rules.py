"""Inference rules: one small pure function per rule, from signals to conclusions.

A conclusion is a candidate memory with its evidence. `promote` decides whether it becomes one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import PurePosixPath

from wellkept.core.code_modules import module_of
from wellkept.core.codec import Payload
from wellkept.core.memory import Relation
from wellkept.core.payloads import CausalDependency, DeadEnd
from wellkept.core.records import record
from wellkept.core.session.scratchpad import SessionSignal, SignalKind
from wellkept.core.types import MemoryType, RelationType, Source
from wellkept.observe.learning.file_usage import FileUsage
from wellkept.observe.thresholds import (
    LINK_SHARE,
    MIN_REPEATS,
    RULES,
    InferenceRule,
)

_TEST_NAME = re.compile(
    r"^(?:tests?|spec)[._-](?=.)|(?<=.)[._-](?:tests?|spec)$|(?<=[a-z0-9])(?:Tests?|Spec)$"
)


@record(kw_only=True)
class Conclusion:
    """A candidate memory: its rule, subject and the sessions that showed it."""

    rule: InferenceRule
    subject: str
    content: str
    type: MemoryType
    count: int
    last_seen: datetime
    sessions: tuple[str, ...]
    signals: tuple[str, ...]
    files: tuple[str, ...] = ()
    payload: Payload | None = None
    relations: tuple[Relation, ...] = ()
    source: Source = Source.OBSERVER_INFERRED
    needs_review: bool = True
    is_quoted: bool = False
    """Whether its text is what somebody said: told from the next session on."""


def digest(*parts: str) -> str:
    """A short stable hash of some texts, for keys and subjects."""
    return blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def key_of(conclusion: Conclusion) -> str:
    """The memory key of a conclusion."""
    return key_for(conclusion.rule.name, conclusion.subject)


def key_for(rule: str, subject: str) -> str:
    """The memory key of what a rule concludes about a subject."""
    return f"observer:{rule}:{digest(subject)}"


def infer(
    fresh: Sequence[SessionSignal],
    known: Mapping[SignalKind, Sequence[SessionSignal]],
    usage: FileUsage,
) -> list[Conclusion]:
    """The conclusions about the subjects of fresh signals.

    `known` holds all signals of those subjects, `usage` the sessions that used their files.
    """
    subjects = {(s.kind, s.subject) for s in fresh}
    found: list[Conclusion] = []
    for group in _by_subject(known, subjects):
        found += _apply_rule(group, usage)
    return found


def _by_subject(
    known: Mapping[SignalKind, Sequence[SessionSignal]], subjects: set[tuple[SignalKind, str]]
) -> list[list[SessionSignal]]:
    groups = defaultdict[tuple[SignalKind, str], list[SessionSignal]](list)
    for signal in (s for some in known.values() for s in some):
        if (signal.kind, signal.subject) in subjects:
            groups[signal.kind, signal.subject].append(signal)
    return [sorted(group, key=lambda s: (s.at, s.session_id)) for group in groups.values()]


def _apply_rule(group: Sequence[SessionSignal], usage: FileUsage) -> list[Conclusion]:
    conclusion: Conclusion | None = None
    match group[0].kind:
        case SignalKind.CO_ACCESS:
            conclusion = co_dependence(group, usage)
        case SignalKind.DEAD_END:
            conclusion = dead_end(group)
        case SignalKind.NOTE:
            conclusion = agent_note(group)
        case _:
            pass
    if conclusion is None:
        return []
    rule, sessions = conclusion.rule, len(conclusion.sessions)
    return (
        [conclusion] if sessions >= rule.min_sessions and conclusion.count >= rule.min_count else []
    )


# -- The rules ------------------------------------------------------------------------------------


def co_dependence(group: Sequence[SessionSignal], usage: FileUsage) -> Conclusion | None:
    """Two files used within three steps in three sessions, both edited in two of them, and seldom
    used without each other."""
    edited = [s for s in group if s.fields.get("edited") is True]
    both = {s.session_id for s in group if s.fields.get("both") is True}
    file_a, _, file_b = group[0].subject.partition("\n")
    if not edited or not file_b:
        return None
    if usage.share_together(group, file_a, file_b) <= LINK_SHARE:
        return None
    if is_obvious_pair(file_a, file_b) or len(both) < MIN_REPEATS:
        return None
    order = sum(s.number("a_first") * 2 - s.count for s in group)
    first, second = (file_a, file_b) if order >= 0 else (file_b, file_a)
    return _conclusion(
        "co_dependence",
        edited,
        content=f"Edited together: `{first}`, `{second}`",
        files=(first, second),
        payload=CausalDependency(first, (second,)),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file=second, auto_extracted=True),),
        describe=lambda s: f"used within {s.number('step_delta')} steps, {s.count} times",
    )


def dead_end(group: Sequence[SessionSignal]) -> Conclusion:
    """An approach abandoned after real effort, or that the agent said it abandoned."""
    last = group[-1]
    approach, why, files = last.text("approach"), last.text("why"), _files(group)
    is_said = last.fields.get("said") is True
    instead = last.text("instead")
    quotes = (
        f"“{approach}”" if approach else "",
        f"Undone: {', '.join(f'`{path}`' for path in files)}",
        f"Before it: {why}",
        f"Instead: “{instead}”" if instead else "",
    )
    return _conclusion(
        "dead_end",
        group,
        content=approach if is_said else "\n".join(filter(None, quotes)),
        files=files,
        payload=DeadEnd(approach, why, instead or None, last.text("context") or None),
        describe=lambda s: (
            "said by the agent"
            if s.fields.get("said") is True
            else f"undone after {s.number('steps')} steps"
        ),
        needs_review=False,
        is_quoted=bool(approach),
    )


def agent_note(group: Sequence[SessionSignal]) -> Conclusion | None:
    """A note of the agent."""
    last = group[-1]
    content = last.text("content")
    if not content:
        return None
    return _conclusion(
        "agent_note",
        group,
        content=content,
        type=MemoryType(last.text("type") or "fact"),
        files=_files(group),
        source=Source.AGENT_EXPLICIT,
        needs_review=False,
        describe=lambda _: "noted by the agent while it worked",
    )


# -- Helpers --------------------------------------------------------------------------------------


def _conclusion(
    rule: str,
    group: Sequence[SessionSignal],
    *,
    content: str,
    describe: Callable[[SessionSignal], str],
    subject: str | None = None,
    type: MemoryType | None = None,
    files: tuple[str, ...] = (),
    payload: Payload | None = None,
    relations: tuple[Relation, ...] = (),
    source: Source = Source.OBSERVER_INFERRED,
    needs_review: bool = True,
    is_quoted: bool = False,
) -> Conclusion:
    return Conclusion(
        rule=RULES[rule],
        subject=subject or group[0].subject,
        content=content,
        type=type or RULES[rule].makes,
        count=sum(s.count for s in group),
        last_seen=max(s.at for s in group),
        sessions=tuple(dict.fromkeys(s.session_id for s in group)),
        signals=tuple(f"{s.session_id}: {describe(s)}" for s in group[-10:]),
        files=files,
        payload=payload,
        relations=relations,
        source=source,
        needs_review=needs_review,
        is_quoted=is_quoted,
    )


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

"""Inference rules: one small pure function per rule, from signals to conclusions.

A conclusion is a candidate memory with its evidence. `promote` decides whether it becomes one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import PurePosixPath

from wellkept.core.code_modules import module_of
from wellkept.core.codec import Payload
from wellkept.core.memory import Relation
from wellkept.core.payloads import CausalDependency, DeadEnd, ErrorPattern
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
    """A candidate memory: its rule, subject and the sessions that showed it.

    `is_worded`: a model wrote the content.
    """

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
    is_worded: bool = False


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
        case SignalKind.ERROR_RETRY:
            conclusion = recurring_error(group)
        case SignalKind.BACKTRACK:
            conclusion = repeated_edit(group, usage)
        case SignalKind.DEAD_END:
            conclusion = dead_end(group)
        case SignalKind.NOTE:
            conclusion = agent_note(group)
        case _:
            pass
    return [conclusion] if conclusion is not None and _is_frequent(conclusion) else []


def _is_frequent(conclusion: Conclusion) -> bool:
    rule = conclusion.rule
    return len(conclusion.sessions) >= rule.min_sessions and conclusion.count >= rule.min_count


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
        content=f"`{first}` and `{second}` go together: work on one needs the other.",
        files=(first, second),
        payload=CausalDependency(first, (second,)),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file=second, auto_extracted=True),),
        describe=lambda s: f"used within {s.number('step_delta')} steps, {s.count} times",
    )


def recurring_error(group: Sequence[SessionSignal]) -> Conclusion | None:
    """The same error three times or more, with a known fix or in several sessions.

    An error that one session fixed by an edit was a bug and is gone; so is one that was fixed in a
    different file each time.
    """
    fix, was_edited = _known_fix(group)
    if fix is None and (was_edited or len({s.session_id for s in group}) < MIN_REPEATS):
        return None
    last = group[-1]
    tool, message = last.text("tool"), last.text("message") or last.subject
    command = last.text("command") or tool
    count = sum(s.count for s in group)
    content = f"`{command}` keeps failing with: {message.rstrip('.')}."
    return _conclusion(
        "recurring_error",
        group,
        content=f"{content} What helped: {fix}." if fix else content,
        files=_files(group),
        payload=ErrorPattern(
            error=message, fix=fix, tool=tool or None, occurrences=count, command=command or None
        ),
        describe=lambda s: f"failed {s.count} times: {s.text('message')}",
    )


def _known_fix(group: Sequence[SessionSignal]) -> tuple[str | None, bool]:
    """A reliable fix of an error, and whether edits resolved it.

    Another form of the command counts at once. A command run first or an edit may have had another
    purpose, so it counts when it resolved the error twice. Edits after failed tests or checks are
    ordinary work and do not count.
    """
    fixes = Counter[tuple[str, str]]()
    was_edited = False
    for signal in group:
        by = signal.text("by") or ("edit" if signal.fields.get("files") else "instead")
        if by == "edit":
            in_progress = signal.fields.get("in_progress") is True
            edited = () if in_progress else _files([signal])
            fixes.update((by, f"an edit of `{path}`") for path in edited)
            was_edited = True
        elif how := signal.text("resolved"):
            fixes[by, how] += 1
    reliable = [(n, how) for (by, how), n in fixes.items() if by == "instead" or n >= MIN_REPEATS]
    best = max(reliable, key=lambda one: one[0], default=None)
    return best[1] if best else None, was_edited


def repeated_edit(group: Sequence[SessionSignal], usage: FileUsage) -> Conclusion | None:
    """An edit repeated within five steps for the same cause.

    Another file counts only with the support that `co_dependence` needs, and in most sessions with
    the edited one: files that every session opens lie in between by chance.
    """
    cause, path, *_ = group[0].subject.split("\n")
    sessions = {s.session_id for s in group}
    is_linked = usage.share_together(group, path) > LINK_SHARE
    is_frequent = len(sessions) >= RULES["co_dependence"].min_sessions
    if cause != "wrong_assumption" and not (is_linked and is_frequent):
        return None
    hint = group[-1].text("hint")
    others = tuple(f for f in _files(group) if f != path)[:1]
    if cause == "wrong_assumption" and hint:
        rule, content = cause, f"A first edit of `{path}` tends to end in: {hint.rstrip('.')}."
    elif cause == "missing_context" and others:
        rule = "wrong_assumption"
        content = f"Read `{others[0]}` before editing `{path}`: edits made without it did not last."
    elif cause == "cascading_change" and others and not is_obvious_pair(path, others[0]):
        rule = cause
        content = f"A change in `{path}` also needs a change in `{others[0]}`; edit them together."
    else:
        return None
    is_cascading = rule == "cascading_change"
    return _conclusion(
        rule,
        group,
        content=content,
        files=(path, *others),
        relations=tuple(
            Relation(RelationType.REQUIRED_WITH, target_file=one, auto_extracted=True)
            for one in (others if is_cascading else ())
        ),
        describe=lambda s: f"edited again within {s.number('within_steps')} steps",
    )


def dead_end(group: Sequence[SessionSignal]) -> Conclusion:
    """An approach abandoned after real effort, or that the agent said it abandoned."""
    last = group[-1]
    approach, why, alternative = last.text("approach"), last.text("why"), last.text("alternative")
    if last.fields.get("said") is True:
        content = f"Dead end: {approach}"
    else:
        content = f"Dead end: {approach} was given up: {why}"
    content = f"{content.rstrip('.')}." + (f" Done instead: {alternative}." if alternative else "")
    return _conclusion(
        "dead_end",
        group,
        content=content,
        files=_files(group),
        payload=DeadEnd(approach, why, alternative or None, last.text("context") or None),
        describe=lambda s: (
            "said by the agent"
            if s.fields.get("said") is True
            else f"undone after {s.number('steps')} steps"
        ),
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

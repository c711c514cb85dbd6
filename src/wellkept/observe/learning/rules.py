"""What sightings of several sessions say: one small function for each rule, pure.

A conclusion is a statement to be, with what it rests on. Whether it becomes a memory is for
promotion to decide.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import PurePosixPath

from wellkept.core.codec import Json, Payload
from wellkept.core.memory import Relation
from wellkept.core.module_names import module_of
from wellkept.core.payloads import CausalDependency, DeadEnd, ErrorPattern
from wellkept.core.records import record
from wellkept.core.scratchpad import SessionSignal, SignalKind
from wellkept.core.types import MemoryType, RelationType, Source
from wellkept.observe.learning.file_usage import FileUses
from wellkept.observe.thresholds import (
    LINKED_WEIGHT,
    RULES,
    SAME_INSTRUCTION,
    SEVERAL,
    InferenceRule,
)

_OF_TESTS = re.compile(
    r"^(?:tests?|spec)[._-](?=.)|(?<=.)[._-](?:tests?|spec)$|(?<=[a-z0-9])(?:Tests?|Spec)$"
)


@record(kw_only=True)
class Conclusion:
    """A statement to be: by which rule, about what, and on which sightings it rests."""

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
    """Whether a model gave it its words."""


def key_of(made: Conclusion) -> str:
    """The key under which a conclusion is kept."""
    return key_for(made.rule.name, made.subject)


def key_for(rule: str, subject: str) -> str:
    """The key of what a rule concludes about a subject."""
    mark = blake2b(subject.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"observer:{rule}:{mark}"


def conclusions(
    fresh: Sequence[SessionSignal],
    known: Mapping[SignalKind, Sequence[SessionSignal]],
    uses: FileUses,
) -> list[Conclusion]:
    """What the subjects of fresh sightings amount to, with all that is known of them.

    `known` holds every sighting of those subjects; `uses` which sessions used the files of them.
    """
    asked = {(s.kind, s.subject) for s in fresh}
    found: list[Conclusion] = []
    for group in _by_subject(known, asked):
        found += _concluded(group, uses)
    found += _instructions(known.get(SignalKind.INSTRUCTION, ()), asked)
    return found


def _by_subject(
    known: Mapping[SignalKind, Sequence[SessionSignal]], asked: set[tuple[SignalKind, str]]
) -> list[list[SessionSignal]]:
    groups = defaultdict[tuple[SignalKind, str], list[SessionSignal]](list)
    for sighting in (s for some in known.values() for s in some):
        if (sighting.kind, sighting.subject) in asked:
            groups[sighting.kind, sighting.subject].append(sighting)
    return [sorted(group, key=lambda s: (s.at, s.session_id)) for group in groups.values()]


def _concluded(group: Sequence[SessionSignal], uses: FileUses) -> list[Conclusion]:
    made: Conclusion | None = None
    match group[0].kind:
        case SignalKind.CO_ACCESS:
            made = co_dependence(group, uses)
        case SignalKind.TIME_ANOMALY:
            made = confusing_file(group)
        case SignalKind.ERROR_RETRY:
            made = recurring_error(group)
        case SignalKind.BACKTRACK:
            made = going_back(group, uses)
        case SignalKind.DEAD_END:
            made = dead_end(group)
        case SignalKind.NOTE:
            made = agent_note(group)
        case _:
            pass
    return [made] if made is not None and _is_enough(made) else []


def _is_enough(made: Conclusion) -> bool:
    return len(made.sessions) >= made.rule.min_sessions and made.count >= made.rule.min_count


# -- The rules ------------------------------------------------------------------------------------


def co_dependence(group: Sequence[SessionSignal], uses: FileUses) -> Conclusion | None:
    """Two files that are used within three steps in three sessions, one of them being edited and in
    two sessions both, and seldom without each other."""
    edited = [s for s in group if _detail(s).get("edited") is True]
    both = {s.session_id for s in group if _detail(s).get("both") is True}
    file_a, _, file_b = group[0].subject.partition("\n")
    if not edited or not file_b:
        return None
    if uses.share_together(group, file_a, file_b) <= LINKED_WEIGHT:
        return None
    if names_say_it(file_a, file_b) or len(both) < SEVERAL:
        return None
    order = sum(_number(s, "a_first") * 2 - s.count for s in group)
    first, second = (file_a, file_b) if order >= 0 else (file_b, file_a)
    return _conclusion(
        "co_dependence",
        edited,
        content=f"`{first}` and `{second}` go together: work on one needs the other.",
        files=(first, second),
        payload=CausalDependency(first, (second,)),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file=second, auto_extracted=True),),
        told=lambda s: f"used within {_number(s, 'step_delta')} steps, {s.count} times",
    )


def confusing_file(group: Sequence[SessionSignal]) -> Conclusion:
    """A file that is read four times and more in a session and never changed."""
    path = group[0].subject
    return _conclusion(
        "confusing_file",
        group,
        content=f"`{path}` is hard to follow: it is read again and again without being changed."
        " Read it once with care, or ask what it does before relying on it.",
        files=(path,),
        told=lambda s: f"read {_number(s, 'reads')} times, never edited",
    )


def recurring_error(group: Sequence[SessionSignal]) -> Conclusion | None:
    """The same error three times and more, with a way out or in several sessions.

    What one session met and mended by an edit was a bug, and it is gone; so were those that were
    mended in another file each time.
    """
    fix, was_edited = _way_out(group)
    if fix is None and (was_edited or len({s.session_id for s in group}) < SEVERAL):
        return None
    last = _detail(group[-1])
    tool, message = _text(last, "tool") or "", _text(last, "message") or group[0].subject
    command = _text(last, "command") or tool
    count = sum(s.count for s in group)
    told = f"`{command}` keeps failing with: {message.rstrip('.')}."
    return _conclusion(
        "recurring_error",
        group,
        content=f"{told} What helped: {fix}." if fix else told,
        files=_files(group),
        payload=ErrorPattern(error=message, fix=fix, tool=tool or None, occurrences=count),
        told=lambda s: f"failed {s.count} times: {_text(_detail(s), 'message')}",
    )


def _way_out(group: Sequence[SessionSignal]) -> tuple[str | None, bool]:
    """What ended an error, when that can be relied on, and whether edits did.

    Another way to say the command speaks for itself. What was run in between may have been for
    something else, and so may what was edited; it counts when it ended the error twice. What tests
    and checks find is mended where the work is, and says nothing.
    """
    ways = Counter[tuple[str, str]]()
    was_edited = False
    for sighting in group:
        detail = _detail(sighting)
        by = _text(detail, "by") or ("edit" if detail.get("files") else "instead")
        if by == "edit":
            named = () if detail.get("in_progress") is True else _files([sighting])
            ways.update((by, f"an edit of `{path}`") for path in named)
            was_edited = True
        elif how := _text(detail, "resolved"):
            ways[by, how] += 1
    sure = [(n, how) for (by, how), n in ways.items() if by == "instead" or n >= SEVERAL]
    best = max(sure, key=lambda one: one[0], default=None)
    return best[1] if best else None, was_edited


def going_back(group: Sequence[SessionSignal], uses: FileUses) -> Conclusion | None:
    """An edit that was made again within five steps for the same reason, by its likely cause.

    Another file says something only as often as for two files that go together, and in most
    sessions with the edited one; files that every session opens lie in between by chance.
    """
    cause, path, *_ = group[0].subject.split("\n")
    sessions = {s.session_id for s in group}
    is_habit = uses.share_together(group, path) > LINKED_WEIGHT
    is_often = len(sessions) >= RULES["co_dependence"].min_sessions
    if cause != "wrong_assumption" and not (is_habit and is_often):
        return None
    detail = _detail(group[-1])
    hint = _text(detail, "hint")
    others = tuple(f for f in _files(group) if f != path)[:1]
    if cause == "wrong_assumption" and hint:
        rule, content = cause, f"A first edit of `{path}` tends to end in: {hint.rstrip('.')}."
    elif cause == "missing_context" and others:
        rule = "wrong_assumption"
        content = f"Read `{others[0]}` before editing `{path}`: edits made without it did not last."
    elif cause == "cascading_change" and others and not names_say_it(path, others[0]):
        rule = cause
        content = f"A change in `{path}` has to be carried on in `{others[0]}`; edit them together."
    else:
        return None
    is_carried = rule == "cascading_change"
    return _conclusion(
        rule,
        group,
        content=content,
        files=(path, *others),
        relations=tuple(
            Relation(RelationType.REQUIRED_WITH, target_file=one, auto_extracted=True)
            for one in (others if is_carried else ())
        ),
        told=lambda s: f"edited again within {_number(s, 'within_steps')} steps",
    )


def dead_end(group: Sequence[SessionSignal]) -> Conclusion:
    """An approach that was given up after real effort, or that the agent said it gave up."""
    detail = _detail(group[-1])
    approach, why = _text(detail, "approach") or "", _text(detail, "why") or ""
    instead, context = _text(detail, "alternative"), _text(detail, "context")
    if detail.get("said") is True:
        content = f"Dead end: {approach}"
    else:
        content = f"Dead end: {approach} was given up: {why}"
    content = f"{content.rstrip('.')}." + (f" Done instead: {instead}." if instead else "")
    return _conclusion(
        "dead_end",
        group,
        content=content,
        files=_files(group),
        payload=DeadEnd(approach, why, instead, context),
        told=lambda s: (
            "said by the agent"
            if _detail(s).get("said") is True
            else f"undone after {_number(s, 'steps')} steps"
        ),
    )


def agent_note(group: Sequence[SessionSignal]) -> Conclusion | None:
    """What the agent asked to remember, once its work has held up."""
    detail = _detail(group[-1])
    content = _text(detail, "content")
    if content is None:
        return None
    return _conclusion(
        "agent_note",
        group,
        content=content,
        type=MemoryType(_text(detail, "type") or "fact"),
        files=_files(group),
        source=Source.AGENT_EXPLICIT,
        needs_review=False,
        told=lambda _: "noted by the agent while it worked",
    )


def _instructions(
    known: Sequence[SessionSignal], asked: set[tuple[SignalKind, str]]
) -> list[Conclusion]:
    """The same standing instruction in two sessions, in these words or nearly these.

    Only what is fresh is compared with all that is known; the first who said it names it.
    """
    ordered = sorted(known, key=lambda s: (s.at, s.session_id, s.subject))
    words = {s.subject: frozenset(s.subject.split()) for s in ordered}
    found: list[Conclusion] = []
    told: set[str] = set()
    for sighting in [s for s in ordered if (s.kind, s.subject) in asked]:
        if sighting.subject in told:
            continue
        first = _alike(words[sighting.subject], ordered, words)[0]
        alike = _alike(words[first.subject], ordered, words)
        told |= {s.subject for s in (sighting, *alike)}
        content = _text(_detail(alike[-1]), "content")
        if content is None:
            continue
        made = _conclusion(
            "repeated_instruction",
            alike,
            subject=first.subject,
            content=content,
            told=lambda s: f"said by the person: {_text(_detail(s), 'content')}",
        )
        found += [made] if _is_enough(made) else []
    return found


def _alike(
    mine: frozenset[str], ordered: Sequence[SessionSignal], words: Mapping[str, frozenset[str]]
) -> list[SessionSignal]:
    """The sightings that share enough words; their numbers alone rule most of them out."""
    few, many = SAME_INSTRUCTION * len(mine), len(mine) / SAME_INSTRUCTION
    return [
        s
        for s in ordered
        if few <= len(theirs := words[s.subject]) <= many
        and len(mine & theirs) >= SAME_INSTRUCTION * len(mine | theirs)
    ]


# -- Parts ----------------------------------------------------------------------------------------


def _conclusion(
    rule: str,
    group: Sequence[SessionSignal],
    *,
    content: str,
    told: Callable[[SessionSignal], str],
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
        signals=tuple(f"{s.session_id}: {told(s)}" for s in group[-10:]),
        files=files,
        payload=payload,
        relations=relations,
        source=source,
        needs_review=needs_review,
    )


def _files(group: Iterable[SessionSignal]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for sighting in group:
        listed = _detail(sighting).get("files")
        if isinstance(listed, list):
            found |= {path: None for path in listed if isinstance(path, str)}
    return tuple(found)[:8]


def _detail(sighting: SessionSignal) -> dict[str, Json]:
    return sighting.detail if isinstance(sighting.detail, dict) else {}


def _text(detail: Mapping[str, Json], name: str) -> str | None:
    value = detail.get(name)
    return value if isinstance(value, str) and value else None


def _number(sighting: SessionSignal, name: str) -> int:
    value = _detail(sighting).get(name)
    return value if isinstance(value, int) else 0


def names_say_it(file_a: str, file_b: str) -> bool:
    """Whether the very names tell that two files belong together: a source and its test, a header
    and what it declares. Nobody needs to be told."""
    one, other = PurePosixPath(file_a), PurePosixPath(file_b)
    stems = _OF_TESTS.sub("", one.stem), _OF_TESTS.sub("", other.stem)
    is_test = (stems[0] != one.stem) != (stems[1] != other.stem)
    alike = stems[0].strip("_-") == stems[1].strip("_-")
    return alike and (is_test or one.parent == other.parent)


def modules_of(files: Iterable[str]) -> tuple[str, ...]:
    """The modules that files lie in."""
    return tuple(dict.fromkeys(module_of(path) for path in files if module_of(path) != "."))

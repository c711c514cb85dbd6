"""Where work was left off: what the last session here did, its open ends, and earlier work.

Read from the sessions' own records and step logs, and from the work tree as it is now when git can
be asked, so nothing needs to be learned first. Open ends come before results. Lines are data for an
agent: short, dated, in exact form, and none when there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from wellkept.context.start.unfinished_work import (
    OpenEnds,
    editors,
    is_question,
    open_ends,
)
from wellkept.context.start.work_lines import (
    command_of,
    day_of,
    ended,
    files_of,
    period,
    short_request,
    short_subject,
    time_of,
)
from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import content_words, counted, jaccard, shorten
from wellkept.project.work_tree import WorkTree
from wellkept.text.events.failure_cause import is_setup_cause

MAX_SESSIONS = 5
MAX_OBSERVATIONS = 20
MAX_DAYS = 30
NOTED_KINDS = ("decision", "bugfix", "feature")
_HERE_WITHIN = timedelta(days=3)
_HERE_WITHIN_ON_TRUNK = timedelta(hours=2)
_EARLIER_WITHIN = timedelta(hours=24)
_EARLIER_ON_BRANCH = timedelta(days=7)
_TRUNKS = frozenset({"main", "master", "develop", "dev", "trunk", "default"})
_TEAM_WITHIN = timedelta(minutes=3)
_RUNNING_WITHIN = timedelta(minutes=10)
_MAX_FOREIGN = 4
_MAX_COMMITS = 3
_MAX_CHECKS = 3
_MAX_FAILING = 2
_MIN_CITED = 3
_MAX_COMMITTED = 2
_UNCOMMITTED_ROOM = 3
_ERROR_CHARS = 120
_SHA_CHARS = 9


@record(kw_only=True)
class WorkNote:
    """A stored observation of a session; `commit` when it tells of a commit."""

    session: str
    at: datetime
    kind: str
    title: str
    commit: str | None = None
    cite: str = ""
    read_tokens: int = 0


@record(kw_only=True)
class Limits:
    """How much earlier work is told."""

    sessions: int = MAX_SESSIONS
    observations: int = MAX_OBSERVATIONS
    days: int = MAX_DAYS


@record(kw_only=True)
class Situation:
    """Where a session starts: branch and work tree, the folder, the time, the session itself;
    `exists` tells whether a file of the project is still there."""

    now: datetime
    branch: str | None = None
    tree: WorkTree | None = None
    root: str | None = None
    current: str | None = None
    exists: Callable[[str], bool] = bool


@record
class LeftOff:
    """The title of the section and its lines."""

    title: str
    lines: tuple[str, ...]


def recent_work(
    sessions: Sequence[SessionRecord], *, at: Situation, limits: Limits
) -> list[OpenEnds]:
    """Sessions with something to tell, the one to go on from first, then latest first."""
    recent = [
        open_ends(one)
        for one in sessions
        if one.id != at.current and (at.now - one.last_event_at).days <= limits.days
    ]
    told = [one for one in recent if one.has_content and not _is_running(one, at)]
    here = [one for one in told if at.branch is None or one.session.branch in (at.branch, None)]
    # Work on a branch of its own goes on there; everything begins and ends on a trunk.
    within = _HERE_WITHIN_ON_TRUNK if at.branch in _TRUNKS else _HERE_WITHIN
    first = (
        here[0] if here and ended(told[0]) - ended(here[0]) <= within else next(iter(told), None)
    )
    ordered = [first, *(one for one in told if one is not first)] if first else []
    return ordered[: limits.sessions]


def left_off(
    works: Sequence[OpenEnds],
    *,
    at: Situation,
    notes: Sequence[WorkNote] = (),
    others: Sequence[OpenEnds] = (),
    limits: Limits | None = None,
) -> LeftOff | None:
    """The section about `works`, the one to go on from first. `others` are sessions that may be at
    work beside it."""
    if not works:
        return None
    last, *earlier = works
    commits = _commits_by_session(notes)
    lines = [
        *_last(last, commits.get(last.session.id, []), at),
        *_foreign(last, [*earlier, *others], at),
        *_earlier(last, earlier, notes, at=at, limits=limits or Limits()),
    ]
    return LeftOff(_title(last, at), tuple(lines)) if lines else None


# -- The last session -----------------------------------------------------------------------------


def _title(work: OpenEnds, at: Situation) -> str:
    branch = work.session.branch
    where = ""
    if branch:
        where = ", this branch" if branch == at.branch else f", branch {branch}"
        where += f", you are on {at.branch}" if at.branch and branch != at.branch else ""
    request = f", PR #{work.pull_request}" if work.pull_request else ""
    return f"Where we left off ({period(work.session, at.now)}{where}{request})"


def _last(work: OpenEnds, commits: Sequence[WorkNote], at: Situation) -> Iterator[str]:
    asked, done = _asked(work, commits), _done(work, commits, at)
    if asked or done:
        yield " ".join(filter(None, (asked, done)))
    if work.unanswered:
        yield f"Asked last, nothing was run or edited since: “{short_request(work.unanswered)}”"
    yield from _operation(at.tree)
    yield from _uncommitted(work, at)
    failing = work.failing[:_MAX_FAILING]
    for step, times in failing:
        why = f": {shorten(step.error, limit=_ERROR_CHARS)}" if step.error else ""
        yield f"Failed {times}x and never worked: `{command_of(step)}`{why}"
    yield from _checks(work, skip={step.what for step, _ in failing})
    if work.last_words:
        yield f"The agent's last words: “{work.last_words}”"


def _asked(work: OpenEnds, commits: Sequence[WorkNote]) -> str:
    """The task and the last request of the session, unless a commit says the same."""
    every = [one for one in work.requests if one != work.unanswered]
    requests = [one for one in every if not is_question(one)] or every[:1]
    said = [frozenset(content_words(note.title)) for note in commits]
    telling = [
        one
        for one in dict.fromkeys((*requests[:1], *requests[-1:]))
        if all(jaccard(content_words(one), other) < 0.5 for other in said)
    ]
    if not telling:
        return ""
    return "Asked: " + ", then ".join(f"“{short_request(one)}”" for one in telling) + "."


def _done(work: OpenEnds, commits: Sequence[WorkNote], at: Situation) -> str:
    if not work.state.summary.commits:
        return ""
    told = [f"{(one.commit or '')[:_SHA_CHARS]} “{short_subject(one.title)}”" for one in commits]
    if not told:
        told = [f"“{short_subject(one)}”" for one in work.state.summary.commits]
    others = len(told) - _MAX_COMMITS
    more = f"{counted(others, 'commit')}, then " if others > 0 else ""
    return f"Done: {more}{'; '.join(told[-_MAX_COMMITS:])} ({_push_state(work, at)})."


def _push_state(work: OpenEnds, at: Situation) -> str:
    tree = at.tree
    if tree is None or tree.branch is None or tree.branch != work.session.branch:
        return "pushed" if work.was_pushed else "no push seen"
    if tree.ahead is None:
        return "pushed" if work.was_pushed else "NOT pushed, no upstream"
    return f"NOT pushed, {tree.ahead} ahead of {tree.upstream}" if tree.ahead else "pushed"


def _operation(tree: WorkTree | None) -> Iterator[str]:
    if tree is None or not tree.operation:
        return
    conflicts = f", conflicts in {files_of(tree.conflicts)}" if tree.conflicts else ""
    yield f"A {tree.operation} is in progress{conflicts}"


def _uncommitted(work: OpenEnds, at: Situation) -> Iterator[str]:
    """Files of the session that are not committed: as git says now, else as its log says."""
    if at.tree is None or not _is_same_tree(work, at):
        if left := [path for path in work.uncommitted if at.exists(path)]:
            since = "after the last commit" if work.state.summary.commits else "no commit seen"
            yield f"Edited, {since}: {files_of(left)}"
        return
    mine = work.edited
    staged = [path for path in mine if path in at.tree.staged]
    if staged:
        yield f"STAGED, not committed: {files_of(staged)}"
    changed = [path for path in mine if at.tree.is_dirty(path) and path not in staged]
    if changed:
        yield f"Not committed: {files_of(changed)}"


def _checks(work: OpenEnds, *, skip: set[str]) -> Iterator[str]:
    """How checks ended: failed ones with their error, passed ones on one line."""
    checks = [step for step in work.checks if step.what not in skip]
    for step in _still_failing(checks)[-_MAX_FAILING:]:
        why = f": {shorten(step.error, limit=_ERROR_CHARS)}" if step.error else ""
        yield f"Last run of `{command_of(step)}` failed {time_of(step)}{why}"
    passed = [step for step in checks if step.ok][-_MAX_CHECKS:]
    if passed:
        since = " (files were edited since)" if work.edits_since > passed[-1].at_ms else ""
        told = ", ".join(f"`{command_of(step)}` passed {time_of(step)}" for step in passed)
        yield f"Checks: {told}{since}"


def _still_failing(checks: Sequence[SessionStep]) -> list[SessionStep]:
    """Failed checks that no later one of the same purpose made good. A check that could not run
    says nothing about the work."""
    return [
        step
        for number, step in enumerate(checks)
        if not step.ok
        and not (step.error and is_setup_cause(step.error))
        and not any(later.ok and later.purpose == step.purpose for later in checks[number + 1 :])
    ]


# -- Other sessions -------------------------------------------------------------------------------


def _foreign(last: OpenEnds, others: Sequence[OpenEnds], at: Situation) -> Iterator[str]:
    """Files in the tree that other sessions changed, and sessions at work right now."""
    beside = [one for one in others if _is_same_tree(one, at)]
    mine = set(last.edited)
    for work in beside:
        if _is_running(work, at) and work.edited:
            yield (
                f"Another session is at work here ({period(work.session, at.now)}): not yours are"
                f" {files_of(work.edited, most=_MAX_FOREIGN)}"
            )
    if at.tree is None:
        for work in beside:
            left = [path for path in work.uncommitted if path not in mine]
            if left and _overlap(work, last) and not _is_running(work, at):
                yield (
                    f"A parallel session ({period(work.session, at.now)}) left uncommitted, not"
                    f" yours: {files_of(left, most=_MAX_FOREIGN)}"
                )
        return
    owner = editors([one for one in beside if not _is_running(one, at)])
    running = {path for one in beside if _is_running(one, at) for path in one.edited}
    dirty = dict.fromkeys((*at.tree.staged, *at.tree.changed))
    left = [path for path in dirty if path not in mine and path not in running]
    theirs = [path for path in left if path in owner]
    if theirs:
        yield f"Not committed by other sessions: {files_of(theirs, most=_MAX_FOREIGN)}"
    unknown = [path for path in left if path not in owner]
    if unknown:
        yield f"Changed outside these sessions: {files_of(unknown, most=_MAX_FOREIGN)}"


def _is_running(work: OpenEnds, at: Situation) -> bool:
    """Whether a session that hooks capture is still at work; a transcript does not tell."""
    return (
        work.state.captured_from is not None
        and work.session.is_open
        and at.now - work.session.last_event_at <= _RUNNING_WITHIN
    )


def is_team_starting(sessions: Sequence[SessionRecord], *, at: Situation) -> bool:
    """Whether team-mates' sessions began just now: the one that starts is of the same team, and its
    brief says what it needs."""
    return any(
        open_ends(one).is_team
        for one in sessions
        if one.id != at.current
        and at.now - one.started_at <= _TEAM_WITHIN
        and at.now - one.last_event_at <= _TEAM_WITHIN
    )


def _overlap(one: OpenEnds, other: OpenEnds) -> bool:
    return one.session.started_at < ended(other) and other.session.started_at < ended(one)


def _is_same_tree(work: OpenEnds, at: Situation) -> bool:
    """Whether a session worked in this folder; unknown counts as yes."""
    if at.root is None or work.session.cwd is None:
        return True
    roots = work.state.roots or (work.session.cwd,)
    return any(_plain(one) == _plain(at.root) for one in roots) or _plain(
        work.session.cwd
    ).startswith(f"{_plain(at.root)}/")


def _plain(folder: str) -> str:
    return folder.replace("\\", "/").rstrip("/")


# -- Earlier work ---------------------------------------------------------------------------------


def _earlier(
    last: OpenEnds,
    works: Sequence[OpenEnds],
    notes: Sequence[WorkNote],
    *,
    at: Situation,
    limits: Limits,
) -> Iterator[str]:
    """Older work, one line for each day, with what it costs to read more."""
    days: dict[str, list[str]] = {}
    cited: list[WorkNote] = []
    # What is committed also stands in git's log; what is not stands nowhere else.
    committed = max(_MAX_COMMITTED, limits.sessions - _UNCOMMITTED_ROOM)
    for work in [one for one in works if _belongs(one, last)]:
        mine = [one for one in notes if one.session == work.session.id]
        if any(one.commit for one in mine):
            committed -= 1
            if committed < 0:
                continue
        told = _told(work, mine, room=limits.observations - len(cited))
        cited += [one for one in mine if one.cite and one.cite in told]
        if told:
            days.setdefault(day_of(ended(work), at.now), []).append(f"{ended(work):%H:%M} {told}")
    for day, told in days.items():
        yield f"Earlier {day}: {'; '.join(told)}"
    if len(cited) >= _MIN_CITED:
        tokens = sum(one.read_tokens for one in cited)
        yield f"To read these {len(cited)} records by id takes ~{tokens} tokens"


def _belongs(work: OpenEnds, last: OpenEnds) -> bool:
    """Whether earlier work still says where work stands: shortly before, or on the same branch."""
    branch = work.session.branch
    is_line = branch is not None and branch not in _TRUNKS and branch == last.session.branch
    return abs(ended(last) - ended(work)) <= (_EARLIER_ON_BRANCH if is_line else _EARLIER_WITHIN)


def _told(work: OpenEnds, notes: Sequence[WorkNote], *, room: int) -> str:
    """The last commit of a session, else what was noted or asked."""
    commits = [one for one in notes if one.commit]
    if commits:
        last = commits[-1]
        more = f" (+{len(commits) - 1})" if len(commits) > 1 else ""
        return f"{short_subject(last.title)} {(last.commit or '')[:_SHA_CHARS]}{more}"
    decided = [one for one in notes if one.kind == "decision"][-1:] if room > 0 else []
    noted = decided or ([] if work.requests or room <= 0 else list(notes[-1:]))
    what = noted[0].title if noted else next(filter(None, work.requests), "")
    cite = f" {noted[0].cite}" if noted and noted[0].cite else ""
    return f"{short_subject(what)}{cite}" if len(content_words(what)) > 1 else ""


def _commits_by_session(notes: Sequence[WorkNote]) -> Mapping[str, list[WorkNote]]:
    found: dict[str, list[WorkNote]] = {}
    for one in sorted(notes, key=lambda note: note.at):
        if one.commit:
            found.setdefault(one.session, []).append(one)
    return found

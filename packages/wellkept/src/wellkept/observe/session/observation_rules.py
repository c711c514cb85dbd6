"""Rules that turn work into observations, one function for each kind.

Invariant: an observation takes the tokens and files read since the one before it, so together they
account for the whole session exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from wellkept.core.payloads import Observation
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.observe.session.change_titles import change_head, is_named, mostly_new
from wellkept.observe.session.edits import combined
from wellkept.observe.session.keywords import concepts_of
from wellkept.observe.session.state import (
    AgentWork,
    FileChange,
    OpenFailure,
    ReportedChange,
    joined,
)
from wellkept.observe.session.titles import (
    change_fact,
    change_title,
    changed_names,
    listed,
    title,
)
from wellkept.text.events.commit_messages import commit_points, says_something
from wellkept.text.shell.reader import ParsedCommit, ShellCommand
from wellkept.text.shell.results import short_test_name

Kind: TypeAlias = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
MAX_SEPARATE_FILES = 6
MORE_WITHIN_PROMPTS = 5
MAX_REPORTED = 16
_COMMIT_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"^(?:fix|bugfix|hotfix)\b|\bfix(?:es|ed)?\b", re.I), "bugfix"),
    (
        re.compile(r"^(?:feat|feature)\b|^(?:add|implement|introduce|support|allow)\b", re.I),
        "feature",
    ),
    (
        re.compile(
            r"^(?:refactor|perf|style)\b|^(?:rename|move|extract|simplif|split|clean|tidy|inline)",
            re.I,
        ),
        "refactor",
    ),
)


@record
class PromptContext:
    """The prompt that an observation belongs to, and where git stood."""

    intent: Literal["fix", "feature", "refactor", "other"]
    prompt_number: int
    request: str | None
    branch: str | None = None
    commit: str | None = None


@record
class ObservationNote:
    """An observation to store, its cost in tokens and its importance.

    With a `key` it replaces the observation of that key, whose title was `earlier_title`.
    """

    observation: Observation
    tokens: int
    importance: float = 0.5
    key: str | None = None
    earlier_tokens: int = 0
    earlier_title: str | None = None


def change_notes(
    work: AgentWork, changes: Sequence[FileChange], *, prompt: PromptContext
) -> tuple[AgentWork, tuple[ObservationNote, ...]]:
    """Observations for file changes: one for each file with named changes, and together those of
    which only the lines are known; one for very many files."""
    notes: list[ObservationNote] = []
    groups = _grouped(changes)
    if len(groups) > MAX_SEPARATE_FILES:
        groups = [list(changes)]
    named = [group for group in groups if is_named(_leading(group))]
    unnamed = [change for group in groups if group not in named for change in group]
    for group in [*named, *([unnamed] if unnamed else [])]:
        work, note = _change_note(work, group, prompt=prompt)
        notes.append(note)
    return work, tuple(notes)


def fix_note(
    work: AgentWork,
    failure: OpenFailure,
    changes: tuple[FileChange, ...],
    *,
    verified: str,
    prompt: PromptContext,
) -> tuple[AgentWork, ObservationNote]:
    """A failure that edits fixed. New tests that failed first make it a feature, not a fix."""
    short = [short_test_name(name) for name in failure.names]
    new_tests = {n.rsplit(".", 1)[-1] for w in work.changes if w.kind == "test" for n in w.added}
    is_new = bool(short) and all(name.split("[")[0] in new_tests for name in short)
    code = tuple(w for w in changes if w.kind not in ("test", "document")) or changes
    facts = [
        *(f"Failed before: {name}" for name in failure.names[:4]),
        *([f"Error: {failure.error}"] if failure.error else ()),
        *(change_fact(w) for w in changes[:6]),
        f"Verified by {verified}",
        *([f"It took {failure.attempts} failing runs"] if failure.attempts > 2 else ()),
    ]
    if is_new:
        reported = work.changes
        head, kind = change_title(_leading(code)), "feature"
        facts = [
            *(change_fact(w) for w in reported[:6]),
            f"Tests: {listed(short, most=4)}",
            facts[-1],
        ]
    else:
        reported, kind = changes, "bugfix"
        head = f"Fix {_failing_thing(failure)} by changing {changed_names(code)}"
    narrative = _narrative(
        prompt,
        f"{failure.command} failed"
        + (f" with {failure.error.rstrip('.')}." if failure.error else ".")
        + f" After work on {changed_names(changes)} it passes.",
    )
    return _note(
        work, reported, prompt=prompt, kind=kind, head=head, subtitle=failure.error,
        facts=facts, narrative=narrative, importance=0.6,
    )  # fmt: skip


def variant_note(
    work: AgentWork, failure: OpenFailure, worked: str | None, *, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A command that changes another way, or once another command was command before it."""
    helped = worked or failure.commands_since[-1]
    said = _quoted(failure.command)
    head = (
        f"{said} fails; {_quoted(helped)} works"
        if worked
        else f"{said} needs {_quoted(helped)} first"
    )
    facts = [
        f"Fails: {failure.command}",
        *([f"Error: {failure.error}"] if failure.error else ()),
        f"Works: {worked}" if worked else f"Helped: {'; '.join(failure.commands_since)}",
    ]
    return _note(
        work, (), prompt=prompt, kind="discovery", head=head, subtitle=failure.error,
        facts=facts, narrative=_narrative(prompt, ""), importance=0.55, extra="error fix",
    )  # fmt: skip


def flaky_note(
    work: AgentWork, failure: OpenFailure, *, verified: str, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A test that failed and passed again without a change."""
    head = f"{_failing_thing(failure)} failed once and passed again without a change"
    facts = [f"Failed: {name}" for name in failure.names[:4]]
    facts += [f"Error: {failure.error}"] if failure.error else []
    return _note(
        work, (), prompt=prompt, kind="discovery", head=head, subtitle=failure.error,
        facts=[*facts, f"Passed: {verified}"], narrative=None, importance=0.45, extra="flaky test",
    )  # fmt: skip


def unsolved_note(
    work: AgentWork, failure: OpenFailure, *, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A failure that was still open when the turn ended."""
    what = _failing_thing(failure) if failure.names else _quoted(failure.command)
    verb = "fail" if len(failure.names) > 1 else "fails"
    head = f"{what} {verb}"
    head += f": {failure.error}" if failure.error else ""
    facts = [f"Command: {failure.command}", *(f"Fails: {name}" for name in failure.names[:6])]
    return _note(
        work, (), prompt=prompt, kind="discovery", head=head, subtitle=failure.error,
        facts=facts, narrative=_narrative(prompt, "It was not solved in this turn."),
        importance=0.45, extra="unsolved",
    )  # fmt: skip


def commit_note(
    work: AgentWork, commit: ParsedCommit, *, files: tuple[str, ...], prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A commit: the best evidence of what was done."""
    body = commit_points(commit.body)
    facts = [*body[:6], *(change_fact(w) for w in work.changes[:8])]
    if work.verified_by:
        facts.append(f"Verified by {work.verified_by}")
    prompt = replace(
        prompt, branch=commit.branch or prompt.branch, commit=commit.sha or prompt.commit
    )
    paths = files or tuple(dict.fromkeys((*(w.path for w in work.changes), *commit.files)))
    return _note(
        work, work.changes, prompt=prompt, kind=commit_kind(commit.subject), head=commit.subject,
        subtitle=f"Commit {commit.sha}" if commit.sha else "Commit",
        facts=facts, narrative=_narrative(prompt, ""),
        importance=0.65 if says_something(commit.subject, commit.body) else 0.3,
        modified=paths[:40], extra="commit",
    )  # fmt: skip


def install_note(
    work: AgentWork, command: ShellCommand, names: Sequence[str], *, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """Packages that were added."""
    tool = command.words[0] if not command.words[0].startswith("python") else "pip"
    return _note(
        work, (), prompt=prompt, kind="change", head=f"Install {listed(names, most=4)} with {tool}",
        subtitle=None, facts=[f"Command: {shorten(command.call, limit=200)}"],
        narrative=_narrative(prompt, ""), importance=0.4, extra="dependencies install",
    )  # fmt: skip


def migration_note(
    work: AgentWork, command: ShellCommand, *, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A database migration that was created or run."""
    making = re.search(r"makemigrations|revision|generate|migrate dev|migrations add", command.call)
    head = f"{'Create' if making else 'Run'} database migration: {shorten(command.call, limit=60)}"
    return _note(
        work, (), prompt=prompt, kind="change", head=head, subtitle=None,
        facts=[f"Command: {shorten(command.call, limit=200)}"], narrative=_narrative(prompt, ""),
        importance=0.45, extra="database migration",
    )  # fmt: skip


def decision_note(
    work: AgentWork, sentence: str, *, said_by: str, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """A decision, in its original words."""
    return _note(
        work, (), prompt=prompt, kind="decision", head=sentence, subtitle=f"Said by {said_by}",
        facts=[shorten(sentence, limit=400)], narrative=_narrative(prompt, ""), importance=0.6,
        extra="decision",
    )  # fmt: skip


def commit_kind(subject: str) -> Kind:
    """The kind of change that a commit message describes."""
    for rule, kind in _COMMIT_KINDS:
        if rule.search(subject):
            return kind
    return "change"


# -- Parts ----------------------------------------------------------------------------------------


def _change_note(
    work: AgentWork, changes: list[FileChange], *, prompt: PromptContext
) -> tuple[AgentWork, ObservationNote]:
    """Changes to one file with its tests, or to very many. Work that goes on soon after it
    was reported updates that observation under the same key."""
    together = len(changes) > 1 and not is_named(_leading(changes))
    many = together or len(changes) > MAX_SEPARATE_FILES
    kind = _change_kind(changes, prompt, many=many)
    earlier = None if many else _reported_before(work, _leading(changes), kind, prompt)
    whole = [
        combined(earlier.change, w) if earlier and earlier.change.path == w.path else w
        for w in changes
    ]
    lead = _leading(whole)
    if earlier is not None:
        work = replace(work, files_read=joined(earlier.files_read, work.files_read))
    read = work.files_read
    head = change_head(lead, whole, prompt.request, many=many)
    facts = [change_fact(w) for w in whole[:12]]
    if work.verified_by:
        facts.append(f"Verified by {work.verified_by}")
    work, note = _note(
        work, changes, prompt=prompt, kind=kind,
        head=head, subtitle=prompt.request, facts=facts,
        narrative=_narrative(prompt, ""), importance=0.5,
    )  # fmt: skip
    if many:
        return work, note
    key = earlier.key if earlier else f"{work.agent or ''}:{lead.first_step}:{lead.path}"[:250]
    spent = earlier.tokens if earlier else 0
    began = earlier.prompt_number if earlier else prompt.prompt_number
    head = note.observation.title
    reported = ReportedChange(key, head, kind, began, lead, spent + note.tokens, read)
    others = tuple(t for t in work.reported if t.key != key)
    work = replace(work, reported=(*others, reported)[-MAX_REPORTED:])
    before = earlier.title if earlier else None
    return work, replace(note, key=key, earlier_tokens=spent, earlier_title=before)


def _reported_before(
    work: AgentWork, change: FileChange, kind: Kind, prompt: PromptContext
) -> ReportedChange | None:
    """A recent observation of the same kind of change to the same file."""
    since = prompt.prompt_number - MORE_WITHIN_PROMPTS
    for reported in work.reported:
        if (reported.change.path, reported.kind) == (
            change.path,
            kind,
        ) and reported.prompt_number >= since:
            return reported
    return None


def _change_kind(changes: Sequence[FileChange], prompt: PromptContext, *, many: bool) -> Kind:
    change = _leading(changes)
    if change.moved_from or (change.renamed and not change.added):
        return "refactor"
    if change.kind != "code":
        return "change"
    if prompt.intent == "fix":
        return "bugfix"
    if prompt.intent == "refactor":
        return "refactor"
    if many:
        return "feature" if mostly_new(changes) else "change"
    return "feature" if change.created or change.added else "change"


def _note(
    work: AgentWork,
    changes: Sequence[FileChange],
    *,
    prompt: PromptContext,
    kind: Kind,
    head: str,
    subtitle: str | None,
    facts: Sequence[str],
    narrative: str | None,
    importance: float,
    modified: tuple[str, ...] = (),
    extra: str = "",
) -> tuple[AgentWork, ObservationNote]:
    """The note, and the work that is left without it."""
    paths = modified or tuple(w.path for w in changes)
    names = " ".join(name for w in changes for name in (*w.added, *w.changed))
    observation = Observation(
        kind=kind,
        title=title(head),
        subtitle=shorten(subtitle, limit=160) if subtitle else None,
        facts=tuple(shorten(" ".join(f.split()), limit=300) for f in facts),
        narrative=None if _is_said_twice(narrative, subtitle) else narrative or None,
        concepts=concepts_of(f"{head} {names} {extra}", paths),
        files_read=work.files_read,
        files_modified=paths,
        prompt_number=prompt.prompt_number or None,
        branch=prompt.branch,
        commit=prompt.commit,
        agent=work.agent,
    )
    tokens = work.tokens + sum(w.tokens for w in changes)
    reported = {w.path for w in changes}
    rest = tuple(w for w in work.changes if w.path not in reported)
    # A commit or a fix settles its files: later changes get an observation of their own.
    is_settled = subtitle is not None and subtitle != prompt.request
    still_open = tuple(t for t in work.reported if not (is_settled and t.change.path in reported))
    work = replace(work, tokens=0, files_read=(), searches=(), changes=rest, reported=still_open)
    return work, ObservationNote(observation, tokens, importance)


def _narrative(prompt: PromptContext, text: str) -> str | None:
    asked = f'Asked: "{prompt.request}".' if prompt.request else ""
    return " ".join(part for part in (asked, text.strip()) if part) or None


def _is_said_twice(narrative: str | None, subtitle: str | None) -> bool:
    """Whether a narrative only repeats the request that is the subtitle."""
    return subtitle is not None and narrative == f'Asked: "{subtitle}".'


def _grouped(changes: Sequence[FileChange]) -> list[list[FileChange]]:
    """Each file for itself, but a test together with what it tests."""
    groups = [[w] for w in changes if w.kind != "test"]
    for test in (w for w in changes if w.kind == "test"):
        stem = PurePosixPath(test.path).stem.lower()
        home = next((g for g in groups if _stem(g[0]) and _stem(g[0]) in stem), None)
        if home is not None:
            home.append(test)
        else:
            groups.append([test])
    return groups


def _stem(change: FileChange) -> str:
    stem = PurePosixPath(change.path).stem.lower()
    return stem if change.kind == "code" and len(stem) > 2 else ""


def _leading(changes: Sequence[FileChange]) -> FileChange:
    """The change that a group is named after."""
    rank = {"code": 0, "config": 1, "other": 2, "test": 3, "document": 4}
    return min(changes, key=lambda w: (rank[w.kind], -len(w.added) - len(w.changed), -w.lines))


def _failing_thing(failure: OpenFailure) -> str:
    if failure.names:
        names = [short_test_name(name) for name in failure.names]
        shown = 2 if sum(map(len, names[:2])) <= 60 else 1
        return listed([f'"{name}"' if " " in name else name for name in names], most=shown)
    if failure.error:
        return shorten(failure.error, limit=50)
    return "the tests" if failure.is_test else failure.subject


def _quoted(command: str) -> str:
    return f"`{shorten(' '.join(command.split()), limit=42)}`"

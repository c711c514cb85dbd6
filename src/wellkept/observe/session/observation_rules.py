"""Observations from what was gathered: each rule turns a piece of work into one record.

Invariant: an observation takes along the tokens and the files read since the one before it, so that
together they account for the whole session once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from wellkept.core.payloads import Observation
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.observe.reading.command_results import short_test_name
from wellkept.observe.reading.shell import ParsedCommit, ShellCommand
from wellkept.observe.session.edits import combined
from wellkept.observe.session.keywords import concepts_of
from wellkept.observe.session.state import AgentTrace, Failure, FileWork, ReportedWork, joined
from wellkept.observe.session.titles import base, listed, places, title, work_fact, work_title

Kind: TypeAlias = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
MAX_SEPARATE_FILES = 6
MORE_WITHIN_PROMPTS = 5
MAX_TOLD = 16
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
    """What an observation is set in."""

    intent: Literal["fix", "feature", "refactor", "other"]
    prompt_number: int
    request: str | None
    branch: str | None = None
    commit: str | None = None


@record
class Note:
    """An observation to be kept, what it cost to find out, and how much it matters.

    Under a key it may say more of something that was told before by an earlier title.
    """

    observation: Observation
    tokens: int
    importance: float = 0.5
    key: str | None = None
    earlier_tokens: int = 0
    earlier_title: str | None = None


def works_notes(
    thread: AgentTrace, works: Sequence[FileWork], *, scene: PromptContext
) -> tuple[AgentTrace, tuple[Note, ...]]:
    """Work on files told as it is: one observation for each file, a few for very many."""
    notes: list[Note] = []
    groups = _grouped(works)
    if len(groups) > MAX_SEPARATE_FILES:
        groups = [list(works)]
    for group in groups:
        thread, note = _work_note(thread, group, scene=scene)
        notes.append(note)
    return thread, tuple(notes)


def fix_note(
    thread: AgentTrace,
    failure: Failure,
    works: tuple[FileWork, ...],
    *,
    verified: str,
    scene: PromptContext,
) -> tuple[AgentTrace, Note]:
    """A failure that edits ended. Tests that were written first make it a feature, not a fix."""
    short = [short_test_name(name) for name in failure.names]
    new_tests = {n.rsplit(".", 1)[-1] for w in thread.works if w.kind == "test" for n in w.added}
    is_new = bool(short) and all(name.split("[")[0] in new_tests for name in short)
    code = tuple(w for w in works if w.kind not in ("test", "document")) or works
    facts = [
        *(f"Failed before: {name}" for name in failure.names[:4]),
        *([f"Error: {failure.error}"] if failure.error else ()),
        *(work_fact(w) for w in works[:6]),
        f"Verified by {verified}",
        *([f"It took {failure.attempts} failing runs"] if failure.attempts > 2 else ()),
    ]
    if is_new:
        told = thread.works
        head, kind = work_title(_leading(code)), "feature"
        facts = [*(work_fact(w) for w in told[:6]), f"Tests: {listed(short, most=4)}", facts[-1]]
    else:
        told, kind = works, "bugfix"
        head = f"Fix {_failing_thing(failure)} by changing {places(code)}"
    narrative = _narrative(
        scene,
        f"{failure.command} failed"
        + (f" with {failure.error.rstrip('.')}." if failure.error else ".")
        + f" After work on {places(works)} it passes.",
    )
    return _note(
        thread, told, scene=scene, kind=kind, head=head, subtitle=failure.error,
        facts=facts, narrative=narrative, importance=0.6,
    )  # fmt: skip


def variant_note(
    thread: AgentTrace, failure: Failure, worked: str | None, *, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A command that works another way, or once another command was run before it."""
    helped = worked or failure.between[-1]
    said = _quoted(failure.command)
    head = (
        f"{said} fails; {_quoted(helped)} works"
        if worked
        else f"{said} needs {_quoted(helped)} first"
    )
    facts = [
        f"Fails: {failure.command}",
        *([f"Error: {failure.error}"] if failure.error else ()),
        f"Works: {worked}" if worked else f"Helped: {'; '.join(failure.between)}",
    ]
    return _note(
        thread, (), scene=scene, kind="discovery", head=head, subtitle=failure.error,
        facts=facts, narrative=_narrative(scene, ""), importance=0.55, extra="error fix",
    )  # fmt: skip


def flaky_note(
    thread: AgentTrace, failure: Failure, *, verified: str, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A test that failed and passed again although nothing was changed."""
    head = f"{_failing_thing(failure)} failed once and passed again without a change"
    facts = [f"Failed: {name}" for name in failure.names[:4]]
    facts += [f"Error: {failure.error}"] if failure.error else []
    return _note(
        thread, (), scene=scene, kind="discovery", head=head, subtitle=failure.error,
        facts=[*facts, f"Passed: {verified}"], narrative=None, importance=0.45, extra="flaky test",
    )  # fmt: skip


def unsolved_note(
    thread: AgentTrace, failure: Failure, *, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A failure that was still there when the turn ended."""
    what = _failing_thing(failure) if failure.names else _quoted(failure.command)
    verb = "fail" if len(failure.names) > 1 else "fails"
    head = f"{what} {verb}"
    head += f": {failure.error}" if failure.error else ""
    facts = [f"Command: {failure.command}", *(f"Fails: {name}" for name in failure.names[:6])]
    return _note(
        thread, (), scene=scene, kind="discovery", head=head, subtitle=failure.error,
        facts=facts, narrative=_narrative(scene, "It was not solved in this turn."),
        importance=0.45, extra="unsolved",
    )  # fmt: skip


def commit_note(
    thread: AgentTrace, made: ParsedCommit, *, files: tuple[str, ...], scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A commit that the agent made: the strongest word on what was done."""
    body = [line.strip(" -*") for line in made.body.splitlines() if line.strip(" -*")]
    body = [line for line in body if not re.match(r"[A-Z][\w-]*-by: |🤖", line)]
    facts = [*body[:5], *(work_fact(w) for w in thread.works[:8])]
    if thread.verified_by:
        facts.append(f"Verified by {thread.verified_by}")
    scene = replace(scene, branch=made.branch or scene.branch, commit=made.sha or scene.commit)
    paths = files or tuple(dict.fromkeys((*(w.path for w in thread.works), *made.files)))
    return _note(
        thread, thread.works, scene=scene, kind=commit_kind(made.subject), head=made.subject,
        subtitle=f"Commit {made.sha}" if made.sha else "Commit",
        facts=facts, narrative=_narrative(scene, shorten(made.body, limit=600)), importance=0.65,
        modified=paths[:40], extra="commit",
    )  # fmt: skip


def install_note(
    thread: AgentTrace, run: ShellCommand, names: Sequence[str], *, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """Packages that were added."""
    tool = run.words[0] if not run.words[0].startswith("python") else "pip"
    return _note(
        thread, (), scene=scene, kind="change", head=f"Install {listed(names, most=4)} with {tool}",
        subtitle=None, facts=[f"Command: {shorten(run.call, limit=200)}"],
        narrative=_narrative(scene, ""), importance=0.4, extra="dependencies install",
    )  # fmt: skip


def migration_note(
    thread: AgentTrace, run: ShellCommand, *, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A database migration that was made or run."""
    making = re.search(r"makemigrations|revision|generate|migrate dev|migrations add", run.call)
    head = f"{'Create' if making else 'Run'} database migration: {shorten(run.call, limit=60)}"
    return _note(
        thread, (), scene=scene, kind="change", head=head, subtitle=None,
        facts=[f"Command: {shorten(run.call, limit=200)}"], narrative=_narrative(scene, ""),
        importance=0.45, extra="database migration",
    )  # fmt: skip


def decision_note(
    thread: AgentTrace, sentence: str, *, said_by: str, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """A choice that was made, in the words it was made in."""
    return _note(
        thread, (), scene=scene, kind="decision", head=sentence, subtitle=f"Said by {said_by}",
        facts=[shorten(sentence, limit=400)], narrative=_narrative(scene, ""), importance=0.6,
        extra="decision",
    )  # fmt: skip


def commit_kind(subject: str) -> Kind:
    """What sort of change a commit message speaks of."""
    for rule, kind in _COMMIT_KINDS:
        if rule.search(subject):
            return kind
    return "change"


# -- Parts ----------------------------------------------------------------------------------------


def _work_note(
    thread: AgentTrace, works: list[FileWork], *, scene: PromptContext
) -> tuple[AgentTrace, Note]:
    """Work on one file, with its tests, or on very many. Work on a file that goes on soon after it
    was told is told again as a whole under the same key."""
    many = len(works) > MAX_SEPARATE_FILES
    kind = _work_kind(works, scene, many=many)
    earlier = None if many else _told_before(thread, _leading(works), kind, scene)
    whole = [
        combined(earlier.work, w) if earlier and earlier.work.path == w.path else w for w in works
    ]
    lead = _leading(whole)
    if earlier is not None:
        thread = replace(thread, files_read=joined(earlier.files_read, thread.files_read))
    read = thread.files_read
    facts = [work_fact(w) for w in whole[:12]]
    if thread.verified_by:
        facts.append(f"Verified by {thread.verified_by}")
    thread, note = _note(
        thread, works, scene=scene, kind=kind,
        head=_work_head(lead, whole, many=many), subtitle=scene.request, facts=facts,
        narrative=_narrative(scene, ""), importance=0.5,
    )  # fmt: skip
    if many:
        return thread, note
    key = earlier.key if earlier else f"{thread.agent or ''}:{lead.first_step}:{lead.path}"[:250]
    spent = earlier.tokens if earlier else 0
    began = earlier.prompt_number if earlier else scene.prompt_number
    head = note.observation.title
    told = ReportedWork(key, head, kind, began, lead, spent + note.tokens, read)
    others = tuple(t for t in thread.told if t.key != key)
    thread = replace(thread, told=(*others, told)[-MAX_TOLD:])
    before = earlier.title if earlier else None
    return thread, replace(note, key=key, earlier_tokens=spent, earlier_title=before)


def _told_before(
    thread: AgentTrace, work: FileWork, kind: Kind, scene: PromptContext
) -> ReportedWork | None:
    """What was told of the same kind of work on the same file not long ago."""
    since = scene.prompt_number - MORE_WITHIN_PROMPTS
    for told in thread.told:
        if (told.work.path, told.kind) == (work.path, kind) and told.prompt_number >= since:
            return told
    return None


def _work_head(lead: FileWork, works: Sequence[FileWork], *, many: bool) -> str:
    if many:
        verb = "Create" if _mostly_new(works) else "Change"
        return f"{verb} {len(works)} files {_common_folder(works)}"
    head = work_title(lead)
    tested = lead.kind != "test" and any(w.kind == "test" for w in works)
    return f"{head}, with tests" if tested and len(head) < 86 else head


def _work_kind(works: Sequence[FileWork], scene: PromptContext, *, many: bool) -> Kind:
    work = _leading(works)
    if work.moved_from or (work.renamed and not work.added):
        return "refactor"
    if work.kind != "code":
        return "change"
    if scene.intent == "fix":
        return "bugfix"
    if scene.intent == "refactor":
        return "refactor"
    if many:
        return "feature" if _mostly_new(works) else "change"
    return "feature" if work.created or work.added else "change"


def _note(
    thread: AgentTrace,
    works: Sequence[FileWork],
    *,
    scene: PromptContext,
    kind: Kind,
    head: str,
    subtitle: str | None,
    facts: Sequence[str],
    narrative: str | None,
    importance: float,
    modified: tuple[str, ...] = (),
    extra: str = "",
) -> tuple[AgentTrace, Note]:
    """The note, and the thread without what went into it."""
    paths = modified or tuple(w.path for w in works)
    names = " ".join(name for w in works for name in (*w.added, *w.changed))
    observation = Observation(
        kind=kind,
        title=title(head),
        subtitle=shorten(subtitle, limit=160) if subtitle else None,
        facts=tuple(shorten(" ".join(f.split()), limit=300) for f in facts),
        narrative=narrative or None,
        concepts=concepts_of(f"{head} {names} {extra}", paths),
        files_read=thread.files_read,
        files_modified=paths,
        prompt_number=scene.prompt_number or None,
        branch=scene.branch,
        commit=scene.commit,
        agent=thread.agent,
    )
    tokens = thread.tokens + sum(w.tokens for w in works)
    told = {w.path for w in works}
    rest = tuple(w for w in thread.works if w.path not in told)
    # What a commit or a fix spoke for is settled; later work on it is another matter.
    is_settled = subtitle is not None and subtitle != scene.request
    open_told = tuple(t for t in thread.told if not (is_settled and t.work.path in told))
    thread = replace(thread, tokens=0, files_read=(), searches=(), works=rest, told=open_told)
    return thread, Note(observation, tokens, importance)


def _narrative(scene: PromptContext, text: str) -> str | None:
    asked = f'Asked: "{scene.request}".' if scene.request else ""
    return " ".join(part for part in (asked, text.strip()) if part) or None


def _grouped(works: Sequence[FileWork]) -> list[list[FileWork]]:
    """Each file for itself, but a test together with what it tests."""
    groups = [[w] for w in works if w.kind != "test"]
    for test in (w for w in works if w.kind == "test"):
        stem = PurePosixPath(test.path).stem.lower()
        home = next((g for g in groups if _stem(g[0]) and _stem(g[0]) in stem), None)
        if home is not None:
            home.append(test)
        else:
            groups.append([test])
    return groups


def _stem(work: FileWork) -> str:
    stem = PurePosixPath(work.path).stem.lower()
    return stem if work.kind == "code" and len(stem) > 2 else ""


def _leading(works: Sequence[FileWork]) -> FileWork:
    """The piece of work that a group is named after."""
    rank = {"code": 0, "config": 1, "other": 2, "test": 3, "document": 4}
    return min(works, key=lambda w: (rank[w.kind], -len(w.added) - len(w.changed), -w.lines))


def _mostly_new(works: Sequence[FileWork]) -> bool:
    return sum(work.created for work in works) * 2 > len(works)


def _common_folder(works: Sequence[FileWork]) -> str:
    folders = [PurePosixPath(w.path).parent.parts for w in works]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return f"in {'/'.join(shared)}" if shared else f"({listed([base(w.path) for w in works])})"


def _failing_thing(failure: Failure) -> str:
    if failure.names:
        names = [short_test_name(name) for name in failure.names]
        shown = 2 if sum(map(len, names[:2])) <= 60 else 1
        return listed([f'"{name}"' if " " in name else name for name in names], most=shown)
    if failure.error:
        return shorten(failure.error, limit=50)
    return "the tests" if failure.is_test else failure.subject


def _quoted(command: str) -> str:
    return f"`{shorten(' '.join(command.split()), limit=42)}`"

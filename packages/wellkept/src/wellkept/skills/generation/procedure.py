"""Extracts the procedure of a session from its steps: what worked, and the pitfalls.

Reverted edits and failed commands are dropped; a command that failed and worked later is a pitfall
with its fix. Consecutive edits are one step, a repeated command counts where it ran last, and files
become patterns.

Invariant: the same steps always give the same procedure. Knows nothing of how it is worded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.session.steps import SessionStep, StepPurpose

_HOME: Final = re.compile(
    r"(?:/mnt)?(?:/[a-z])?/(?:home|Users)/[^/\s'\"`:;,()]+|/root(?=[/\s'\"`:;,)]|$)"
    r"|\b[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s'\"`:;,()]+",
    re.IGNORECASE,
)


@record(kw_only=True)
class SessionHistory:
    """One session: requests, steps, and ids to cite.

    `prompts` are the user's messages in order; a step's `prompt` counts from 1 in them.
    `is_commit_lost` means that no branch contains its last commit.
    """

    session_id: str
    title: str | None = None
    prompts: tuple[str, ...] = ()
    steps: tuple[SessionStep, ...] = ()
    files_read: tuple[str, ...] = ()
    tool_count: int = 0
    is_open: bool = False
    commit_sha: str | None = None
    is_commit_lost: bool = False
    observation_ids: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


def portable(text: str, *, roots: Iterable[str] = ()) -> str:
    """The text with the project's folder as `.` and home folders as `~`."""
    for root in sorted(roots, key=len, reverse=True):
        plain = root.replace("\\", "/").rstrip("/")
        for form in (plain, plain.replace("/", "\\")) if len(plain) > 1 else ():
            text = re.sub(rf"{re.escape(form)}(?:[\\/](?=[\w.])|(?![\w.-]))", _inside, text)
    return _HOME.sub("~", text)


def _inside(found: re.Match[str]) -> str:
    return "" if found.group()[-1] in "\\/" else "."


# -- The procedure --------------------------------------------------------------------------------


MAX_STEPS: Final = 15
MAX_PITFALLS: Final = 5
MAX_FILES_TO_READ: Final = 5
COMMIT_COMMAND: Final = 'git commit -m "<what changed and why>"'
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_GIT_BACK = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?P<verb>stash|checkout|restore|reset|revert|clean)\b(?P<rest>[^&|;]*)"
)
_SELECTS = re.compile(r"::|/|^tests$|\.(?:py|js|jsx|ts|tsx|rb|go|rs|java|kt|php|exs)\b")
_RUNNERS: Final = frozenset("python python3 uv poetry pipenv hatch pdm run exec npx".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_GLOB_CHARS: Final = frozenset("*?[]{}")
_EVERYTHING: Final = "."

StepAction: TypeAlias = Literal["look", "edit", "create", "run", "tool"]


@record(kw_only=True)
class ProcedureStep:
    """One step that worked. `files` are examples for `patterns`; `session_count` is the number of
    sessions with this step."""

    action: StepAction
    purpose: StepPurpose = "other"
    command: str | None = None
    patterns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    session_count: int = 1

    @property
    def key(self) -> str:
        """Equal for the same step in other sessions: the command, or the edited patterns."""
        if self.command is None:
            return f"{self.action}:{','.join(sorted(self.patterns))}"
        return f"{self.action}:{self.purpose}:{_subject_of(self.command, self.purpose)}"


@record
class Pitfall:
    """Something that failed, and its fix."""

    command: str
    error: str | None
    fix: str


@record(kw_only=True)
class Procedure:
    """The effective steps of a session, and its pitfalls."""

    steps: tuple[ProcedureStep, ...] = ()
    pitfalls: tuple[Pitfall, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """The edited files, as patterns."""
        return tuple(dict.fromkeys(p for step in self.steps for p in step.patterns))

    @property
    def has_several_steps(self) -> bool:
        """Whether there is more than one active step."""
        return sum(step.action != "look" for step in self.steps) > 1


def extract_procedure(history: SessionHistory) -> Procedure:
    """The effective steps and pitfalls of a session."""
    effective = effective_steps(history.steps)
    worked = [
        step for step in effective if step.ok and step.kind != "skill" and step.purpose != "look"
    ]
    steps = _grouped(_last_of_each(worked), roots=history.roots)
    if len(steps) > MAX_STEPS:
        # The end was verified; the beginning of a long session is often exploration.
        steps = steps[-MAX_STEPS:]
    return Procedure(
        steps=(*_reading(history), *steps), pitfalls=tuple(_pitfalls(history.steps, history.roots))
    )


def subject(step: SessionStep) -> str:
    """What a step is about; equal for a retry."""
    return _subject_of(step.what, step.purpose) if step.kind == "run" else step.what


def _subject_of(command: str, purpose: str) -> str:
    """Tests and checks are identified by their program; anything else by the whole line."""
    if purpose == "commit":
        return purpose
    return f"{purpose} {_program(command)}" if purpose in ("test", "check") else command


def covers(worked: SessionStep, failed: SessionStep) -> bool:
    """Whether a run proves that an earlier failure is fixed: same program, and at least as wide."""
    if subject(worked) != subject(failed):
        return False
    wide, narrow = _chosen(worked.what), _chosen(failed.what)
    if not narrow:
        return not wide or worked.purpose != "test"
    return not wide or all(any(one.startswith(w) for w in wide) for one in narrow)


def _chosen(command: str) -> list[str]:
    """The tests that a command line selects: files, folders, names."""
    return [word for word in _WORD.findall(command)[1:] if _SELECTS.search(word)]


# -- Reverted edits -------------------------------------------------------------------------------


def effective_steps(steps: Sequence[SessionStep]) -> list[SessionStep]:
    """The steps without those that were reverted later."""
    effective: list[SessionStep] = []
    for number, step in enumerate(steps):
        if step.kind == "run" and step.ok and (back := _GIT_BACK.search(step.what)):
            is_stashed = back["verb"] == "stash" and _is_unstashed(steps[number + 1 :])
            if not is_stashed and _drop_reverted(effective, back["verb"], back["rest"]):
                continue
        if step.is_edit and _changes_nothing(step):
            continue
        if step.is_edit and (start := _reverted_from(effective, step)) is not None:
            dropped = {id(s) for s in effective[start:] if s.is_edit and s.what == step.what}
            effective = [s for s in effective if id(s) not in dropped]
            continue
        effective.append(step)
    return effective


def _changes_nothing(step: SessionStep) -> bool:
    """Whether an edit leaves the text as it was."""
    before, _, after = step.mark.partition(">")
    return bool(after) and before == after


def _is_unstashed(later: Sequence[SessionStep]) -> bool:
    return any(re.search(r"\bgit\s+stash\s+(?:pop|apply)\b", step.what) for step in later)


def _drop_reverted(effective: list[SessionStep], verb: str, rest: str) -> bool:
    """Drop the steps that a git command reverted; returns whether there were any."""
    words = [word.strip("'\"") for word in rest.split()]
    if verb == "stash" and words[:1] not in ([], ["push"], ["save"], ["-u"]):
        return True
    if verb == "revert" or (verb == "reset" and any(w.startswith("HEAD~") for w in words)):
        return _drop_since(effective, _commit_before_last(effective))
    if verb == "stash" or (verb == "reset" and "--hard" in words):
        return _drop_since(effective, _last_commit(effective))
    if verb in ("checkout", "restore") and "--staged" not in words:
        has_dropped = _drop_files(effective, [w for w in words if not w.startswith("-")])
        return has_dropped or "--" in words
    return False


def _last_commit(effective: Sequence[SessionStep]) -> int:
    made = [n for n, step in enumerate(effective) if step.purpose == "commit" and step.ok]
    return made[-1] if made else -1


def _commit_before_last(effective: Sequence[SessionStep]) -> int:
    return _last_commit(effective[: max(0, _last_commit(effective))])


def _drop_since(effective: list[SessionStep], commit: int) -> bool:
    """Drop edits and commits after a commit; other commands stay."""
    effective[commit + 1 :] = [
        step for step in effective[commit + 1 :] if not step.is_edit and step.purpose != "commit"
    ]
    return True


def _drop_files(effective: list[SessionStep], names: Sequence[str]) -> bool:
    since = _last_commit(effective) + 1

    def is_named(step: SessionStep) -> bool:
        return step.is_edit and any(
            name in (_EVERYTHING, step.what) or step.what.startswith(f"{name.rstrip('/')}/")
            for name in names
        )

    rest = [step for step in effective[since:] if not is_named(step)]
    has_changed = len(rest) < len(effective) - since
    effective[since:] = rest
    return has_changed


def _reverted_from(effective: Sequence[SessionStep], step: SessionStep) -> int | None:
    """The index of the first edit that this edit reverts; None when it reverts none."""
    before, _, after = step.mark.partition(">")
    if not after:
        return None
    for number in range(len(effective) - 1, -1, -1):
        earlier = effective[number]
        if not (earlier.is_edit and earlier.what == step.what):
            continue
        began, _, ended = earlier.mark.partition(">")
        if ended != before:
            return None
        if began == after:
            return number
        before = began
    return None


# -- From steps to a procedure --------------------------------------------------------------------


def _last_of_each(steps: Sequence[SessionStep]) -> list[SessionStep]:
    """Each command and tool where it ran last; edits stay in place."""
    last = {_again(step): number for number, step in enumerate(steps) if not step.is_edit}
    return [
        step for number, step in enumerate(steps) if step.is_edit or last[_again(step)] == number
    ]


def _again(step: SessionStep) -> tuple[str, str, str]:
    return step.kind, step.purpose, subject(step)


def _grouped(steps: Sequence[SessionStep], *, roots: tuple[str, ...]) -> list[ProcedureStep]:
    """Consecutive edits become one step; a file counts where it was first written."""
    made: list[ProcedureStep] = []
    edits: list[SessionStep] = []
    written: set[str] = set()
    for step in steps:
        if step.is_edit:
            if step.what not in written:
                edits.append(step)
            written.add(step.what)
            continue
        made += _edit_steps(edits)
        edits = []
        made.append(_command_step(step, roots))
    return [*made, *_edit_steps(edits)]


def _edit_steps(edits: Sequence[SessionStep]) -> list[ProcedureStep]:
    """New and changed files, one step each, in order."""
    by_kind: dict[StepAction, list[str]] = {}
    for step in edits:
        by_kind.setdefault("create" if step.kind == "create" else "edit", []).append(step.what)
    return [
        ProcedureStep(action=action, patterns=file_patterns(files), files=tuple(files))
        for action, files in by_kind.items()
    ]


def _command_step(step: SessionStep, roots: tuple[str, ...]) -> ProcedureStep:
    if step.kind == "tool":
        return ProcedureStep(action="tool", command=step.what)
    is_commit = step.purpose == "commit"
    command = COMMIT_COMMAND if is_commit else portable(step.what, roots=roots)
    return ProcedureStep(action="run", purpose=step.purpose, command=command)


def file_patterns(files: Iterable[str]) -> tuple[str, ...]:
    """Files as patterns: the folder and the extension, with `test_` and its like."""
    return tuple(dict.fromkeys(_pattern(file) for file in files))


def _pattern(file: str) -> str:
    path = PurePosixPath(file)
    has_folder = path.parent != PurePosixPath(_EVERYTHING)
    if not has_folder or not path.suffix or path.name.startswith(".") or _GLOB_CHARS & set(file):
        return file
    stem = path.stem
    for begin in ("test_", "test-"):
        if stem.startswith(begin):
            return str(path.parent / f"{begin}*{path.suffix}")
    for end in (".test", ".spec", "_test", "_spec", "-test"):
        if stem.endswith(end):
            return str(path.parent / f"*{end}{path.suffix}")
    return str(path.parent / f"*{path.suffix}")


def _reading(history: SessionHistory) -> list[ProcedureStep]:
    """Files that were read and not written."""
    written = {step.what for step in history.steps if step.is_edit}
    read = [file for file in history.files_read if file not in written][-MAX_FILES_TO_READ:]
    return [ProcedureStep(action="look", files=tuple(read))] if read else []


# -- Pitfalls -------------------------------------------------------------------------------------


def _pitfalls(steps: Sequence[SessionStep], roots: tuple[str, ...]) -> list[Pitfall]:
    """Commands that failed first, each once, with what was done until they worked."""
    found: dict[str, Pitfall] = {}
    for number, step in enumerate(steps):
        if step.ok or step.kind != "run":
            continue
        again = _worked_later(steps[number + 1 :], step)
        name = f"{_program(step.what)}:{step.error}"
        if again is None or name in found:
            continue
        between = steps[number + 1 : number + 1 + again]
        fix = _fix(step, between, steps[number + 1 + again], roots)
        error = None if step.error is None else portable(step.error, roots=roots)
        found[name] = Pitfall(portable(step.what, roots=roots), error, fix)
    return list(found.values())[-MAX_PITFALLS:]


def _worked_later(later: Sequence[SessionStep], failed: SessionStep) -> int | None:
    for number, step in enumerate(later):
        if not (step.ok and step.kind == "run" and step.purpose == failed.purpose):
            continue
        is_proof = failed.purpose in ("test", "check") and covers(step, failed)
        is_retry = failed.purpose not in ("test", "check") and _program(step.what) == _program(
            failed.what
        )
        if is_proof or is_retry:
            return number
    return None


def _program(command: str) -> str:
    found = [word for word in _WORD.findall(command) if not _ASSIGNMENT.match(word)]
    plain = [word for word in found if not word.startswith("-")]
    while len(plain) > 1 and plain[0] in _RUNNERS:
        plain = plain[1:]
    return " ".join([*plain[:1], *(word for word in plain[1:2] if not _SELECTS.search(word))])


def _fix(
    failed: SessionStep, between: Sequence[SessionStep], worked: SessionStep, roots: tuple[str, ...]
) -> str:
    effective = effective_steps(between)
    commands = [s.what for s in effective if s.kind == "run" and s.ok and s.purpose != "look"]
    files = [step.what for step in effective if step.is_edit]
    parts = [f"ran {portable(command, roots=roots)}" for command in commands[-1:]]
    if files:
        parts.append(f"changed {', '.join(dict.fromkeys(files[-3:]))}")
    if worked.what != failed.what and not (files or commands):
        parts.append(f"ran {portable(worked.what, roots=roots)} instead")
    return " and ".join(parts) or "tried again"

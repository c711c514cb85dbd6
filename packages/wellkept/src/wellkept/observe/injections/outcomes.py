"""Decides by rule what came of injected lines, from the session's events after each injection.

used: a file of the line was touched, its command was run and worked, its words or exact names were
taken up, or its memory was cited or asked for. harm: its command was run and did not work, the
person contradicted it, or its memory was corrected in the session. What is left when the session
ends was ignored, or is unclear where no act could show its use: rules that people taught, commands
that nothing called for, and sessions that did next to nothing. A later success takes back the harm
of an earlier failure. What the trigger already said is no sign: the agent had it from there; nor is
a command that the line warns of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from wellkept.core.memory import Memory
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    LineOutcome,
    LineVerdict,
)
from wellkept.core.records import field, record
from wellkept.core.session.events import (
    ContextInjected,
    Event,
    PromptSubmitted,
    SubagentEnded,
    ToolCalled,
    ToolKind,
    TurnEnded,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import content_words, fold, identifiers, stem, words
from wellkept.core.types import MemoryType, Source
from wellkept.observe.session.state import load_state
from wellkept.text.events.failure_cause import cause_line, is_setup_cause
from wellkept.text.events.tool_steps import is_failure
from wellkept.text.own_words import own_words
from wellkept.text.shell.purpose import Purpose, changes_git_state
from wellkept.text.shell.reader import ShellCommand, files_shown, parse_command
from wellkept.text.shell.results import TestResult, read_tests, was_stopped

MIN_WORDS = 3
MIN_SHARE = 0.6
_MIN_EXACT_CHARS = 6
_MAX_TEXT_CHARS = 200_000
_MARKS = re.compile(r"\A-? ?(?:\[[A-Z]{2,6}\] )?|\[m:\w+\]|\(m:\w+\)")
_CODE_SPAN = re.compile(r"`([^`\n]{2,400})`")
_WORKED_COMMAND = re.compile(r"(?:worked|works|run|use)[^:`\n]{0,60}: (?P<command>[^`\n(]{3,200})")
_PATH = re.compile(r"[\w@.-]*(?:[/\\][\w@.+-]+)+|\b[\w-]{2,}\.[A-Za-z][\w]{0,4}\b")
_WARNED_BEFORE = re.compile(
    r"(?:\b(?:never|not|no|don't|do not|instead of|avoid|without|failed|fails)|\bstatt|\bnicht"
    r"|\bnie|\bjamais|\bpas|\bnunca|不要|勿)\W{0,3}(?:\w+ )?\Z",
    re.IGNORECASE,
)
_WARNED_AFTER = re.compile(
    r"\A\W{0,3}(?:\w+ ){0,2}(?:keeps? )?(?:fail(?:s|ed|ing)?|runs? nothing|breaks?|broke|hangs?"
    r"|does(?:n't| not)|is wrong|errors?|ended|ends with)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\((?:\d+ sessions?, )?(?:last )?\d{4}-\d\d-\d\d\)")
_PLACEHOLDER = re.compile(
    r"…|\.\.\.|<[\w -]+>|(?<![\w.])(?:X|N|ID|NAME|PATH|FILE|PATTERN)(?![\w.])"
)
_TELLING = re.compile(r"\d|_|[a-z][A-Z]|\w\.\w+\.\w")
_VARYING_EXACT = re.compile(r"\A(?:\d{4}-\d\d-\d\d|[\d.:%-]+|m:\w+)\Z")

MIN_ACTS = 3
"""A session with fewer tool calls cannot show that a line was ignored."""
_RULES = frozenset(
    {
        MemoryType.PREFERENCE,
        MemoryType.CONVENTION,
        MemoryType.CORRECTION,
        MemoryType.REQUIREMENT,
    }
)
# Records that are closed because the work went on, not because they were wrong.
_RUNNING = frozenset(
    {
        MemoryType.WORK_STATE,
        MemoryType.TIMELINE,
        MemoryType.EPISODE,
        MemoryType.OBSERVATION,
        MemoryType.PROMPT,
        MemoryType.WORK_UNIT_OUTCOME,
        MemoryType.CONTEXT_COST,
        MemoryType.TASK_CALIBRATION,
    }
)
_OBJECTION = re.compile(
    r"\A\W*(?:no\b|nope\b|wrong\b|stop\b|that(?:'s| is|s) (?:wrong|not|incorrect|outdated)"
    r"|(?:this|it) is (?:wrong|not|outdated)|not true\b|don't\b|nein\b|falsch\b|das (?:ist|stimmt)"
    r" (?:falsch|nicht)|stimmt nicht|non\b|c'est faux|faux\b|ce n'est pas|no es\b|eso no|está mal"
    r"|incorrecto|incorrect\b|不对|错了|不是|違う|違います|間違)",
    re.IGNORECASE,
)
_CHECK_TARGET = re.compile(r"\b(?:build|all|lint|check|test|format|fmt|type)")
_MAX_OBJECTION_CHARS = 600
_OBJECTION_WORDS, _OBJECTION_SHARE = 2, 0.34
_FILE_KINDS = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE})


@record(frozen=False)
class TrackedLine:
    """A line that was given, and what came of it so far."""

    injection: Injection
    number: int
    signs: LineSigns
    outcome: LineOutcome
    by: str = ""
    verdict: LineVerdict | None = None

    @property
    def memory(self) -> Memory | None:
        """Its memory, if there still is one."""
        return self.signs.memory

    def decide(self, outcome: LineOutcome, by: str, at: datetime) -> None:
        """Set the outcome."""
        self.outcome, self.by = outcome, by
        self.verdict = LineVerdict(self.injection.id, self.number, outcome, by, at)


@record(frozen=False, kw_only=True)
class SessionOutcomes:
    """Follows the lines given in one session."""

    session: SessionRecord
    lines: list[TrackedLine] = field(default_factory=list[TrackedLine])

    def add(self, injection: Injection, memories: dict[str, Memory]) -> None:
        """Follow the lines of an injection."""
        for number, line in enumerate(injection.lines):
            memory = memories.get(line.memory_id or "")
            signs = LineSigns(line, trigger=injection.trigger, memory=memory)
            self.lines.append(TrackedLine(injection, number, signs, line.outcome, line.outcome_by))

    def verdicts(self) -> tuple[LineVerdict, ...]:
        """What was decided since."""
        return tuple(line.verdict for line in self.lines if line.verdict is not None)

    def apply(self, event: Event) -> None:
        """Compare one event with the lines given before it."""
        open_lines = [line for line in self.lines if _can_change(line, event)]
        if not open_lines or isinstance(event, ContextInjected):
            return
        match event:
            case ToolCalled():
                self._call(event, open_lines)
            case TurnEnded() | SubagentEnded():
                self._message(event, event.last_message or "", open_lines)
            case PromptSubmitted():
                self._prompt(event, open_lines)
            case _:
                return

    def corrected(self, successors: dict[str, Memory]) -> None:
        """Lines whose memory was closed in this session by a correction did harm."""
        for line in self.lines:
            memory = line.memory
            if line.outcome is LineOutcome.HARM or memory is None or memory.type in _RUNNING:
                continue
            if memory.valid_to is None or memory.valid_to < line.injection.at:
                continue
            successor = successors.get(memory.superseded_by or "")
            if successor is not None and not self._is_correction(successor):
                continue
            line.decide(LineOutcome.HARM, "corrected in this session", self.session.last_event_at)

    def _is_correction(self, successor: Memory) -> bool:
        said = successor.source in (Source.USER_TAUGHT, Source.AGENT_EXPLICIT)
        return said and successor.session_id == self.session.id

    def close(self) -> None:
        """The session is over: what shows no sign was ignored, or is unclear."""
        few = self.session.tool_count < MIN_ACTS
        ran = _subjects_of(self.session)
        for line in self.lines:
            if line.outcome is LineOutcome.OPEN:
                # A command is ignored where the like of it was run, not where none was needed.
                no_occasion = bool(line.signs.subjects) and not line.signs.subjects & ran
                unclear = few or no_occasion or is_taught(line)
                outcome = LineOutcome.UNCLEAR if unclear else LineOutcome.IGNORED
                line.decide(outcome, "", self.session.last_event_at)

    # -- Signs ------------------------------------------------------------------------------------

    def _call(self, call: ToolCalled, lines: Sequence[TrackedLine]) -> None:
        if was_stopped(call.error):
            return
        if call.kind is ToolKind.SHELL and call.command:
            self._command(call, call.command, lines)
        files = call.files if call.kind in _FILE_KINDS and call.error is None else ()
        before = "\n".join(edit.before for edit in call.edits)
        after = "\n".join(edit.after for edit in call.edits) if call.error is None else ""
        stems = word_stems(after) - word_stems(before) if after else frozenset[str]()
        for line in lines:
            if line.outcome is LineOutcome.USED:
                continue
            signs = line.signs
            if name := signs.file_in(files):
                self._use(line, f"file {name}", call)
            elif after and (name := signs.exact_in(after, new_since=before)):
                self._use(line, f"wrote {name}", call)
            elif taken := signs.words_in(stems):
                self._use(line, f"words {', '.join(taken[:5])}", call)
            elif (
                signs.cited and "wellkept" in call.name.lower() and _names(call.input, signs.cited)
            ):
                self._use(line, "asked for in full", call)

    def _command(self, call: ToolCalled, text: str, lines: Sequence[TrackedLine]) -> None:
        commands = parse_command(text)
        is_test = any(one.purpose is Purpose.TEST for one in commands)
        tests = read_tests(f"{call.output}\n{call.error or ''}") if is_test else None
        failed = is_failure(call, commands, tests)
        shown = files_shown(commands)
        for line in lines:
            signs = line.signs
            if ran := signs.command_in(text):
                if not failed or _is_of_the_work(call, tests, commands):
                    self._use(line, f"command {ran}", call)
                else:
                    line.decide(LineOutcome.HARM, f"command failed: {ran}", call.origin.at)
            elif line.outcome is LineOutcome.USED or failed:
                continue
            elif name := signs.file_in(tuple(shown)):
                self._use(line, f"file {name}", call)
            elif name := signs.exact_in(text):
                self._use(line, f"ran with {name}", call)

    def _message(self, event: Event, text: str, lines: Sequence[TrackedLine]) -> None:
        if not text:
            return
        stems = word_stems(text)
        for line in lines:
            if line.outcome is LineOutcome.USED:
                continue
            if _names(text, line.signs.cited):
                self._use(line, "cited", event)
            elif taken := line.signs.words_in(stems):
                self._use(line, f"words {', '.join(taken[:5])}", event)

    def _prompt(self, event: PromptSubmitted, lines: Sequence[TrackedLine]) -> None:
        text = own_words(event.text) if event.origin.agent is None else ""
        if len(text) > _MAX_OBJECTION_CHARS or not _OBJECTION.match(text):
            return
        stems = word_stems(text)
        for line in lines:
            shared = line.signs.words & stems
            is_about = len(shared) >= _OBJECTION_WORDS and len(shared) >= _OBJECTION_SHARE * len(
                line.signs.words
            )
            if is_about or _names(text, line.signs.cited):
                line.decide(LineOutcome.HARM, "contradicted by the user", event.origin.at)

    def _use(self, line: TrackedLine, by: str, event: Event) -> None:
        was_failed_command = line.by.startswith("command failed")
        if line.outcome is LineOutcome.HARM and not (
            was_failed_command and by.startswith("command ")
        ):
            return
        if line.outcome is not LineOutcome.USED:
            line.decide(LineOutcome.USED, by, event.origin.at)


def _subjects_of(session: SessionRecord) -> frozenset[str]:
    """What the commands of a session were about."""
    lines = [step.command for step in load_state(session.work).steps if step.command]
    return frozenset(one.subject for line in lines for one in parse_command(line))


def is_taught(line: TrackedLine) -> bool:
    """Whether a person stands behind a line, or it is a rule whose keeping no act shows."""
    memory = line.memory
    if memory is None:
        return False
    by_person = memory.has_persons_word or memory.pinned
    return by_person or memory.type in _RULES


def _can_change(line: TrackedLine, event: Event) -> bool:
    if event.origin.at < line.injection.at:
        return False
    agent = line.injection.agent
    return agent is None or event.origin.agent == agent or isinstance(event, PromptSubmitted)


def _is_of_the_work(
    call: ToolCalled, tests: TestResult | None, commands: Sequence[ShellCommand]
) -> bool:
    """Whether a failure is that of the work at hand: tests that fail, checks that find something,
    a push that is refused. The command itself was right."""
    if tests is not None and tests.is_failure:
        return True
    cause = cause_line(f"{call.error or ''}\n{call.output}")
    if cause is not None and is_setup_cause(cause):
        return False
    if any(changes_git_state(one.words) for one in commands):
        return True
    # Without an error it failed because nothing ran.
    is_test = any(one.purpose is Purpose.TEST for one in commands) and call.error is not None
    return is_test or any(_is_check(one) for one in commands)


def _is_check(command: ShellCommand) -> bool:
    """Whether a command looks the code over; any target of make may be called so."""
    is_named = command.words[0] != "make" or _CHECK_TARGET.search(command.call) is not None
    return command.purpose is Purpose.CHECK and is_named


def _names(text: str, cited: str | None) -> bool:
    return cited is not None and re.search(rf"\b{re.escape(cited)}\b", text) is not None


class LineSigns:
    """The signs of one line, each worked out when it is first asked for."""

    def __init__(self, line: InjectedLine, *, trigger: str, memory: Memory | None = None) -> None:
        self.line = line
        self.trigger = trigger
        self.memory = memory

    @cached_property
    def text(self) -> str:
        """The line without badge and citation."""
        return _MARKS.sub("", self.line.text).strip()

    @cached_property
    def cited(self) -> str | None:
        """The short id that is cited."""
        return f"m:{self.memory.short}" if self.memory is not None else None

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Files that the line is about and the trigger does not name."""
        named = _PATH.findall(_CODE_SPAN.sub(lambda m: f" {m[1]} ", self.text))
        own = self.memory.files if self.memory is not None else ()
        plain = (one.replace("\\", "/").strip("./") for one in (*own, *named))
        asked = self.trigger.replace("\\", "/")
        return tuple(dict.fromkeys(p for p in plain if p and p.rsplit("/", 1)[-1] not in asked))

    @cached_property
    def commands(self) -> tuple[re.Pattern[str], ...]:
        """Commands that the line tells to run, as patterns for a command line."""
        found = [m[1] for m in _CODE_SPAN.finditer(self.text) if not self._is_warned_of(m)]
        found += [m["command"].strip(" .") for m in _WORKED_COMMAND.finditer(self.text)]
        said = " ".join(self.trigger.split())
        return tuple(
            _pattern(plain)
            for one in dict.fromkeys(found)
            if _is_command(plain := " ".join(one.split())) and plain != said
        )

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Names and values that nobody writes by chance: with a digit or underscore, in mixed
        case, or a host. Folders and the names of tools stand everywhere."""
        asked = fold(self.trigger)
        return tuple(
            name
            for name in identifiers(self.text)
            if len(name) >= _MIN_EXACT_CHARS
            and _TELLING.search(name)
            and not _VARYING_EXACT.match(name)
            and fold(name) not in asked
        )

    @cached_property
    def subjects(self) -> frozenset[str]:
        """What the commands that the line names are about, also those that it warns of."""
        spans = [" ".join(found.split()) for found in _CODE_SPAN.findall(self.text)]
        parsed = [one for span in spans if _is_command(span) for one in parse_command(span)]
        return frozenset(one.subject for one in parsed if one.purpose is not Purpose.LOOK)

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of the line's own words, without those of the trigger. Code, paths, dates and
        counts are no words: they are looked for as a whole."""
        prose = _PATH.sub(" ", _ASIDE.sub(" ", _CODE_SPAN.sub(" ", self.text)))
        return word_stems(prose) - word_stems(self.trigger)

    def _is_warned_of(self, span: re.Match[str]) -> bool:
        """Whether the text says that a command fails, or not to run it."""
        before, after = self.text[: span.start()][-40:], self.text[span.end() :][:40]
        return bool(_WARNED_BEFORE.search(before) or _WARNED_AFTER.match(after))

    def file_in(self, paths: tuple[str, ...]) -> str | None:
        """The first of the line's files among some paths."""
        plain = [path.replace("\\", "/") for path in paths]
        for name in self.files:
            if any(path == name or path.endswith(f"/{name}") for path in plain):
                return name
        return None

    def command_in(self, command_line: str) -> str | None:
        """What a command line has of the line's commands; None when it has none."""
        flat = " ".join(command_line.split())
        for pattern in self.commands:
            if found := pattern.search(flat):
                return found.group().strip()
        return None

    def exact_in(self, text: str, *, new_since: str = "") -> str | None:
        """The first exact name in a text that was not there before."""
        now, before = fold(text[:_MAX_TEXT_CHARS]), fold(new_since[:_MAX_TEXT_CHARS])
        for name in self.exact:
            folded = fold(name)
            if folded in now and folded not in before:
                return name
        return None

    def words_in(self, stems: frozenset[str]) -> list[str]:
        """The line's words that a text takes up; none unless they are most of its words."""
        shared = self.words & stems
        enough = len(shared) >= MIN_WORDS and len(shared) >= MIN_SHARE * len(self.words)
        return sorted(shared) if enough else []


def word_stems(text: str) -> frozenset[str]:
    """The stems of a text's content words, without numbers."""
    return frozenset(
        stem(word)
        for word in content_words(text[:_MAX_TEXT_CHARS])
        if len(word) > 1 and not word.isdigit()
    )


def _is_command(text: str) -> bool:
    """Whether a code span can be a command: a program, and more than a lone word or path."""
    first, *rest = words(text) or [""]
    if not first or text.startswith(("<", "{", "[", "(", "#", "@", "*")):
        return False
    if not rest and (" " not in text):
        # A single word is as often a name as a program.
        return False
    commands = parse_command(text)
    return bool(commands) and bool(commands[0].words) and " " in text


def _pattern(command: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in _PLACEHOLDER.split(command))
    body = r"\S+".join(parts)
    return re.compile(rf"(?:\A|(?<=[\s;&|(/])){body}(?=\Z|[\s;&|)])")

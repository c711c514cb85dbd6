"""What one session did and left open, read from its step log.

Pure functions of the session's record: requests, commits, files not committed, pushes, commands
that keep failing, the last outcome of each check, the pull request it worked on. What git says now
is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import content_words, shorten
from wellkept.observe.session.state import SessionState, load_state
from wellkept.text.shell.purpose import git_verb
from wellkept.text.shell.reader import parse_command

MIN_FAILURES = 3
_MIN_LAST_FAILURES = 2
_LAST_RUNS = 3
_MIN_REQUEST_WORDS = 3
_MIN_RUNS = 4
_REDACTED = "REDACTED"
_SENTENCE_CHARS = 240
_MAX_SENTENCES = 2
_PULL_REQUEST = re.compile(
    r"\bgh pr (?:checks|view|diff|checkout|merge|edit|comment|review|ready|close) (\d+)\b"
    r"|/pulls/(\d+)\b|\bglab mr (?:view|merge|diff|checkout|update|note) (\d+)\b"
)
_LEAD_IN = re.compile(
    r"^(?:(?:ok(?:ay)?|so|hey|hi|well|now|and|also|yeah|yes|great|cool|nice|alright|please|pls"
    r"|(?:can|could|would|will) (?:you|we)|let'?s|i(?:'d| would) like (?:you )?to"
    r"|i want (?:you )?to|i think|first|then|maybe|just|go ahead and)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:what|why|how|where|when|who|which|is|are|was|were|do|does|did|has|have|should)\b",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    r"^(?:(?:that |this |it |all )?(?:sounds|looks|seems|works)\b|go (?:for it|on|ahead)\b"
    r"|do (?:it|so|that)\b|perfect|exactly|agreed|thanks|thank you|lgtm|\d+\b|continue|proceed"
    r"|get (?:this|it) going)",
    re.IGNORECASE,
)
_MAX_APPROVAL_WORDS = 9
# Words of a closing message that tell of something left open.
_OPEN_WORDS = re.compile(
    r"\b(?:not (?:yet )?(?:committed|pushed|staged|deployed|tested|merged|run)"
    r"|un(?:committed|pushed|staged|resolved)|staged(?=[^.]*\b(?:not|await|ready|but|commit))"
    r"|await\w*|still (?:fail|open|need|miss|to do|pending|broken)\w*"
    r"|remaining|left (?:out|open|to do)|pre-existing"
    r"|blocked (?:by|on)|pending|haven't|once (?:you|the|that|these|this|it)\b"
    r"|you(?:'ll| will)? (?:need|have) to|root cause)",
    re.IGNORECASE,
)
_NOT_OPEN = re.compile(
    r"\b(?:no|nothing|none|zero|0)\b[^.]{0,30}\b(?:remain|left|pending|uncommitted)"
    r"|\bpre-existing (?:warning|lint)",
    re.IGNORECASE,
)
_COMPOUND = re.compile(r"[|;&<>\n]")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`\"'*-])|\n+")
_MARKUP = re.compile(r"^[\s#>*|-]+|\*\*|__|\|?\s*$")


@record
class OpenEnds:
    """What a session left behind. `requests` are those that say something, oldest first;
    `unanswered` is the last one when nothing was done since."""

    session: SessionRecord
    state: SessionState

    @property
    def steps(self) -> tuple[SessionStep, ...]:
        """The step log."""
        return self.state.steps

    @property
    def has_content(self) -> bool:
        """Whether the session did anything worth telling."""
        if self.state.summary.commits or self.edited:
            return True
        runs = [step for step in self.steps if step.kind == "run"]
        return bool(self.failing) or (len(runs) >= _MIN_RUNS and bool(self.requests))

    @property
    def is_team(self) -> bool:
        """Whether no person asked: the session of a team-mate or sub-agent."""
        return not self.session.prompt_count and self.session.title is not None

    @property
    def requests(self) -> list[str]:
        """What the person asked for, without requests such as "commit" or "yes, go on"."""
        return list(filter(_is_telling, map(request_text, self.state.summary.requests)))

    @property
    def unanswered(self) -> str | None:
        """The last request, when it is no question and nothing was run or edited since."""
        told = self.state.summary.requests
        last_step = self.steps[-1].prompt if self.steps else 0
        if not told or last_step >= self.session.prompt_count:
            return None
        last = request_text(told[-1])
        return last if _is_telling(last) and not is_question(last) else None

    @property
    def edited(self) -> list[str]:
        """Every file that was edited, the last one last."""
        named = [step.what for step in reversed(self.steps) if step.is_edit and _is_named(step)]
        return list(dict.fromkeys(named))[::-1]

    @property
    def uncommitted(self) -> list[str]:
        """Files edited since the last commit that was seen."""
        files: dict[str, None] = {}
        for step in self.steps:
            if ran_git(step, "commit"):
                files = {}
            elif step.is_edit and _is_named(step):
                files.pop(step.what, None)
                files[step.what] = None
        return list(files)

    @property
    def was_pushed(self) -> bool:
        """Whether a push was seen after the last commit."""
        for step in reversed(self.steps):
            if ran_git(step, "push"):
                return True
            if ran_git(step, "commit"):
                return False
        return False

    @property
    def failing(self) -> list[tuple[SessionStep, int]]:
        """Commands that failed again and again and never worked afterwards, the latest first."""
        runs = [step for step in self.steps if step.kind == "run"]
        lately = {step.what for step in runs[-_LAST_RUNS:]}
        open_failures: dict[str, tuple[SessionStep, int]] = {}
        for step in runs:
            if step.ok:
                open_failures.pop(step.what, None)
            else:
                _, times = open_failures.pop(step.what, (step, 0))
                open_failures[step.what] = (step, times + step.count)
        return [
            (step, times)
            for step, times in reversed(open_failures.values())
            if times >= (_MIN_LAST_FAILURES if step.what in lately else MIN_FAILURES)
        ]

    @property
    def checks(self) -> list[SessionStep]:
        """The last run of each test or check command, in order."""
        last: dict[str, SessionStep] = {}
        for step in self.steps:
            if step.kind == "run" and step.purpose in ("test", "check"):
                last.pop(step.what, None)
                last[step.what] = step
        return list(last.values())

    @property
    def edits_since(self) -> int:
        """The time of the last edit, in milliseconds; checks before it say little."""
        return max((step.at_ms for step in self.steps if step.is_edit), default=0)

    @property
    def pull_request(self) -> str | None:
        """The number of the pull request it worked on last."""
        for step in reversed(self.steps):
            if step.kind == "run" and (found := _PULL_REQUEST.findall(step.command)):
                return next(filter(None, found[-1]))
        return None

    @property
    def last_words(self) -> str | None:
        """The sentences of the closing message that tell of something left open."""
        found = [
            sentence
            for sentence in _sentences(self.state.summary.last_message or "")
            if _OPEN_WORDS.search(sentence) and not _NOT_OPEN.search(sentence)
        ]
        return shorten(" / ".join(found[:_MAX_SENTENCES]), limit=_SENTENCE_CHARS) or None


def open_ends(session: SessionRecord) -> OpenEnds:
    """What a session left behind."""
    return OpenEnds(session, load_state(session.work))


def request_text(request: str) -> str:
    """A request without words such as "ok, can you please"."""
    plain = " ".join(request.split())
    return _LEAD_IN.sub("", plain) or plain


def is_question(request: str) -> bool:
    """Whether a request asks for an answer, not for work."""
    return _QUESTION.match(request) is not None


def _is_telling(request: str) -> bool:
    """Whether a request says what to do: not "commit", not "sounds great, go on"."""
    few = len(request.split()) <= _MAX_APPROVAL_WORDS
    if request.startswith("<") or (few and _APPROVAL.match(request)):
        return False
    return len(content_words(request)) >= _MIN_REQUEST_WORDS


def _is_named(step: SessionStep) -> bool:
    """Whether the path of an edit was kept whole: redaction may have cut it."""
    return _REDACTED not in step.what


def ran_git(step: SessionStep, verb: str) -> bool:
    """Whether a line ran a git command; commit and push are often one line."""
    if not step.ok or step.kind != "run" or verb not in step.command:
        return False
    commands = parse_command(step.command)
    return any(one.words[0] == "git" and git_verb(one.words) == verb for one in commands)


def _sentences(message: str) -> Iterator[str]:
    for part in _ENDS.split(message[:20_000]):
        plain = _MARKUP.sub("", part).strip()
        if len(plain.split()) > 3 and not plain.endswith(":") and "|" not in plain:
            yield plain


def shown_command(step: SessionStep, *, limit: int) -> str:
    """The command of a step in the form that was run, with its folder; of a long line or a pipe its
    main command."""
    line = step.line
    is_plain = len(line) <= limit and not _COMPOUND.search(line) and step.purpose != "commit"
    folder = f"cd {step.folder} && " if step.folder else ""
    return shorten(f"{folder}{line if is_plain else step.what}", limit=limit)


def editors(works: Sequence[OpenEnds]) -> dict[str, OpenEnds]:
    """For each file the session that edited it last; `works` latest first."""
    found: dict[str, OpenEnds] = {}
    for work in works:
        for path in work.edited:
            found.setdefault(path, work)
    return found

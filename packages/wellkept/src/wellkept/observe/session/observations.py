"""Observations: what a turn, a commit or a decision left, as pure functions over the step log.

A title is a quotation: the first sentence of the agent's report for that turn, the subject of the
commit, the sentence that decides. Without a report it is the files, or the line that failed with
its error. Facts are records. Every observation takes the tokens and files read since the boundary
before it, so together they account for the work of a session once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import Observation
from wellkept.core.records import replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.observe.session.drafts import observation_draft
from wellkept.observe.session.edits import change_fact, file_kind
from wellkept.observe.session.state import SessionState
from wellkept.text.events.commit_messages import commit_points, says_something
from wellkept.text.events.prompt_rules import next_steps, plain, tells
from wellkept.text.reports import cut, sentences

Kind: TypeAlias = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
MAX_TITLE_CHARS = 99
_MAX_FILES, _MAX_FACTS, _SHOWN_FILES = 40, 12, 3
_NARRATIVE_TOKENS = 150
_MIN_LOOKS = 2
_TELLING = ("test", "check", "install", "migrate")
_INTENTS: dict[str, Kind] = {"fix": "bugfix", "feature": "feature", "refactor": "refactor"}
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


def open_work(steps: Sequence[SessionStep], agent: str | None) -> tuple[SessionStep, ...]:
    """The calls of an agent since its last report or commit."""
    found: list[SessionStep] = []
    for one in reversed(steps):
        if one.agent != agent:
            continue
        if one.kind == "report" or one.is_commit:
            break
        if one.is_act or one.kind in ("read", "look"):
            found.append(one)
    return tuple(reversed(found))


def open_agents(steps: Sequence[SessionStep]) -> list[str | None]:
    """Agents whose work nothing has closed yet."""
    named = dict.fromkeys(one.agent for one in steps)
    return [agent for agent in named if open_work(steps, agent)]


def turn_note(
    session: SessionRecord, state: SessionState, agent: str | None, *, said: str = ""
) -> MemoryDraft | None:
    """The observation of a turn that ends with these words; None when nothing was done."""
    work = open_work(state.steps, agent)
    told = sentences(said)
    head = next((one for one in told if tells(plain(one)) and not next_steps(one)), "")
    edits = [one for one in work if one.is_edit]
    failing = _failing(work)
    if edits:
        kind, title = _edit_kind(work, state), head or _files_title(edits)
    elif failing:
        kind, title = "discovery", head or f"{failing[-1].typed}: {failing[-1].error}"
    elif done := [one for one in work if one.ok and one.purpose in ("install", "migrate")]:
        kind, title = "change", head or done[-1].typed
    elif head and len(work) >= _MIN_LOOKS and not plain(head).endswith("?"):
        kind, title = "discovery", head
    else:
        return None
    rest = told[told.index(head) + 1 :] if head else []
    return _draft(
        session, work, agent,
        kind=kind, title=plain(title), subtitle=_request(session, state),
        facts=[*_change_facts(edits), *_check_facts(work)],
        narrative=cut(rest, tokens=_NARRATIVE_TOKENS) or None, importance=0.5 if edits else 0.45,
    )  # fmt: skip


def commit_note(session: SessionRecord, state: SessionState, commit: SessionStep) -> MemoryDraft:
    """A commit: the best evidence of what was done. The state is that before it."""
    work = (*open_work(state.steps, commit.agent), commit)
    subject, _, body = commit.said.partition("\n")
    edits = [one for one in work if one.is_edit]
    return _draft(
        replace(session, branch=commit.mark or session.branch), work, commit.agent,
        kind=commit_kind(subject), title=subject,
        subtitle=f"Commit {commit.sha}" if commit.sha else "Commit",
        facts=[*commit_points(body)[:6], *_change_facts(edits), *_check_facts(work)],
        files=commit.files, sha=commit.sha,
        importance=0.65 if says_something(subject, body) else 0.3,
    )  # fmt: skip


def decision_note(
    session: SessionRecord, sentence: str, *, agent: str | None, said_by: str
) -> MemoryDraft:
    """A decision, in its original words."""
    return _draft(
        session, (), agent,
        kind="decision", title=sentence, subtitle=f"Said by {said_by}",
        facts=[shorten(sentence, limit=400)], importance=0.6,
    )  # fmt: skip


def commit_kind(subject: str) -> Kind:
    """The kind of change that a commit message describes."""
    found: list[Kind] = [kind for rule, kind in _COMMIT_KINDS if rule.search(subject)]
    return found[0] if found else "change"


# -- Parts ----------------------------------------------------------------------------------------


def _draft(
    session: SessionRecord,
    work: Sequence[SessionStep],
    agent: str | None,
    *,
    kind: Kind,
    title: str,
    subtitle: str | None,
    facts: Sequence[str],
    importance: float,
    narrative: str | None = None,
    files: tuple[str, ...] = (),
    sha: str | None = None,
) -> MemoryDraft:
    edited = files or tuple(dict.fromkeys(one.what for one in work if one.is_edit))
    read = dict.fromkeys(one.what for one in work if one.kind == "read" and one.ok)
    names = " ".join(name[1:] for one in work if one.is_edit for name in one.names)
    observation = Observation(
        kind=kind,
        title=shorten(" ".join(title.split()), limit=MAX_TITLE_CHARS),
        subtitle=shorten(subtitle, limit=160) if subtitle else None,
        facts=tuple(shorten(" ".join(f.split()), limit=300) for f in facts[:_MAX_FACTS]),
        narrative=narrative,
        concepts=concepts_of(f"{title} {names}", edited),
        files_read=tuple(read)[-_MAX_FILES:],
        files_modified=edited[:_MAX_FILES],
        prompt_number=session.prompt_count or None,
        branch=session.branch,
        commit=sha,
        agent=agent,
    )
    tokens = sum(one.tokens for one in work)
    return observation_draft(observation, tokens=tokens, importance=importance)


def _request(session: SessionRecord, state: SessionState) -> str | None:
    """What a person asked for: the last request that tells of work."""
    return next((one for one in reversed(state.requests) if tells(one)), session.title)


def _edit_kind(work: Sequence[SessionStep], state: SessionState) -> Kind:
    code = [one for one in work if one.is_edit and file_kind(one.what) in ("code", "test")]
    if not code:
        return "change"
    if asked := _INTENTS.get(state.intent):
        return asked
    failed = {one.typed for one in work if one.kind == "run" and not one.ok and one.error}
    if any(one.ok and one.typed in failed for one in work if one.kind == "run"):
        return "bugfix"
    is_new = any(one.kind == "create" or any(n[0] == "+" for n in one.names) for one in code)
    return "feature" if is_new else "change"


def _failing(work: Sequence[SessionStep]) -> list[SessionStep]:
    """Tests, checks and installations that failed and did not pass since, and named an error."""
    last = {one.typed: one for one in work if one.kind == "run" and one.purpose in _TELLING}
    passed = {one.purpose for one in last.values() if one.ok}
    return [one for one in last.values() if not one.ok and one.error and one.purpose not in passed]


def _files_title(edits: Sequence[SessionStep]) -> str:
    """The files, code first; of many the folder that holds them all."""
    kinds = ("code", "config", "other", "test", "document")
    names = sorted(
        dict.fromkeys(one.what for one in edits), key=lambda path: kinds.index(file_kind(path))
    )
    if len(names) <= _SHOWN_FILES:
        return ", ".join(names)
    parents = [PurePosixPath(path).parent.parts for path in names]
    levels = takewhile(lambda parts: len(set(parts)) == 1, zip(*parents, strict=False))
    shared = "/".join(parts[0] for parts in levels)
    return f"{len(names)} files in {shared}" if shared else f"{len(names)} files"


def _change_facts(edits: Sequence[SessionStep]) -> list[str]:
    by_file: dict[str, list[SessionStep]] = {}
    for one in edits:
        by_file.setdefault(one.what, []).append(one)
    return [
        change_fact(
            path,
            tuple(dict.fromkeys(name for one in some for name in one.names)),
            is_new=some[0].kind == "create",
        )
        for path, some in by_file.items()
    ]


def _check_facts(work: Sequence[SessionStep]) -> list[str]:
    """How each test, check, installation or migration ended the last time it ran."""
    last = {one.typed: one for one in work if one.kind == "run" and one.purpose in _TELLING}
    facts: list[str] = []
    for typed, one in last.items():
        failed = "; ".join(filter(None, (one.error, *one.names[:4])))
        facts.append(f"`{typed}`: passed" if one.ok else f"`{typed}`: failed: {failed}")
    return facts


MAX_CONCEPTS = 8
_GENERIC_FOLDERS = frozenset({"src", "lib", "app", "tests", "test", ".", ".."})


def _for_lower_case(pattern: str) -> re.Pattern[str]:
    """The pattern, with `\\b` before a letter written as a look back from that letter.

    Case-insensitive patterns, and those that may start anywhere, are several times slower.
    """
    return re.compile(re.sub(r"(^|\|)\\b(\w)", r"\1\2(?<!\\w\2)", pattern))


_TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (topic, _for_lower_case(pattern))
    for topic, pattern in (
        ("testing", r"\btests?\b|test_|_test\b|\bspec\b|flaky"),
        ("authentication", r"auth|login|logout|password|session[_-]?cookie|jwt|oauth"),
        ("caching", r"cache|memoi[sz]e"),
        ("database", r"migrat|schema|\bsql|database|\bdb\b|query|queries|postgres|sqlite"),
        ("api", r"\bapi\b|endpoint|route|handler|request|response|graphql|webhook"),
        ("user interface", r"\bui\b|component|\.css|\.tsx|\.vue|button|layout|render"),
        ("infrastructure", r"docker|workflows/|\bci\b|deploy|terraform|kubernetes|helm"),
        ("performance", r"perf\b|slow|faster|speed|optimi[sz]|latency"),
        ("concurrency", r"async|await|thread|\block|race|deadlock|mutex|worker"),
        ("logging", r"\blog(?:s|ger|ging)?\b|telemetry|tracing"),
        ("security", r"secur|secret|redact|sanitiz|escape|csrf|xss|permission"),
        ("documentation", r"readme|\bdocs?\b|\.md\b|changelog"),
        ("configuration", r"config|settings|\.toml|\.ya?ml|\.env|\.ini"),
        ("dependencies", r"dependenc|install|package\.json|requirements|lockfile|upgrade"),
        ("error handling", r"error|exception|retry|fallback|timeout|\bfail"),
        ("parsing", r"pars(?:e|er|ing)|tokeni[sz]|lexer|decode"),
        ("dates and times", r"date|\btime|timezone|clock|calendar"),
        ("types", r"\btyp(?:e|es|ing)\b|ts\d{4}|mypy|pyright"),
    )
)


def concepts_of(text: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The topics of a text and of file paths, and the modules that the files belong to."""
    whole = f"{text} {' '.join(paths)}".lower()
    topics = [topic for topic, pattern in _TOPICS if pattern.search(whole)]
    folders = (PurePosixPath(path).parent.name for path in paths)
    modules = [name for name in folders if name and name not in _GENERIC_FOLDERS]
    return tuple(dict.fromkeys((*topics, *modules)))[:MAX_CONCEPTS]

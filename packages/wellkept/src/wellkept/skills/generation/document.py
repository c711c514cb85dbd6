"""Words a procedure as a SKILL.md: name, description and body.

Invariant: any input text becomes one-line prose or a code span, so it cannot become a heading, a
fence, front matter, hidden text or a placeholder. Knows nothing of sessions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Final

from wellkept.core.languages import language_of
from wellkept.core.text import clean, content_words, shorten
from wellkept.skills.documents.fields import (
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    is_specified_name,
)
from wellkept.skills.generation.procedure import Pitfall, Procedure, ProcedureStep

MAX_TITLE_CHARS: Final = 100
_NAME_WORDS: Final = 6
_SHOWN_FILES: Final = 4
_REDACTED = re.compile(r"\[redacted[^\]]*\]?", re.IGNORECASE)
_NO_PROSE = re.compile(r"[\x00-\x1f\x7f-\x9f`<>\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
_PLACEHOLDER = re.compile(r"(?<!\\)\$(?=ARGUMENTS|[1-9]|\{[A-Za-z_])")
_TICKS = re.compile(r"`+")
_TAGS: Final = {"tsx": "typescript", "bash": "shell"}
_PURPOSES: Final = {"test": "tests", "migrate": "database", "install": "dependencies"}


# -- Pieces of text -------------------------------------------------------------------------------


def prose(text: str, *, limit: int) -> str:
    """Untrusted text as one line of plain text."""
    plain = _NO_PROSE.sub(" ", clean(text))
    line = " ".join(plain.split()).lstrip("#>*-+=|~ ")
    return _PLACEHOLDER.sub(r"\\$", shorten(line, limit=limit))


def code(text: str) -> str:
    """Untrusted text as a code span that it cannot end."""
    line = " ".join(_PLACEHOLDER.sub(r"\\$", clean(text)).split()) or "?"
    longest = max(map(len, _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def instruction(text: str, *, limit: int) -> str:
    """A sentence as one line; closed code spans stay."""
    parts = [prose(part, limit=limit) for part in clean(text).split("`")]
    if len(parts) % 2 == 0:
        return prose(text, limit=limit)
    spans = [code(part) if n % 2 and part else part for n, part in enumerate(parts)]
    return shorten(" ".join(part for part in spans if part), limit=limit)


def _file_names(files: Sequence[str]) -> str:
    """Some file names, and how many more there are."""
    shown = ", ".join(code(PurePosixPath(file).name) for file in files[:_SHOWN_FILES])
    more = len(files) - _SHOWN_FILES
    return f"{shown} and {more} more" if more > 0 else shown


def listed(texts: Sequence[str]) -> str:
    """Texts as code spans: a, b and c."""
    spans = [code(text) for text in texts]
    return f"{', '.join(spans[:-1])} and {spans[-1]}" if len(spans) > 1 else "".join(spans)


# -- Name and description -------------------------------------------------------------------------


def name_for(title: str, steps: Procedure, *, taken: Collection[str]) -> str:
    """A valid name that is not taken: from the request, else from the work."""
    wanted = _hyphened(_latin_words(title)[:_NAME_WORDS])
    if len(wanted) < 4 or "-" not in wanted:
        wanted = _hyphened([*wanted.split("-"), *_work_words(steps)][:_NAME_WORDS])
    return free_name(wanted, taken=taken)


def free_name(wanted: str, *, taken: Collection[str]) -> str:
    """The wanted name, or with the first number after it that is free."""
    base = wanted if is_specified_name(wanted) else "learned-procedure"
    number, name = 1, base
    while name in taken:
        number += 1
        ending = f"-{number}"
        name = base[: MAX_NAME_CHARS - len(ending)].rstrip("-") + ending
    return name


def _latin_words(text: str) -> list[str]:
    """Content words in ASCII letters; accents are removed, other alphabets are skipped."""
    flat = unicodedata.normalize("NFKD", _REDACTED.sub(" ", text))
    ascii_only = re.sub(r"[^a-zA-Z0-9]+", " ", "".join(c for c in flat if ord(c) < 128))
    return [word for word in content_words(ascii_only) if word.isascii() and word.isalnum()]


def _work_words(steps: Procedure) -> list[str]:
    folders = [PurePosixPath(pattern).parent.name for pattern in steps.patterns]
    programs = [(step.command or "").split()[:1] for step in steps.steps if step.action == "run"]
    found = ["work-on", *folders[:1], *[word for words in programs[:1] for word in words]]
    return [word for text in found for word in _latin_words(text) or ["procedure"]]


def _hyphened(words: Sequence[str]) -> str:
    name = ""
    for word in words:
        longer = f"{name}-{word.lower()}" if name else word.lower()[:MAX_NAME_CHARS]
        if not word or len(longer) > MAX_NAME_CHARS:
            continue
        name = longer
    return name


def description_for(title: str, steps: Procedure) -> str:
    """What the skill does and when to use it, in one paragraph."""
    request = prose(title, limit=MAX_TITLE_CHARS) or "work like this"
    summary = _summary(steps)
    where = ", ".join(prose(pattern, limit=80) for pattern in steps.patterns[:3])
    how = f'How "{request}" was done in this project' + (f": {summary}." if summary else ".")
    use = "Use when asked for the same or something like it"
    use += f", or to work on {where}." if where else "."
    return shorten(f"{how} {use}", limit=MAX_DESCRIPTION_CHARS)


def _summary(steps: Procedure) -> str:
    done = [_verb(step) for step in steps.steps if step.action != "look"]
    return ", then ".join(dict.fromkeys(word for word in done if word))


def _verb(step: ProcedureStep) -> str:
    if step.action in ("edit", "create"):
        return f"{step.action} {len(step.files)} file{'s' * (len(step.files) != 1)}"
    words = {"test": "run the tests", "check": "check", "install": "install", "commit": "commit"}
    return words.get(step.purpose, "migrate" if step.purpose == "migrate" else "run commands")


def tags_for(steps: Procedure) -> tuple[str, ...]:
    """Languages and kinds of work, at most five."""
    written = [file for step in steps.steps if step.action != "look" for file in step.files]
    known = [one.name for one in map(language_of, written) if one is not None]
    languages = [_TAGS.get(name, name) for name in known]
    languages += ["docs"] if any(file.lower().endswith(".md") for file in written) else []
    kinds = [_PURPOSES[step.purpose] for step in steps.steps if step.purpose in _PURPOSES]
    return tuple(dict.fromkeys([*languages, *kinds]))[:5]


# -- Body -----------------------------------------------------------------------------------------


def body_for(title: str, requests: Sequence[str], steps: Procedure, *, sessions: int) -> str:
    """The instructions in Markdown."""
    parts = [
        f"# {(prose(title, limit=MAX_TITLE_CHARS) or 'Learned procedure').rstrip('.:')}",
        _origin(sessions),
        _section("When to use", _when_to_use(requests, steps)),
        _section("Steps", _numbered([_step_text(s, sessions=sessions) for s in steps.steps])),
        _section("Pitfalls", [_pitfall_text(pitfall) for pitfall in steps.pitfalls]),
        _section("Files", _files(steps)),
    ]
    return "\n\n".join(part for part in parts if part)


def _step_text(step: ProcedureStep, *, sessions: int = 1) -> str:
    """One step as a sentence."""
    often = (
        f" ({step.session_count} of {sessions} sessions)"
        if sessions > 1 and step.action != "look"
        else ""
    )
    return f"{_instruction(step)}{often}"


def _pitfall_text(pitfall: Pitfall) -> str:
    """What failed and what helped, as a list item."""
    why = f" with {code(shorten(pitfall.error, limit=200))}" if pitfall.error else ""
    fix = prose(pitfall.fix, limit=240)
    return f"- {code(shorten(pitfall.command, limit=160))} failed{why}. What helped: {fix}."


def _instruction(step: ProcedureStep) -> str:
    command = code(step.command or "")
    if step.action == "look":
        return f"Read {listed(step.files)} first."
    if step.action in ("edit", "create"):
        verb = "Create files like" if step.action == "create" else "Edit"
        return f"{verb} {listed(step.patterns)} (here {_file_names(step.files)})."
    if step.action == "tool":
        return f"Call the tool {command}."
    sentences = {
        "test": f"Run the tests: {command}. They must pass.",
        "check": f"Check the result: {command}.",
        "install": f"Install what is needed: {command}.",
        "migrate": f"Migrate the database: {command}.",
        "commit": f"Commit: {command}.",
    }
    return sentences.get(step.purpose, f"Run {command}.")


def _origin(sessions: int) -> str:
    of = "a session" if sessions == 1 else f"{sessions} sessions"
    return f"Learned from {of} that went well. The steps are in the form that worked."


def _when_to_use(requests: Sequence[str], steps: Procedure) -> list[str]:
    texts = dict.fromkeys(prose(request, limit=200) for request in requests)
    requested = [f'- A request like "{text}"' for text in texts if text][:3]
    where = [f"- Work on {listed(steps.patterns[:4])}"] if steps.patterns else []
    return requested + where


def _files(steps: Procedure) -> list[str]:
    found: dict[str, list[str]] = {}
    for step in steps.steps:
        for pattern in step.patterns:
            # A name without a star is itself; as a pattern "." would be an error.
            is_glob = "*" in pattern
            inside = [
                f
                for f in step.files
                if f == pattern or (is_glob and PurePosixPath(f).match(pattern))
            ]
            found.setdefault(pattern, []).extend(f for f in inside if f not in found[pattern])
    return [f"- {code(pattern)}: {_file_names(files)}" for pattern, files in found.items() if files]


def _numbered(lines: Sequence[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


def _section(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(lines) if lines else ""

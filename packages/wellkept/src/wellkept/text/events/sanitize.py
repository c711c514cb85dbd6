"""Sanitise events: remove secrets, private parts and text injected by Wellkept, cut orders to the
agent out of what no person wrote, and bound sizes.

Invariant: only the cleaned form of an event is used. Text is bounded first, so output of any size
costs about the same. It is cut between lines or words, so that no secret is split.
"""

from __future__ import annotations

import re

from wellkept.core.records import replace
from wellkept.core.session.events import (
    Answer,
    Compacted,
    Edit,
    Event,
    PromptSubmitted,
    SubagentEnded,
    ToolCalled,
    TurnEnded,
)
from wellkept.core.session.injected_text import FRAME
from wellkept.core.text import clean, strip_invisible
from wellkept.text.instructions import without_instructions
from wellkept.text.secrets.redaction import redact

MAX_PROMPT_CHARS = 64_000
MAX_OUTPUT_CHARS = 160_000
MAX_COMMAND_CHARS = 16_000
_MAX_LINE_CHARS = 4_000
_SAMPLE_CHARS = 4_096
# A text up to this size is redacted before it is cut.
_REDACTED_WHOLE_CHARS = 40_000
_BINARY_SHARE = 0.1

_OPEN, _CLOSE = rf"(?:<|&lt;|\\u003c)\s*{FRAME}", rf"(?:<|&lt;|\\u003c)\\?/\s*{FRAME}"
_OWN_FRAME = re.compile(
    rf"{_OPEN}.*?(?:{_CLOSE}\s*(?:>|&gt;|\\u003e)?|\Z)", re.IGNORECASE | re.DOTALL
)
_PRIVATE = re.compile(r"private\s*(?:>|&gt;|\\u003e)")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_TERMINAL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_ENDS = re.compile("[\t\r\n\u2028\u2029]")
_LONG_LINE = re.compile(rf"[^\n]{{{_MAX_LINE_CHARS},}}")


def cleaned(event: Event) -> Event:
    """The event with safe texts of bounded size."""
    match event:
        case PromptSubmitted():
            return replace(event, text=safe_text(event.text, limit=MAX_PROMPT_CHARS))
        case ToolCalled():
            return cleaned_call(event)
        case Compacted():
            return replace(event, summary=_foreign(event.summary))
        case TurnEnded() | SubagentEnded():
            return replace(event, last_message=_foreign(event.last_message))
        case _:
            return event


def safe_text(text: str, *, limit: int = MAX_OUTPUT_CHARS) -> str:
    """A text that is safe to read and store."""
    if not text:
        return text
    if limit < len(text) <= _REDACTED_WHOLE_CHARS:
        text = redact(clean(text)).text
    kept = clean(_bounded(text, limit=limit))
    if FRAME in kept.casefold():
        kept = _OWN_FRAME.sub("", kept)
    kept = _without_control(kept)
    if not kept.isascii() or "\x1b" in kept:
        kept = strip_invisible(kept)
    shown = redact(kept).text
    if len(shown) < _MAX_LINE_CHARS:
        return shown
    return _LONG_LINE.sub(lambda m: f"{m.group()[:1000]}…", shown)


def safe_path(path: str) -> str:
    """A path that is safe to store; "" for one with line breaks or invisible characters, which
    could be read as something else."""
    kept = safe_text(path, limit=1_000)
    is_plain = strip_invisible(path) == path and not _LINE_ENDS.search(path)
    return kept if is_plain else ""


def cleaned_call(call: ToolCalled, *, with_output: bool = True) -> ToolCalled:
    """The call with safe texts of bounded size; output that is not read can be left out."""
    return ToolCalled(
        origin=call.origin,
        call_id=call.call_id,
        # Tool names are chosen by servers and stored in the step log.
        name=safe_text(call.name, limit=200),
        kind=call.kind,
        files=tuple(path for path in map(safe_path, call.files) if path),
        command=call.command and safe_text(call.command, limit=MAX_COMMAND_CHARS),
        query=call.query and safe_text(call.query, limit=MAX_COMMAND_CHARS),
        edits=tuple(
            Edit(path, safe_text(e.before), safe_text(e.after))
            for e in call.edits
            if (path := safe_path(e.path))
        ),
        answers=tuple(
            Answer(
                safe_text(one.question, limit=MAX_COMMAND_CHARS),
                safe_text(one.answer, limit=MAX_COMMAND_CHARS),
                one.is_choice,
                safe_text(one.meaning, limit=MAX_COMMAND_CHARS),
                safe_text(one.topic, limit=200),
            )
            for one in call.answers
        ),
        # What is read of the input is in the fields above.
        input="",
        output=without_instructions(safe_text(call.output)) if with_output else "",
        error=_foreign(call.error),
        duration_ms=call.duration_ms,
    )


def _foreign(text: str | None) -> str | None:
    """Text that a tool or an agent wrote, not a person."""
    return None if text is None else without_instructions(safe_text(text))


def _bounded(text: str, *, limit: int) -> str:
    """Head and tail of a long text; only the head when the cut could separate a private or injected
    part from its marker."""
    if len(text) <= limit:
        return text
    head = text[: limit * 3 // 4]
    head = head[: head.rfind("\n") + 1] or head[: head.rfind(" ") + 1] or head
    folded = text.lower()
    if FRAME in folded or _PRIVATE.search(folded):
        return head
    tail = text[-(limit // 4) :]
    cut = tail.find("\n") if "\n" in tail else tail.find(" ")
    return f"{head}[… {len(text) - limit} characters left out …]\n{tail[cut + 1 :]}"


def _without_control(text: str) -> str:
    """Text without terminal codes; binary data becomes a placeholder."""
    kept = _TERMINAL.sub("", text) if "\x1b" in text else text
    if not _UNPRINTABLE.search(kept):
        return kept
    sample = kept[:_SAMPLE_CHARS]
    if sample and len(_UNPRINTABLE.findall(sample)) > len(sample) * _BINARY_SHARE:
        return f"[binary, {len(text)} characters]"
    return _UNPRINTABLE.sub("", kept)

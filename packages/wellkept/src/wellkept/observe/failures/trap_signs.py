"""Signs of a trap in one tool call: what it failed for, beyond the command itself.

Four kinds. An edit that was refused because its text had other indentation than the file: shown by
the edit that then went through. Rules that a commit hook checks: named in its output. A program
that is not installed. A file that is made from another: said by a check that failed after it was
edited. Nothing here decides what is told; `traps` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.session.steps import SessionStep
from wellkept.text.events.failure_cause import absent_tool
from wellkept.text.events.refused_edits import other_indentation
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.purpose import Purpose

SignKind: TypeAlias = Literal["indentation", "rule", "absent", "present", "made"]
_MAX_RULES = 8
_MAX_SCANNED_CHARS = 60_000
_HOOK_LINES = 600
_PATH = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]:)?[\\/]?(?:[\w.@\[\]()-]+[\\/])*[\w.@-]*\w(?P<ext>\.\w{1,6})(?=[\s:(\"',]|$)"
)
_MADE_FROM = re.compile(
    r"(?P<made>[\w@.][\w@./-]*\.\w{1,8})[`'\"]? (?:is|was|has been|gets|will be) "
    r"(?:auto(?:matically)?[ -]?)?"
    r"(?:made|generated|built|compiled|rendered|created|produced|copied) (?:automatically )?"
    r"(?:from|out of) (?:the )?[`'\"]?(?P<source>[\w@.][\w@./-]*\.\w{1,8})"
)
_RULES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?P<id>MD\d{3})/(?P<name>[a-z][\w-]+)",
        r"[✖✗⚠]\s+.{4,80}\s\[(?P<id>[a-z]+-[a-z-]+)\]",
        r"\s(?:error|warning)\s{2,}.{4,200}\s{2,}(?P<id>[@\w-]+(?:/[\w-]+)*)\s*$",
        r"\b(?P<id>lint/[a-z]\w+/[a-z]\w+)",
        r"^\S+\.pyi?:\d+:\d+:? (?P<id>[A-Z]{1,4}\d{3,4})\b",
        r"\b(?P<id>(?:SC|DL)\d{4})\b",
        r": [CRWEF]\d{4}: .{4,200} \((?P<id>[a-z][\w-]+)\)$",
        r": [CWEF]: (?:\[Correctable\] )?(?P<id>[A-Z]\w+/\w+):",
    )
)
_RULE_HINTS = ("MD0", "[", "error", "warning", "lint/", ".py:", "SC", "DL", ": C", ": W", ": E")


@record(kw_only=True)
class TrapSign:
    """One sign: what it is about (a file pattern, a program), and the detail that varies."""

    kind: SignKind
    subject: str
    at: datetime
    detail: str = ""


def signs_of_step(step: ToolStep, log: Sequence[SessionStep]) -> list[TrapSign]:
    """The signs that a call shows, given the log before it."""
    if step.edits:
        return list(_indentation(step, log))
    if step.main is None or step.stopped:
        return []
    if step.ok:
        return [_sign(step, "present", step.main.words[0])] if step.main.exit_counts else []
    cause = next((entry.error for entry in step.log if entry.error), None) or ""
    signs = list(_hook_rules(step)) if step.main.purpose is Purpose.COMMIT else []
    signs += _made_files(step, cause, log)
    tool = absent_tool(cause)
    is_called = tool and any(one.words[0] == tool for one in step.commands)
    return [*signs, _sign(step, "absent", tool)] if tool and is_called else signs


def _indentation(step: ToolStep, log: Sequence[SessionStep]) -> Iterator[TrapSign]:
    """A refused edit whose lines went through with other indentation."""
    for name, edit in step.edits:
        refused = [
            entry
            for entry in log
            if entry.what == name and not entry.ok and entry.kind == "edit" and entry.mark
        ]
        for entry in refused:
            kind = other_indentation(entry.mark, edit.before)
            if kind is not None:
                yield from [_sign(step, "indentation", _glob(name), detail=kind)] * entry.count


def _made_files(step: ToolStep, cause: str, log: Sequence[SessionStep]) -> Iterator[TrapSign]:
    """A failed command says that a file which was just edited is made from another."""
    found = _MADE_FROM.search(cause)
    if found is None or found["made"] == found["source"]:
        return
    edited = [entry.what for entry in log if entry.is_edit]
    for name in dict.fromkeys(edited):
        if name == found["made"] or name.endswith(f"/{found['made']}"):
            yield _sign(step, "made", name, detail=found["source"])


def _hook_rules(step: ToolStep) -> Iterator[TrapSign]:
    """The rules that a commit hook names, with the kind of file that they are about."""
    text = f"{step.call.output}\n{step.call.error or ''}"[:_MAX_SCANNED_CHARS]
    header, seen = "", set[tuple[str, str]]()
    for line in text.splitlines()[:_HOOK_LINES]:
        path = _PATH.search(line)
        if path is not None and len(line) < 300:
            header = path["ext"]
        if not any(hint in line for hint in _RULE_HINTS):
            continue
        for pattern in _RULES:
            found = pattern.search(line)
            if found is None or len(seen) >= _MAX_RULES:
                continue
            groups = found.groupdict()
            rule = " ".join(filter(None, (groups["id"], groups.get("name"))))
            about = f"*{header}" if header and "✖" not in line else "commit message"
            if (about, rule) not in seen:
                seen.add((about, rule))
                yield _sign(step, "rule", about, detail=rule)
            break


def _sign(step: ToolStep, kind: SignKind, subject: str, *, detail: str = "") -> TrapSign:
    return TrapSign(kind=kind, subject=subject[:80], detail=detail[:80], at=step.call.origin.at)


def _glob(name: str) -> str:
    file = name.rpartition("/")[2]
    dot = file.rfind(".")
    return f"*{file[dot:]}" if dot > 0 else file

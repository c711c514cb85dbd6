"""Renders a skill as the prompt for a model.

The base folder, then the instructions with the arguments substituted, then the arguments themselves
when the instructions have no placeholder. Invariants: the text fits its budget; a cut is stated
with correct numbers; arguments are cut only when they alone do not fit; the same skill and
arguments give the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.skills import Skill, SkillContext, SkillFormat
from wellkept.core.text import estimate_tokens
from wellkept.skills.commands.arguments import Arguments, substitute
from wellkept.skills.safe_paths import is_inside

MAX_CHARS: Final = 15_000
_INHERITED: Final = frozenset(("", "inherit"))
_NO_ARGUMENTS: Final = Arguments()


@record(kw_only=True)
class PromptBudget:
    """The maximum length of a rendered prompt."""

    max_chars: int = MAX_CHARS
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] = estimate_tokens

    def allows(self, text: str) -> bool:
        """Whether a text fits."""
        if len(text) > self.max_chars:
            return False
        return self.max_tokens is None or self.count_tokens(text) <= self.max_tokens


@record(kw_only=True)
class RenderedPrompt:
    """The text for the model, and how the skill is to be run.

    `allowed_tools` empty means all; `model` None means the current one; with the context `fork` a
    separate agent of the kind `agent` does the work.
    """

    skill: Skill
    text: str
    tokens: int
    is_cut: bool = False
    lines_left_out: int = 0
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None
    context: SkillContext = SkillContext.MAIN
    agent: str | None = None


def render_prompt(
    skill: Skill,
    arguments: Arguments = _NO_ARGUMENTS,
    *,
    budget: PromptBudget | None = None,
    served: str | None = None,
) -> RenderedPrompt:
    """The prompt of a skill with arguments; `served` is the text of a server's prompt."""
    if skill.format is SkillFormat.PROMPT and served is None:
        raise UsageError(
            f"The text of {skill.name!r} is on the server {skill.source.name!r}.",
            hint="Run it in a client that is connected to that server.",
        )
    budget = budget or PromptBudget()
    base = _base_folder(skill)
    head = f"Base directory for this skill: {base}\n\n" if base else ""
    where = {"base_dir": base, "baseDir": base, "CLAUDE_SKILL_DIR": base} if base else {}
    if skill.format is SkillFormat.PROMPT:
        body, tail = served or "", ""
    else:
        filled = substitute(skill.body, arguments, names=where)
        body = filled.text
        tail = f"\n\nARGUMENTS: {arguments.text}" if arguments.text and not filled.used else ""
    text, left_out = _fitted(head, body.rstrip(), tail, skill, budget)
    how = skill.invocation
    return RenderedPrompt(
        skill=skill,
        text=text,
        tokens=budget.count_tokens(text),
        is_cut=left_out is not None,
        lines_left_out=left_out or 0,
        allowed_tools=how.allowed_tools,
        model=None if (how.model or "").lower() in _INHERITED else how.model,
        context=how.context,
        agent=how.agent,
    )


def _base_folder(skill: Skill) -> str:
    """The folder of a skill's files, empty when it has none or names one outside its own."""
    base = skill.base_dir
    if base is None or skill.format is not SkillFormat.FULL:
        return ""
    own = skill.path.parent if skill.path else base
    return str(base) if is_inside(base, own) else str(own)


def _fitted(
    head: str, body: str, tail: str, skill: Skill, budget: PromptBudget
) -> tuple[str, int | None]:
    """The whole text, or as many lines of the body as fit, and how many were left out."""
    if budget.allows(head + body + tail):
        return head + body + tail, None
    lines = body.split("\n")

    def with_lines(shown: int) -> str:
        body_part = "\n".join(lines[:shown])
        return f"{head}{body_part}\n\n{_line_mark(skill, len(lines) - shown, len(lines))}{tail}"

    shown = _most(len(lines), lambda count: budget.allows(with_lines(count)))
    if shown:
        return with_lines(shown), len(lines) - shown
    return _characters(head + body, tail, skill, budget), len(lines)


def _characters(body: str, tail: str, skill: Skill, budget: PromptBudget) -> str:
    """A part of the first line, when not even one line fits; then of everything."""

    def with_chars(text: str, shown: int, after: str) -> str:
        mark = _mark(skill, f"{len(text) - shown:,} of {len(text):,} characters left out")
        return f"{text[:shown]}\n\n{mark}{after}"

    for text, after in ((body, tail), (body + tail, "")):
        shown = _most(
            len(text), lambda count, t=text, a=after: budget.allows(with_chars(t, count, a))
        )
        if shown:
            return with_chars(text, shown, after)
    raise UsageError(f"The budget is too small for {skill.name!r}.", hint="Raise the limit.")


def _line_mark(skill: Skill, left_out: int, total: int) -> str:
    return _mark(skill, f"{left_out:,} of {total:,} lines left out")


def _mark(skill: Skill, what: str) -> str:
    whole: Path | str = skill.path or f"`wellkept skill show {skill.name}`"
    return f"[{what} to fit the budget; the whole: {whole}]"


def _most(at_most: int, fits: Callable[[int], bool]) -> int:
    """The largest count that fits, by binary search."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low

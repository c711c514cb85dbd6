"""Renders a skill as the prompt for a model.

The base folder, then the instructions with the arguments substituted, then the arguments themselves
when the instructions have no placeholder. Invariants: the text fits its budget; a cut is stated
with correct numbers; arguments are cut only when they alone do not fit; the same skill and
arguments give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.skills import Skill, SkillContext, SkillFormat
from wellkept.core.text import clean, estimate_tokens
from wellkept.skills.safe_paths import is_inside

MAX_ARGUMENT_CHARS: Final = 64_000
MAX_NAME_CHARS: Final = 200
_TYPED = re.compile(r"\s*/([^\s/\x00-\x1f][^\s\x00-\x1f]*)(?:\s+(.*))?\Z", re.DOTALL)
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"(?!\S)|\'([^\']*)\'(?!\S)|(\S+)', re.DOTALL)
_QUOTES: Final = ("", '"', "'")
_ESCAPED = re.compile(r'\\(["\\])')
# Amounts of money are not placeholders: $100, $1.50, $5,000.
_PLACEHOLDER = re.compile(
    r"""\\(?P<kept>\$(?=[A-Z{0-9]))
    | \$(?P<all>ARGUMENTS)(?:\[(?P<index>[0-9]{1,3})\])?(?!\w)
    | \$(?P<number>[1-9])(?![\w]|[.,][0-9])
    | \$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}""",
    re.VERBOSE,
)


@record
class Arguments:
    """The text after a command's name: as typed, and as words."""

    text: str = ""
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Arguments:
        """The arguments of a typed text."""
        plain = _checked(text).strip()
        return cls(plain, split_words(plain))

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Arguments:
        """Arguments that are split already, as from a shell."""
        plain = tuple(map(clean, words))
        return cls(_checked(" ".join(plain)).strip(), plain)


@record
class TypedCommand:
    """A command as typed."""

    name: str
    arguments: Arguments


@record
class _Substituted:
    """A text with the arguments substituted; `used` when it had a placeholder."""

    text: str
    used: bool


def read_command(text: str) -> TypedCommand | None:
    """The command in a text; None when it does not start with a slash and a name."""
    found = _TYPED.match(text)
    if found is None or len(found[1]) > MAX_NAME_CHARS:
        return None
    return TypedCommand(clean(found[1]), Arguments.of(found[2] or ""))


def _checked(text: str) -> str:
    """The text fit for storage; UsageError when it is too long."""
    if len(text) > MAX_ARGUMENT_CHARS:
        raise UsageError(
            f"The arguments have {len(text):,} characters; the most is {MAX_ARGUMENT_CHARS:,}.",
            hint="Put the text into a file and name the file.",
        )
    return clean(text)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a typed text."""
    return tuple(_word(found) for found in _WORD.finditer(text))


def _word(found: re.Match[str]) -> str:
    double, single, plain = found.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single if single is not None else plain


def join_words(words: Iterable[str]) -> str:
    """A text that is split into exactly these words, quoted only where needed."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word[:1] not in _QUOTES and split_words(word) == (word,):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def substitute(text: str, arguments: Arguments, *, names: Mapping[str, str]) -> _Substituted:
    """The text with `$ARGUMENTS`, `$ARGUMENTS[0]`, `$1`…`$9` and `${name}` substituted.

    A backslash keeps a placeholder as written. A missing word becomes empty; but without any
    arguments `$1` and its like stay, since they may belong to a shell command in the text. Unknown
    names stay too.
    """
    used = False

    def replacement(match: re.Match[str]) -> str:
        nonlocal used
        if match["kept"]:
            return match["kept"]
        if match["name"]:
            return names.get(match["name"], match[0])
        used = True
        if match["all"] and match["index"] is None:
            return arguments.text
        if not arguments.words and match["number"]:
            return match[0]
        number = int(match["number"]) - 1 if match["number"] else int(match["index"])
        return arguments.words[number] if number < len(arguments.words) else ""

    return _Substituted(_PLACEHOLDER.sub(replacement, text), used)


# -- Rendering ------------------------------------------------------------------------------------


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

    shown = most_that_fit(len(lines), lambda count: budget.allows(with_lines(count)))
    if shown:
        return with_lines(shown), len(lines) - shown
    return _characters(head + body, tail, skill, budget), len(lines)


def _characters(body: str, tail: str, skill: Skill, budget: PromptBudget) -> str:
    """A part of the first line, when not even one line fits; then of everything."""

    def with_chars(text: str, shown: int, after: str) -> str:
        mark = _mark(skill, f"{len(text) - shown:,} of {len(text):,} characters left out")
        return f"{text[:shown]}\n\n{mark}{after}"

    for text, after in ((body, tail), (body + tail, "")):
        shown = most_that_fit(
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


def most_that_fit(at_most: int, fits: Callable[[int], bool]) -> int:
    """The largest count that fits, by binary search."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low

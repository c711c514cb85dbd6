"""`verb`: the declaration of a verb, and `Arg`, what is said about one of its arguments.

    @verb(tool="memory_recall", toolset="default", tell="What earlier sessions learned …")
    def recall(wk: Workspace, query: Annotated[str, Arg("Words or a question.", words=True)],
               *, limit: Annotated[int, Arg("How many.", 1, 100, "-n")] = 10) -> RecallResult:
        "Find the memories that answer a question, best first."

Library, command line, HTTP, MCP, completion and reference follow from it (`wellkept.api.verbs`).
A parameter without `Arg` is for Python only. The result is a record with `as_text()`: what the
command line prints and a model reads; its fields are the JSON of every surface. Parameters of
`as_text` with an `Arg` are options of the command and arguments of the tool. A result may have
`as_table()` too, for the command line. Knows no surface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wellkept.core.records import field, record
from wellkept.core.team.people import Role

_Function = TypeVar("_Function", bound=Callable[..., Any])


@record
class Arg:
    """An argument: its help, and how surfaces name it.

    `low` and `high` bound a number, or the length of a text or list. `short` is a one-letter
    option. `words` makes the rest of the command line its text. `flag` is the option when it is
    not the name: `--type`, `--pin/--unpin`. `hidden` is taken but neither listed for models nor in
    the short help. `aka` are other names that models use. `names` is what a shell completes.
    `pipe`: an option whose value `-` is read from standard input. `raw`: all that follows on a
    command line belongs to it, also what looks like an option, and is handed over as words.
    """

    help: str = ""
    low: float | None = None
    high: float | None = None
    short: str = ""
    words: bool = False
    flag: str = ""
    hidden: bool = False
    aka: tuple[str, ...] = ()
    names: str = ""
    metavar: str = ""
    pipe: bool = False
    raw: bool = False


@record
class Alias:
    """Another name of a tool, and arguments that it presets."""

    name: str
    preset: Mapping[str, Any] = field(default_factory=dict[str, Any])


@record
class Table:
    """Rows for a person: aligned on a terminal, with tabs in a pipe."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str = ""
    foot: str = ""


class Effect(Enum):
    """What a verb does to the memory."""

    READS = "reads"
    ADDS = "adds"
    REMOVES = "removes"


_USUAL_ROLE: Final = {
    Effect.READS: Role.READER,
    Effect.ADDS: Role.WRITER,
    Effect.REMOVES: Role.REVIEWER,
}


@record(kw_only=True)
class Verb:
    """A declared verb."""

    function: Callable[..., Any]
    noun: str
    effect: Effect
    tool: str
    preset: Mapping[str, Any]
    at_terminal: Mapping[str, Any]
    toolset: str
    needs_toolset: bool
    aliases: tuple[Alias, ...]
    tell: str
    finds: bool
    role: Role
    on_files: bool
    repeatable: bool
    lenient: bool
    reads: Callable[[dict[str, object]], dict[str, object]] | None
    examples: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """Its word; a trailing underscore keeps a word of Python free."""
        return self.function.__name__.rstrip("_")

    @property
    def words(self) -> str:
        """How it is called on the command line."""
        return f"{self.noun} {self.name}".strip()

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, in one line."""
        return " ".join((self.function.__doc__ or "").strip().split("\n\n")[0].split())


def verb(
    *,
    effect: Effect = Effect.READS,
    noun: str = "",
    tool: str = "",
    preset: Mapping[str, Any] = MappingProxyType({}),
    at_terminal: Mapping[str, Any] = MappingProxyType({}),
    toolset: str = "",
    needs_toolset: bool = False,
    aliases: tuple[Alias | str, ...] = (),
    tell: str = "",
    finds: bool = False,
    role: Role | None = None,
    on_files: bool = False,
    repeatable: bool = True,
    lenient: bool = False,
    reads: Callable[[dict[str, object]], dict[str, object]] | None = None,
    examples: tuple[Mapping[str, Any], ...] = (),
) -> Callable[[_Function], _Function]:
    """Declare a function as a verb.

    `effect` decides methods, role and whether the command asks first (a verb that removes has a
    `dry_run` argument). `tool` is its name for models, default `memory_` or its noun before its
    word; `tell` says to models when to use it; `preset` are arguments that a tool call gets unless
    it gives them, `at_terminal` those of a command; a `toolset` lists it, and with `needs_toolset`
    only then it is answered. With `finds`, a command that finds nothing exits with 1. `on_files`
    works on files of this machine: a team's server does not offer it. A `lenient` one runs on wrong
    settings, too. `reads` turns names and values of documents into ours, for models and queries.
    `examples` are arguments that a test runs on every surface.
    """

    def declared(function: _Function) -> _Function:
        word = function.__name__.rstrip("_")
        known = Verb(
            function=function,
            noun=noun,
            effect=effect,
            tool=tool or f"{noun or 'memory'}_{word}",
            preset=preset,
            at_terminal=at_terminal,
            toolset=toolset,
            needs_toolset=needs_toolset,
            aliases=tuple(Alias(one) if isinstance(one, str) else one for one in aliases),
            tell=tell,
            finds=finds,
            role=role or _USUAL_ROLE[effect],
            on_files=on_files,
            repeatable=repeatable,
            lenient=lenient,
            reads=reads,
            examples=examples,
        )
        function.verb = known  # type: ignore[attr-defined]
        return function

    return declared

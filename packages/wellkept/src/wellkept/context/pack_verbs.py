"""The verb that says what is worth knowing now. `core.verbs` says what a declaration is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from wellkept.context.packing import ContextPack
from wellkept.core.verbs import Arg, verb
from wellkept.memory.arguments import Names
from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.context.build import Considered


class MemoryWithContext(OpenMemory, Protocol):
    """An open memory that packs what is worth knowing."""

    @property
    def pack(self) -> Callable[..., ContextPack]: ...


@verb(
    toolset="default",
    aliases=("inject_context", "get_context"),
    tell="What is worth knowing now: without arguments where work stands (last session, rules, "
    "commands that work here, traps); with query for a task; with files before changing them. "
    "Hooks say this unasked where they are installed.",
    examples=({"query": "edit the deploy script"},),
)
def context(
    wk: MemoryWithContext,
    query: Annotated[
        str,
        Arg(
            "The prompt or task at hand; empty at a session's start.",
            words=True,
            aka=("prompt", "task", "task_description"),
            metavar="PROMPT",
        ),
    ] = "",
    *,
    moment: Annotated[
        Literal["session", "prompt", "file", "command", "failure", "plan"] | None,
        Arg("When it is given. Default: derived from the other arguments.", hidden=True),
    ] = None,
    files: Annotated[Names, Arg("Files at hand.", flag="--file", aka=("file", "file_path"))] = (),
    phase: Annotated[
        str | None,
        Arg("Phase of work; changes the weight of types.", hidden=True, names="phase"),
    ] = None,
    complexity: Annotated[
        Literal["trivial", "standard", "complex"] | None,
        Arg("A trivial task gets no recipes and no end-to-end observations.", hidden=True),
    ] = None,
    budget_tokens: Annotated[
        int | None, Arg("Token budget.", 0, 100_000, flag="--budget", aka=("max_tokens",))
    ] = None,
    max_chars: Annotated[int | None, Arg("Character limit.", 0, hidden=True)] = None,
    shown: Annotated[
        Names, Arg("Memories and lines that were shown already.", hidden=True, metavar="ID")
    ] = (),
    session: Annotated[
        str | None, Arg("Current session; with what it keeps.", hidden=True, names="session")
    ] = None,
    session_limit: Annotated[
        int | None, Arg("Sessions to tell of at a start.", 0, 50, flag="--sessions", hidden=True)
    ] = None,
    observation_limit: Annotated[
        int | None, Arg("Records of work to name.", 0, 200, flag="--observations", hidden=True)
    ] = None,
    observation_types: Annotated[
        Names | None,
        Arg(
            "Only these kinds: decision, bugfix, feature, refactor, discovery, change.",
            flag="--observation-type",
            hidden=True,
            metavar="KIND",
        ),
    ] = None,
    concepts: Annotated[
        Names, Arg("Only records of work about this.", flag="--concept", hidden=True)
    ] = (),
    days: Annotated[int | None, Arg("How far back to look.", 1, 3650, hidden=True)] = None,
    format: Annotated[
        Literal["text", "table"] | None,
        Arg("table: recent work by date, with what each record costs."),
    ] = None,
    skills_within_s: float | None = None,
    output: str = "",
    reading: bool = False,
    quiet: bool = False,
    branch: str | None = None,
    client: str | None = None,
    trace: list[Considered] | None = None,
) -> ContextPack:
    """Show the context an agent would get, within a token budget.

    For a PROMPT, for the files of --file, or else for the start of a session. From Python also at a
    failure: then the query is the command line and `output` what it printed; `reading` when a file
    is only read. With `quiet`, only what is at stake in this session is told; `skills_within_s`
    limits the time to find skills; with `branch`, that branch is taken in place of the one checked
    out; what `client` loads by itself is left out; what is not told is added to `trace`. Who asks
    at a start for so many records of work, or for some kinds or concepts, gets the table.
    """
    at_start = not query.strip() and not files and moment in (None, "session")
    names_work = session_limit is None and (observation_limit or observation_types or concepts)
    return wk.pack(
        query,
        moment=moment,
        files=files,
        phase=phase,
        budget_tokens=budget_tokens,
        max_chars=max_chars,
        shown=_full_ids(wk, shown),
        session=session,
        skills_within_s=skills_within_s,
        output=output,
        reading=reading,
        quiet=quiet,
        session_limit=session_limit,
        observation_limit=observation_limit,
        days=days,
        branch=branch,
        client=client,
        complexity=complexity,
        observation_types=observation_types or None,
        concepts=concepts,
        format=format or ("table" if at_start and names_work else None),
        trace=trace,
    )


def _full_ids(wk: MemoryWithContext, shown: Names) -> Iterable[str]:
    names = (shown,) if isinstance(shown, str) else shown
    # Lines of no memory, and skills.
    return [one if one.startswith(("line:", "s:")) else wk.get(one).id for one in names]

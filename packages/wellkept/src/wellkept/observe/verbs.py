"""The verbs that keep something: remember, note and apply. `core.verbs` says what a declaration
is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Unpack

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.payloads import RecipeStep
from wellkept.core.records import record, replace
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import counted, shorten
from wellkept.core.verbs import Arg, Effect, verb
from wellkept.memory.arguments import MemoryArgs, Names
from wellkept.memory.as_text import brief_line
from wellkept.memory.remember import RememberResult
from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.commands import CommandResult
    from wellkept.observe.observer.api import Observer
    from wellkept.observe.observer.prefetch import FoundRecipe

_LINE_CHARS = 600
_PROVED = (
    "whose words it is follows from the prompts of the session. The person can say it in a prompt,"
    " or confirm it with `wellkept edit ID --action confirm` or on the page."
)


class LearningMemory(OpenMemory, Protocol):
    """An open memory that learns from sessions."""

    @cached_property
    def observer(self) -> Observer: ...


@verb(
    effect=Effect.ADDS,
    toolset="default",
    preset={"source": "agent_explicit"},
    at_terminal={"source": "user_taught"},
    aliases=("memory_store", "memory_save", "memory_add", "add_memory", "save_memory", "remember"),
    tell="Keep one statement for later sessions: when the person asks to remember it, or when you "
    "found out what they would have to find out again (a decision and why, a trap, a command that "
    "works here). Not what the code says; no secrets. Repeats are merged, a contradiction replaces "
    "the old.",
    examples=({"content": "The staging cluster is rebuilt on Sundays", "type": "fact"},),
)
def remember(
    wk: OpenMemory,
    content: Annotated[
        str,
        Arg(
            "One self-contained statement.",
            words=True,
            aka=("text", "statement", "fact", "memory", "value"),
            metavar="TEXT",
        ),
    ],
    *,
    merge_similar: Annotated[
        bool, Arg("Merge with what says the same.", flag="--merge/--no-merge", hidden=True)
    ] = True,
    said_by_person: Annotated[
        bool, Arg("The person says so. Not taken from an agent.", hidden=True)
    ] = False,
    about_person: Annotated[
        bool, Arg("About the person: told everywhere. Not taken from an agent.", hidden=True)
    ] = False,
    steps: Annotated[
        tuple[RecipeStep, ...], Arg("Of a recipe; the text is its task.", hidden=True)
    ] = (),
    **fields: Unpack[MemoryArgs],
) -> RememberResult:
    """Store a memory.

    It is inserted, merged with a similar one, or replaces one that it contradicts; the output says
    which. Without TEXT, standard input is read.
    """
    from wellkept.core.team.people import asking

    is_agent = asking().is_agent
    if said_by_person and not is_agent:
        fields["source"] = "user_taught"
    if about_person and not is_agent:
        fields["scope"] = "user"
    if steps:
        from wellkept.memory.as_text import recipe_files, recipe_payload, recipe_text

        fields = {
            **fields,
            "type": "workflow_recipe",
            "payload": recipe_payload(content, steps),
            "files": recipe_files(steps),
        }
        content, merge_similar = recipe_text(content, steps), False
    draft = wk.requests.draft(content, fields)
    result = wk.remember_many([draft], merge_similar=merge_similar)[0]
    claims = {"said_by_person": said_by_person, "about_person": about_person}
    claimed = [name for name, is_claimed in claims.items() if is_claimed and is_agent]
    return replace(result, notes=tuple(_notes(wk, result, claimed)))


def _notes(wk: OpenMemory, result: RememberResult, claimed: list[str]) -> Iterator[str]:
    from wellkept.core.team.people import asking
    from wellkept.memory.file_presence import path_exists

    memory = result.memory
    if claimed:
        yield f"{' and '.join(claimed)} ignored: {_PROVED}"
    elif memory.is_agent_note and asking().is_agent:
        yield (
            "Kept as an agent's note, for this project only. The person can confirm it:"
            f" wellkept edit {memory.short} --action confirm"
        )
    if wk.has_own_folder:
        missing = [name for name in memory.files if not path_exists(wk.root / name)]
        if missing:
            yield f"Missing files: {', '.join(missing)}. Such memories are searched, not injected."
    if problem := wk.embedding_problem:
        yield f"Stored without a vector: {problem} Run `wellkept admin reindex` to add it."


# -- Notes of a session ---------------------------------------------------------------------------


@record(kw_only=True)
class Noted:
    """What became of a note: `noted` on the session's scratchpad, `captured` as an event, or kept
    as a memory."""

    outcome: str
    id: str
    reason: str
    memory: Memory | None = None
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Its id."""
        return [self.id]

    def as_text(self) -> str:
        """What became of it."""
        if self.memory is None:
            return f"{self.outcome}: {self.reason}"
        return f"{self.outcome}: {brief_line(self.memory)} ({self.reason}, {self.memory.told_by})"


def _note_arguments(given: dict[str, object]) -> dict[str, object]:
    """Of an observation, `type` is its kind."""
    if ("title" in given or "tool_name" in given) and "type" in given:
        given.setdefault("kind", given.pop("type"))
        given.pop("type", None)
    return given


@verb(
    effect=Effect.ADDS,
    noun="session",
    tool="remember_this",
    toolset="recipes",
    repeatable=False,
    aliases=("store_observation", "session_note"),
    tell="While working: note something that this session found out. It is told to this session at "
    "once and kept for later ones when the work has held up. Or one finished piece of work with "
    "kind, title and facts, where no hooks are installed.",
    reads=_note_arguments,
    examples=({"title": "Moved the limits", "kind": "refactor"},),
)
def note(
    wk: LearningMemory,
    content: Annotated[
        str, Arg("One self-contained statement.", words=True, aka=("text", "statement", "fact"))
    ] = "",
    *,
    type: Annotated[
        str, Arg("Its type.", names="type", aka=("category",), metavar="TYPE")
    ] = "fact",
    files: Annotated[
        Names, Arg("Files it is about.", flag="--file", aka=("file", "file_path", "related_files"))
    ] = (),
    session: Annotated[
        str | None, Arg("The session. Default: the latest open.", hidden=True, names="session")
    ] = None,
    key: Annotated[str | None, Arg("With a key it is kept at once.", hidden=True)] = None,
    tags: Annotated[Names, Arg("Tags.", flag="--tag", hidden=True)] = (),
    importance: Annotated[float | None, Arg("Importance.", 0, 1, hidden=True)] = None,
    said_by_person: Annotated[
        bool, Arg("The person says so: kept at once. Not taken from an agent.", hidden=True)
    ] = False,
    about_person: Annotated[
        bool, Arg("About the person: kept at once. Not taken from an agent.", hidden=True)
    ] = False,
    kind: Annotated[
        Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"],
        Arg("Kind of a finished piece of work.", hidden=True, aka=("obs_type", "observation_type")),
    ] = "change",
    title: Annotated[str, Arg("Title of a finished piece of work.", 0, 200, hidden=True)] = "",
    subtitle: Annotated[str, Arg("What it was, in a sentence.", hidden=True)] = "",
    facts: Annotated[Names, Arg("What was found out.", flag="--fact", hidden=True)] = (),
    narrative: Annotated[str, Arg("How it went.", hidden=True)] = "",
    concepts: Annotated[Names, Arg("What it is about.", flag="--concept", hidden=True)] = (),
    files_read: Annotated[Names, Arg("Files that were read.", hidden=True)] = (),
    files_modified: Annotated[Names, Arg("Files that were changed.", hidden=True)] = (),
    work_tokens: Annotated[
        int | None, Arg("Tokens it took.", 0, hidden=True, aka=("discovery_tokens",))
    ] = None,
    tool_name: Annotated[str, Arg("Raw form: the tool that was called.", 0, 200, hidden=True)] = "",
    tool_input: Annotated[Any, Arg("Raw form: its arguments.", hidden=True)] = None,
    tool_output: Annotated[
        Any, Arg("Raw form: what it gave.", hidden=True, aka=("tool_response",))
    ] = None,
) -> Noted:
    """Note something for this session, to be kept once its work has held up.

    Without an open session it is kept at once. With --title, a finished piece of work.
    """
    if tool_name.strip():
        return _captured(wk, session, tool_name, tool_input, tool_output)
    if title.strip():
        from wellkept.core.payloads import Observation
        from wellkept.observe.session.drafts import observation_text

        seen = Observation(
            kind=kind,
            title=title,
            subtitle=subtitle or None,
            facts=_texts(facts),
            narrative=narrative or None,
            concepts=_texts(concepts),
            files_read=_texts(files_read),
            files_modified=_texts(files_modified),
        )
        return _kept(
            remember(
                wk,
                observation_text(seen),
                type="observation",
                tags=(kind,),
                files=files_modified,
                session=session,
                work_tokens=work_tokens,
                payload=seen,
            )
        )
    if not content.strip():
        raise UsageError(
            "Nothing to note.",
            hint="Give a statement; kind and title of a piece of work; or session_id and"
            " tool_name of a raw tool call.",
        )
    at_work = _open_session(wk, session or "")
    if at_work is not None and not (key or said_by_person or about_person):
        from wellkept.core.ids import short_id
        from wellkept.core.types import parse_type

        made = wk.observer.note(at_work, content, type=parse_type(type), files=files)
        if made is not None:
            reason = "told to this session at once; kept for later ones when its work has held up"
            return Noted(outcome="noted", id=short_id(made.id), reason=reason)
    return _kept(
        remember(
            wk,
            content,
            type=type,
            key=key,
            tags=tags,
            files=files,
            importance=importance,
            session=session,
            said_by_person=said_by_person,
            about_person=about_person,
        )
    )


def _kept(result: RememberResult) -> Noted:
    return Noted(
        outcome=result.outcome.value,
        id=result.memory.short,
        reason=result.reason,
        memory=result.memory,
        notes=result.notes,
    )


def _texts(value: Names) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _captured(
    wk: LearningMemory, session: str | None, tool: str, given: object, output: object
) -> Noted:
    if not session:
        raise UsageError("A raw tool call needs session_id.")
    event = wk.observer.capture(session, tool=tool, given=given, output=output)
    reason = f"tool call of session {session}; read with the session's other events"
    return Noted(outcome="captured", id=event, reason=reason)


def _open_session(wk: OpenMemory, name: str) -> SessionRecord | None:
    store = wk.engine.store
    if name.strip():
        session = store.get_session(name)
    else:
        session = next(iter(store.sessions(project=wk.project, limit=1)), None)
    is_ours = session is not None and session.project == wk.project
    return session if session is not None and is_ours and session.is_open else None


# -- Commands in a message ------------------------------------------------------------------------


@record(kw_only=True)
class Done:
    """What one command of a message led to."""

    command: str
    kept: RememberResult | None = None
    forgotten: tuple[Memory, ...] = ()
    choices: tuple[Memory, ...] = ()

    @classmethod
    def of(cls, result: CommandResult) -> Done:
        """The result of one command."""
        return cls(
            command=type(result.command).__name__.lower(),
            kept=result.kept,
            forgotten=result.forgotten,
            choices=result.choices,
        )

    def lines(self) -> Iterator[str]:
        """What was kept or closed, or what fits."""
        from wellkept.memory.recall.requests import NOTHING_KNOWN

        if self.kept is not None:
            yield f"{self.kept.outcome.value}: {_line(self.kept.memory)}"
        yield from (f"closed: {_line(memory)}" for memory in self.forgotten)
        yield from map(_line, self.choices)
        if self.kept is not None or self.forgotten:
            return
        if not self.choices:
            yield "Nothing found." if self.command == "forget" else NOTHING_KNOWN
        elif self.command == "forget":
            yield "Nothing was forgotten. Choose one: `wellkept forget ID`."


def _line(memory: Memory) -> str:
    said = shorten(quoted(memory.content), limit=_LINE_CHARS)
    return f"[m:{memory.short}] {memory.type.value}: {said}"


@record(kw_only=True)
class Applied:
    """What the commands of a message led to, in order."""

    done: tuple[Done, ...]

    def __iter__(self) -> Iterator[Done]:
        return iter(self.done)

    def __len__(self) -> int:
        """How many commands the message had."""
        return len(self.done)

    @property
    def found(self) -> bool:
        """Whether there was any."""
        return bool(self.done)

    def as_text(self) -> str:
        """What each led to."""
        lines = [line for one in self.done for line in one.lines()]
        return "\n".join(lines) or "No memory command in this message."


@verb(effect=Effect.ADDS, finds=True, repeatable=False, examples=({"message": "hello"},))
def apply(
    wk: OpenMemory,
    message: Annotated[str, Arg("What a person said.", words=True, metavar="MESSAGE")],
    *,
    author: Annotated[str | None, Arg("Author of the message.")] = None,
    session: Annotated[str | None, Arg("Session of the message.", names="session")] = None,
) -> Applied:
    """Execute the memory commands in a message.

    Understands "remember that ...", "never ...", "forget ..." and "what do you remember about ..."
    in several languages. Exits with 1 when the message contains no command.
    """
    from functools import partial

    from wellkept.core.team.people import asking
    from wellkept.memory.commands import Speaker, apply_commands
    from wellkept.project.rule_targets import named_things

    asking().require_person("Acting on a person's message")
    speaker = Speaker(author=author, session_id=session, find_named=partial(named_things, wk.root))
    found = apply_commands(wk.engine, message, project=wk.project, speaker=speaker)
    return Applied(done=tuple(map(Done.of, found)))


@record
class Recipes:
    """Recipes that fit a task, best first."""

    items: tuple[FoundRecipe, ...]
    found: bool = True

    def as_text(self) -> str:
        """What such work took here before, step by step."""
        if not self.items:
            return "No recipe fits. One is learned when the same steps worked in three sessions."
        return "\n".join(line for one in self.items for line in _recipe_lines(one))


def _recipe_lines(found: FoundRecipe) -> Iterator[str]:
    recipe = found.recipe
    failed = f", failed {recipe.failure_count}" if recipe.failure_count else ""
    counts = f"worked {counted(recipe.success_count, 'time')}{failed}"
    yield f"[m:{found.memory.short}] {quoted(recipe.task_pattern)} ({counts})"
    if found.stale_reason:
        yield f"may be out of date: {found.stale_reason}"
    for number, step in enumerate(recipe.steps, start=1):
        where = f" ({step.canonical_file})" if step.canonical_file else ""
        yield f"  {number}. {quoted(step.description)}{where}"


@verb(
    tool="get_workflow_recipe",
    toolset="recipes",
    aliases=("search_workflow_recipe",),
    tell="Before planning: the steps that such a task took here before, with the files to change "
    "at each, how often that worked or failed, and whether it may be out of date.",
    examples=({"task": "add an endpoint"},),
)
def recipe(
    wk: LearningMemory,
    task: Annotated[
        str,
        Arg(
            "The task in a sentence or two.",
            1,
            4_000,
            words=True,
            aka=("task_description", "query", "description"),
        ),
    ],
    *,
    limit: Annotated[int, Arg("How many.", 1, 50)] = 2,
) -> Recipes:
    """Show the steps that solved a task like this before."""
    found = tuple(wk.observer.recipes(task, limit=limit))
    return Recipes(found, bool(found))

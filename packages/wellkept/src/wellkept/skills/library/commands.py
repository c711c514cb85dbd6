"""`wk.skills.commands`: runs slash commands of the open project.

Parse, look up, dispatch, render: `/commit -m "a b"` becomes a prompt for a model, or the answer of
a built-in command. Uses are counted. A skill runs only once at a time, in all processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import (
    ConflictError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.file_locks import lock, lock_within, open_lock
from wellkept.core.records import record, replace
from wellkept.core.skills import SkillIndex
from wellkept.core.types import parse_choice
from wellkept.skills.commands.rendering import (
    MAX_CHARS,
    Arguments,
    PromptBudget,
    RenderedPrompt,
    TypedCommand,
    read_command,
    render_prompt,
)
from wellkept.skills.commands.table import (
    Command,
    CommandCall,
    CommandClash,
    CommandKind,
    CommandTable,
    Invoker,
    most_used_first,
    use_score,
)

if TYPE_CHECKING:
    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.skills import Skill
    from wellkept.memory.workspace import Workspace

LOCK_WAIT_S: Final = 0.2
_HOLDER_BYTES: Final = 40
# A command runs even when its use cannot be counted.
_WRITE_ERRORS = (StoreReadOnlyError, StoreBusyError, StoreFullError)


@record(kw_only=True)
class CommandResult:
    """The result of a command: `text` is the answer, or the prompt with details in `prompt`."""

    command: Command
    arguments: Arguments
    text: str
    prompt: RenderedPrompt | None = None

    @property
    def kind(self) -> CommandKind:
        """Whether the text is an answer or for a model."""
        return self.command.kind


class RunLock:
    """One lock file for each running skill. The file contains the process id of the holder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, key: str, *, name: str) -> Generator[None]:
        """Hold the lock of a command; ConflictError when another process keeps it.

        Rendering a prompt takes a moment, so this waits briefly.
        """
        with open_lock(self._folder, key) as file:
            if not lock_within(file, LOCK_WAIT_S):
                holder = file.read(_HOLDER_BYTES).decode("ascii", "replace").strip()
                by = f" in process {holder}" if holder.isdigit() else ""
                raise ConflictError(
                    f"/{name} is already running{by}.", hint="Wait until it has ended."
                )
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
            yield

    def is_held(self, key: str) -> bool:
        """Whether the command is running now."""
        with open_lock(self._folder, key) as file:
            return not lock(file)


class SkillCommands:
    """All slash commands of one project."""

    def __init__(
        self,
        services: Workspace,
        *,
        index: Callable[[], SkillIndex],
        own: Callable[[], tuple[Command, ...]],
        fits: Callable[[], Callable[[Skill], bool]],
        on_use: Callable[[str, str, str], None] = lambda _name, _session, _by: None,
        forced: Callable[[str | None], Collection[str]] = lambda _session: (),
    ) -> None:
        self._services = services
        self._index = index
        self._own = own
        self._fits = fits
        self._on_use = on_use
        self._forced = forced
        self._lock = RunLock(services.path.parent / "skill-runs")
        self._table: tuple[SkillIndex, CommandTable] | None = None

    # -- Looking up -------------------------------------------------------------------------------

    @property
    def table(self) -> CommandTable:
        """All current commands."""
        index = self._index()
        if self._table is None or self._table[0] is not index:
            self._table = (index, CommandTable(index, self._own()))
        return self._table[1]

    def list(self, *, by: str = "person") -> list[Command]:
        """The commands for the user or a model, the most used first."""
        fits = self._fits()
        listed = [
            one for one in self.table.listed(_invoker(by)) if one.skill is None or fits(one.skill)
        ]
        return most_used_first(listed, self._uses(), now=self._services.clock())

    def get(self, name: str, *, by: str = "person") -> Command:
        """The command with that name or alias, if this side may run it."""
        return self.table.get(name, by=_invoker(by))

    def clashes(self) -> tuple[CommandClash, ...]:
        """Names of several commands."""
        return self.table.clashes

    def scores(self) -> dict[str, float]:
        """Command key -> use score, with a half-life of a week."""
        now = self._services.clock()
        return {key: use_score(use, now=now) for key, use in self._uses().items()}

    def use_of(self, skill: Skill) -> SkillUse | None:
        """How often a skill was run here, and when last; None when never."""
        return self._uses().get(skill.key)

    def _uses(self) -> dict[str, SkillUse]:
        return self._services.store.skill_uses(project=self._services.project)

    # -- Running ----------------------------------------------------------------------------------

    def run(
        self,
        typed: str,
        arguments: str | Sequence[str] | None = None,
        *,
        by: str = "person",
        session: str | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        served: str | None = None,
    ) -> CommandResult:
        """Run `/name arguments`, or a name with its arguments as text or words. `served` is the
        text of a prompt that only its server has."""
        with self.running(
            typed,
            arguments,
            by=by,
            session=session,
            max_chars=max_chars,
            max_tokens=max_tokens,
            served=served,
        ) as result:
            return result

    @contextmanager
    def running(
        self,
        typed: str,
        arguments: str | Sequence[str] | None = None,
        *,
        by: str = "person",
        session: str | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        served: str | None = None,
    ) -> Generator[CommandResult]:
        """Like `run`, for callers that carry the prompt out: until the end of the block no other
        process can run this skill in this project. ConflictError when it is running already.
        Built-in commands may run concurrently."""
        parsed = _parse(typed, arguments)
        invoker = _invoker(by)
        command = self._command(parsed.name, by=invoker, session=session)
        budget = PromptBudget(
            max_chars=MAX_CHARS if max_chars is None else max_chars,
            max_tokens=max_tokens,
            count_tokens=self._services.engine.count_tokens,
        )
        with self._exclusive(command):
            call = CommandCall(parsed.arguments, invoker, session)
            result = _result(command, call, budget, served)
            self._note(command, session, invoker)
            yield result

    def _command(self, name: str, *, by: Invoker, session: str | None) -> Command:
        """The command, ready to run. A skill that is forced in the session counts as switched on,
        also for models."""
        found = self.table.find(name)
        if found is None or found.skill is None or found.skill.name not in self._forced(session):
            return self.table.get(name, by=by)
        invocation = replace(found.skill.invocation, disable_model_invocation=False)
        forced = replace(found.skill, enabled=True, invocation=invocation)
        return CommandTable(SkillIndex((forced,))).get(forced.name, by=by)

    def is_running(self, name: str) -> bool:
        """Whether a command of this project is running in any process."""
        command = self.table.find(name)
        return command is not None and self._lock.is_held(self._lock_key(command))

    def _exclusive(self, command: Command) -> AbstractContextManager[None]:
        if command.skill is None:
            return nullcontext()
        return self._lock.held(self._lock_key(command), name=command.name)

    def _lock_key(self, command: Command) -> str:
        return f"{self._services.project}\n{command.key}"

    def _note(self, command: Command, session: str | None, by: Invoker) -> None:
        with suppress(*_WRITE_ERRORS):
            self._services.store.record_skill_use(
                command.key, project=self._services.project, at=self._services.clock()
            )
        if command.skill is not None and session:
            with suppress(*_WRITE_ERRORS):
                self._on_use(command.skill.name, session, by.value)


def _result(
    command: Command, call: CommandCall, budget: PromptBudget, served: str | None
) -> CommandResult:
    """Render a prompt, or call a built-in command."""
    if command.skill is not None:
        prompt = render_prompt(command.skill, call.arguments, budget=budget, served=served)
        return CommandResult(
            command=command, arguments=call.arguments, text=prompt.text, prompt=prompt
        )
    assert command.answer is not None
    return CommandResult(command=command, arguments=call.arguments, text=command.answer(call))


def _parse(typed: str, arguments: str | Sequence[str] | None) -> TypedCommand:
    if arguments is None:
        parsed = read_command(typed if typed.lstrip().startswith("/") else f"/{typed.strip()}")
        if parsed is None:
            raise UsageError(f"{typed[:80]!r} is not a command.", hint="Type a name, as in /help.")
        return parsed
    parsed_arguments = (
        Arguments.of(arguments) if isinstance(arguments, str) else Arguments.of_words(arguments)
    )
    return TypedCommand(typed.strip().removeprefix("/"), parsed_arguments)


def _invoker(by: str) -> Invoker:
    return parse_choice(Invoker, by, what="side")

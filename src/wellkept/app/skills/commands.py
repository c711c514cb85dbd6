"""`wk.skills.commands`: the command pipeline over the skills of the open project.

Parse, look up, dispatch, render: a text such as `/commit -m "a b"` becomes a prompt for a model, or
the answer of one of Wellkept's own commands. Uses are counted, and nothing runs twice at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.app.file_locks import lock, lock_within, open_lock
from wellkept.core.errors import (
    ConflictError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.records import record
from wellkept.core.types import parse_choice
from wellkept.skills.commands.arguments import Arguments, TypedCommand, read_command
from wellkept.skills.commands.rendering import (
    MAX_CHARS,
    PromptBudget,
    RenderedPrompt,
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
    from wellkept.app.skills.builtin_commands import MemoryAccess
    from wellkept.app.wiring.services import Services
    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.skills import SkillIndex
    from wellkept.skills.selection.select import SkillSelection

LOCK_WAIT_S: Final = 0.2
_HOLDER_BYTES: Final = 40
# A command is run even when it cannot be counted.
_NOT_NOW = (StoreReadOnlyError, StoreBusyError, StoreFullError)


@record(kw_only=True)
class CommandResult:
    """What came of a command: `text` is the answer, or the prompt that `prompt` says more about."""

    command: Command
    arguments: Arguments
    text: str
    prompt: RenderedPrompt | None = None

    @property
    def kind(self) -> CommandKind:
        """Whether the text is an answer or for a model."""
        return self.command.kind


class RunLock:
    """Locks below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, key: str, *, name: str) -> Generator[None]:
        """Hold the lock of a command; ConflictError when somebody else has it and keeps it.

        One who only renders a prompt has it for a moment, and that is waited for.
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
        """Whether somebody runs that command now."""
        with open_lock(self._folder, key) as file:
            return not lock(file)


class SkillCommands:
    """Everything that can be typed after a slash, in one project."""

    def __init__(
        self,
        services: Services,
        *,
        index: Callable[[], SkillIndex],
        memory: MemoryAccess,
        search: Callable[[str], SkillSelection],
        on_use: Callable[[str, str, str], None] = lambda _name, _session, _by: None,
    ) -> None:
        self._services = services
        self._index = index
        self._memory = memory
        self._search = search
        self._on_use = on_use
        self._guard = RunLock(services.path.parent / "skill-runs")
        self._table: tuple[SkillIndex, CommandTable] | None = None

    # -- Looking up -------------------------------------------------------------------------------

    @property
    def table(self) -> CommandTable:
        """Every command that there is now."""
        from wellkept.app.skills.builtin_commands import BuiltinCommands

        index = self._index()
        if self._table is None or self._table[0] is not index:
            own = BuiltinCommands(
                self._memory, search=self._search, get=self.get, list_all=self.list
            ).all()
            self._table = (index, CommandTable(index, own))
        return self._table[1]

    def list(self, *, by: str = "person") -> list[Command]:
        """What a person or a model is offered, the most used first."""
        return most_used_first(
            self.table.listed(_invoker(by)), self._uses(), now=self._services.clock()
        )

    def get(self, name: str, *, by: str = "person") -> Command:
        """The command with that name or alias, if that side may run it."""
        return self.table.get(name, by=_invoker(by))

    def clashes(self) -> tuple[CommandClash, ...]:
        """Names that several commands have."""
        return self.table.clashes

    def scores(self) -> dict[str, float]:
        """Command key -> how much it is used, fading with a half-life of a week."""
        now = self._services.clock()
        return {key: use_score(use, now=now) for key, use in self._uses().items()}

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
    ) -> CommandResult:
        """Run `/name arguments`, or a name with its arguments given apart, as text or as words."""
        with self.running(
            typed, arguments, by=by, session=session, max_chars=max_chars, max_tokens=max_tokens
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
    ) -> Generator[CommandResult]:
        """Like `run`, for whoever carries the prompt out: until the end of the block nobody else
        can run this skill in this project. ConflictError when somebody does already. Commands of
        our own may be run by any number at once."""
        asked = _asked(typed, arguments)
        invoker = _invoker(by)
        command = self.table.get(asked.name, by=invoker)
        budget = PromptBudget(
            max_chars=MAX_CHARS if max_chars is None else max_chars,
            max_tokens=max_tokens,
            count_tokens=self._services.engine.count_tokens,
        )
        with self._alone(command):
            result = _result(command, CommandCall(asked.arguments, invoker, session), budget)
            self._note(command, session, invoker)
            yield result

    def is_running(self, name: str) -> bool:
        """Whether somebody runs a command of this project now, in any process."""
        command = self.table.find(name)
        return command is not None and self._guard.is_held(self._lock_key(command))

    def _alone(self, command: Command) -> AbstractContextManager[None]:
        if command.skill is None:
            return nullcontext()
        return self._guard.held(self._lock_key(command), name=command.name)

    def _lock_key(self, command: Command) -> str:
        return f"{self._services.project}\n{command.key}"

    def _note(self, command: Command, session: str | None, by: Invoker) -> None:
        with suppress(*_NOT_NOW):
            self._services.store.record_skill_use(
                command.key, project=self._services.project, at=self._services.clock()
            )
        if command.skill is not None and session:
            with suppress(*_NOT_NOW):
                self._on_use(command.skill.name, session, by.value)


def _result(command: Command, call: CommandCall, budget: PromptBudget) -> CommandResult:
    """Dispatch: a prompt is rendered, one of our own answers."""
    if command.skill is not None:
        prompt = render_prompt(command.skill, call.arguments, budget=budget)
        return CommandResult(
            command=command, arguments=call.arguments, text=prompt.text, prompt=prompt
        )
    assert command.answer is not None
    return CommandResult(command=command, arguments=call.arguments, text=command.answer(call))


def _asked(typed: str, arguments: str | Sequence[str] | None) -> TypedCommand:
    if arguments is None:
        asked = read_command(typed if typed.lstrip().startswith("/") else f"/{typed.strip()}")
        if asked is None:
            raise UsageError(f"{typed[:80]!r} is no command.", hint="Type a name, as in /help.")
        return asked
    given = Arguments.of(arguments) if isinstance(arguments, str) else Arguments.of_words(arguments)
    return TypedCommand(typed.strip().removeprefix("/"), given)


def _invoker(by: str) -> Invoker:
    return parse_choice(Invoker, by, what="side")

"""The table of slash commands: skills and built-in commands.

A command is either a prompt (a skill whose text goes to the model) or local (a function that
answers at once). Invariants: every name leads to one command; an alias never refers to another
alias; a name wins over an alias, and a built-in command over a skill, since a checkout is not
trusted. A covered command is still available as `kind:name`, and is listed as a clash. Knows
nothing of how commands are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ports.skills import SkillUse
from wellkept.core.records import field, record
from wellkept.core.skills import Skill, SkillFormat, SkillIndex
from wellkept.skills.commands.rendering import Arguments

LOCAL_KIND: Final = "wellkept"
_HALF_LIFE_DAYS: Final = 7.0
_DAY_S: Final = 86_400.0


class CommandKind(StrEnum):
    """The result of a command: an immediate answer, or a text for the model."""

    LOCAL = "local"
    PROMPT = "prompt"


class Invoker(StrEnum):
    """Who runs a command."""

    PERSON = "person"
    MODEL = "model"


@record
class CommandCall:
    """One use of a command: its arguments, by whom, in which session."""

    arguments: Arguments = Arguments()
    by: Invoker = Invoker.PERSON
    session: str | None = None


@record(kw_only=True)
class Command:
    """Something that can be typed as `/name`; exactly one of `skill` and `answer` is set."""

    name: str
    description: str
    aliases: tuple[str, ...] = ()
    argument_hint: str | None = None
    for_people: bool = True
    for_models: bool = True
    skill: Skill | None = None
    answer: Callable[[CommandCall], str] | None = field(default=None, compare=False)

    @property
    def kind(self) -> CommandKind:
        """The kind of its result."""
        return CommandKind.LOCAL if self.skill is None else CommandKind.PROMPT

    @property
    def key(self) -> str:
        """Stays the same over time; uses are counted under it."""
        return f"{LOCAL_KIND}::{self.name}" if self.skill is None else self.skill.key

    @property
    def source(self) -> str:
        """Where it comes from, for display."""
        if self.skill is None:
            return LOCAL_KIND
        return f"{self.skill.source.kind.value}:{self.skill.source.name}"

    @property
    def is_hidden(self) -> bool:
        """Whether it is not listed for users."""
        return not self.for_people

    @property
    def usage(self) -> str:
        """The command as typed."""
        return f"/{self.name} {self.argument_hint}" if self.argument_hint else f"/{self.name}"

    def open_to(self, by: Invoker) -> bool:
        """Whether this side may run it."""
        return self.for_people if by is Invoker.PERSON else self.for_models


def command_of(skill: Skill) -> Command:
    """A skill as a command."""
    how = skill.invocation
    return Command(
        name=skill.name,
        description=skill.description,
        aliases=how.aliases,
        argument_hint=how.argument_hint,
        for_people=how.user_invocable,
        for_models=not how.disable_model_invocation,
        skill=skill,
    )


@record
class CommandClash:
    """Several commands with one name: the first is run, the others only as `kind:name`."""

    name: str
    winner: Command
    covered: tuple[Command, ...]


class CommandTable:
    """Every command of one project."""

    def __init__(self, index: SkillIndex, own: Sequence[Command] = ()) -> None:
        self._own = {command.name: command for command in own}
        skills = [command_of(skill) for skill in index if _is_command(skill)]
        self._commands = [*own, *(one for one in skills if one.name not in self._own)]
        covered = [command_of(s) for clash in index.clashes for s in clash.covered]
        covered += [one for one in skills if one.name in self._own]
        self.clashes = tuple(_clashes(self._commands, covered))
        self._by_name = _names(self._commands, covered)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)

    def listed(self, by: Invoker = Invoker.PERSON) -> list[Command]:
        """The commands for this side: enabled, usable and allowed."""
        return [one for one in self._commands if one.open_to(by) and _is_ready(one)]

    def find(self, name: str) -> Command | None:
        """The command with that name, alias or `kind:name`; also a disabled one."""
        plain = name.strip().removeprefix("/")
        return self._by_name.get(plain) or self._by_name.get(plain.casefold())

    def get(self, name: str, *, by: Invoker = Invoker.PERSON) -> Command:
        """The command to run. The error says why there is none, and what to do."""
        found = self.find(name)
        if found is None:
            raise NotFoundError(f"Unknown command {name[:80]!r}.", hint=self._nearest(name, by))
        _require_ready(found, by)
        return found

    def _nearest(self, name: str, by: Invoker) -> str:
        known = [alias for one in self.listed(by) for alias in (one.name, *one.aliases)]
        close = get_close_matches(name.strip().removeprefix("/")[:80], known, n=1)
        return f"Did you mean /{close[0]}?" if close else "See `wellkept skill list --commands`."


def _is_command(skill: Skill) -> bool:
    """Convention files are read by clients; they are not commands."""
    return skill.format is not SkillFormat.CONVENTION


def _is_ready(command: Command) -> bool:
    skill = command.skill
    return skill is None or (skill.enabled and skill.is_usable)


def _require_ready(command: Command, by: Invoker) -> None:
    skill = command.skill
    if skill is not None and not skill.enabled:
        raise UsageError(
            f"The skill {skill.name!r} is switched off here.",
            hint=f"Switch it on with `wellkept skill enable {skill.name}`.",
        )
    if skill is not None and not skill.is_usable:
        raise UsageError(
            f"The skill {skill.name!r} has no instructions.",
            hint=f"`wellkept skill validate {skill.name}` shows what is wrong.",
        )
    if command.open_to(by):
        return
    if by is Invoker.PERSON:
        raise UsageError(
            f"/{command.name} is not for people (user-invocable is false).",
            hint="Agents select it by themselves.",
        )
    raise UsageError(
        f"/{command.name} may only be run by the user.", hint="Ask the user to type it."
    )


def _clashes(commands: Iterable[Command], covered: Iterable[Command]) -> Iterator[CommandClash]:
    by_name: dict[str, list[Command]] = {}
    for one in covered:
        by_name.setdefault(one.name, []).append(one)
    for winner in commands:
        if winner.name in by_name:
            yield CommandClash(winner.name, winner, tuple(by_name[winner.name]))


def _names(commands: Sequence[Command], covered: Sequence[Command]) -> Mapping[str, Command]:
    """Every name of a command, the weakest first so that stronger ones overwrite."""
    found: dict[str, Command] = {}
    for one in (*reversed(covered), *reversed(commands)):
        kind = LOCAL_KIND if one.skill is None else one.skill.source.kind.value
        found[f"{kind}:{one.name}"] = one
    for one in reversed(commands):
        found.update(dict.fromkeys(one.aliases, one))
    found.update((one.name.casefold(), one) for one in reversed(commands))
    found.update((one.name, one) for one in commands)
    return found


def use_score(use: SkillUse, *, now: datetime) -> float:
    """The number of uses, halved for every week since the last use. Orders lists for users only: it
    has no influence on what is selected for an agent."""
    days = max(0.0, (now - use.last_used_at).total_seconds() / _DAY_S)
    return use.count * 2.0 ** (-days / _HALF_LIFE_DAYS)


def most_used_first(
    commands: Iterable[Command], uses: Mapping[str, SkillUse], *, now: datetime
) -> list[Command]:
    """Commands, the most used first; unused ones keep their order."""

    def score(command: Command) -> float:
        use = uses.get(command.key)
        return 0.0 if use is None else use_score(use, now=now)

    return sorted(commands, key=score, reverse=True)

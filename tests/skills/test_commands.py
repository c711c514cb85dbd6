"""The one table of commands: names, aliases, clashes, and who may run what."""

from __future__ import annotations

import pytest

from tests.skills.choosing import skill
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.core.skills import Skill, SkillClash, SkillFormat, SkillIndex, SkillInvocation
from wellkept.skills.commands.table import Command, CommandCall, CommandKind, CommandTable, Invoker

pytestmark = pytest.mark.feature("F5")


def named(name: str, **invocation: object) -> Skill:
    made = skill(name, f"What {name} does")
    return replace(made, invocation=SkillInvocation(**invocation))  # type: ignore[arg-type]


def own(name: str, *aliases: str) -> Command:
    def answer(call: CommandCall) -> str:
        return call.arguments.text

    return Command(name=name, description="Our own", aliases=aliases, answer=answer)


def test_skills_and_own_commands_stand_in_one_table() -> None:
    table = CommandTable(SkillIndex((named("deploy"),)), [own("help")])
    assert [one.name for one in table] == ["help", "deploy"]
    assert table.get("/help").kind is CommandKind.LOCAL
    assert table.get("deploy").kind is CommandKind.PROMPT
    assert table.get(" /Deploy ").name == "deploy"


def test_an_alias_leads_to_its_command_and_a_name_goes_first() -> None:
    index = SkillIndex((named("ship", aliases=("deploy", "s")), named("deploy")))
    table = CommandTable(index)
    assert table.get("s").name == "ship"
    assert table.get("deploy").name == "deploy"


def test_aliases_that_point_at_each_other_lead_nowhere_in_circles() -> None:
    index = SkillIndex((named("a", aliases=("b", "c")), named("b", aliases=("a", "c"))))
    table = CommandTable(index)
    assert [table.get(name).name for name in "abc"] == ["a", "b", "a"]


def test_a_skill_cannot_take_the_place_of_an_own_command() -> None:
    index = SkillIndex((named("remember"), named("x", aliases=("help",))))
    table = CommandTable(index, [own("remember"), own("help")])
    assert table.get("remember").kind is CommandKind.LOCAL
    assert table.get("help").kind is CommandKind.LOCAL
    (clash,) = table.clashes
    assert (clash.name, clash.winner.source) == ("remember", "wellkept")
    assert [one.source for one in clash.covered] == ["project:.skills"]
    assert table.get("project:remember").kind is CommandKind.PROMPT
    assert table.get("wellkept:remember").kind is CommandKind.LOCAL


def test_a_covered_skill_is_shown_and_reached_by_its_kind() -> None:
    winner, covered = named("deploy"), skill("deploy", "The other one")
    other = replace(covered, source=replace(covered.source, kind=covered.source.kind.USER))
    table = CommandTable(SkillIndex((winner,), (SkillClash("deploy", winner, (other,)),)))
    assert [clash.name for clash in table.clashes] == ["deploy"]
    assert table.get("user:deploy").description == "The other one"
    assert table.get("project:deploy").skill == winner


def test_people_and_models_see_what_is_meant_for_them() -> None:
    for_models, for_people = named("hidden", user_invocable=False), named("release")
    people_only = named("pay", disable_model_invocation=True)
    table = CommandTable(SkillIndex((for_models, for_people, people_only)))
    assert [one.name for one in table.listed()] == ["release", "pay"]
    assert [one.name for one in table.listed(Invoker.MODEL)] == ["hidden", "release"]
    assert table.get("hidden", by=Invoker.MODEL).is_hidden
    with pytest.raises(UsageError, match="not for people"):
        table.get("hidden")
    with pytest.raises(UsageError, match="only be run by the user"):
        table.get("pay", by=Invoker.MODEL)


def test_what_is_off_or_empty_is_not_run_and_says_why() -> None:
    off = replace(named("off"), enabled=False)
    empty = replace(named("empty"), body="")
    table = CommandTable(SkillIndex((off, empty)))
    assert table.listed() == []
    with pytest.raises(UsageError, match="switched off") as caught:
        table.get("off")
    assert "skill enable off" in str(caught.value)
    with pytest.raises(UsageError, match="no instructions"):
        table.get("empty")


def test_convention_files_are_no_commands() -> None:
    claude = replace(named("CLAUDE"), format=SkillFormat.CONVENTION)
    assert len(CommandTable(SkillIndex((claude,)))) == 0


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    table = CommandTable(SkillIndex((named("deploy"),)), [own("help")])
    with pytest.raises(NotFoundError, match="Did you mean /deploy"):
        table.get("/deplyo")
    with pytest.raises(NotFoundError):
        table.get("usr/bin/python")

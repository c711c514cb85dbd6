"""F. Skills and commands: found, chosen, run, learned, and safe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.product import CLI, Installation
from tests.journeys.test_g_agent import run as agent
from wellkept.testing.scripted_model import call, calls

DEPLOY = """---
name: deploy-service
description: Deploy the billing service to the staging cluster.
tags: [ops]
aliases: [ship]
argument-hint: "<version>"
allowed_tools: Bash
disableModelInvocation: false
team-owner: payments
detect:
  files: [deploy.yaml]
inject_into: [implementation]
---

Deploy version $ARGUMENTS to staging, then look at the logs.
"""


def skill(here: Installation, name: str, text: str, folder: str = ".skills") -> Path:
    return here.file(f"{folder}/{name}/SKILL.md", text)


def named(here: Installation) -> dict[str, dict[str, object]]:
    return {item["name"]: item for item in here.wellkept("skill", "list", "--json").json["items"]}


@pytest.mark.feature("F1")
def test_f1_every_format_is_read_and_unknown_keys_are_kept(here: Installation) -> None:
    skill(here, "deploy-service", DEPLOY)
    here.file(".skills/light.md", "---\nname: light\ndescription: A light one.\n---\nBe light.\n")
    here.file("CLAUDE.md", "# House rules\n\nNever push on Fridays.\n")
    shown = here.wellkept("skill", "show", "deploy-service", "--json").json
    assert shown["skill"]["aliases"] == ["ship"]
    assert shown["skill"]["argument_hint"] == "<version>"
    assert shown["allowed_tools"] == ["Bash"]
    assert "payments" in json.dumps(shown["extra"])
    assert "light" in named(here)
    checked = here.wellkept("skill", "validate", "deploy-service", "--json").json["items"]
    assert "error" not in json.dumps([one.get("severity") for one in checked])


@pytest.mark.feature("F2")
def test_f2_the_nearer_source_wins_a_name_clash(here: Installation) -> None:
    home = Path(here.environment["HOME"])
    mine = home / ".claude/skills/commit-message/SKILL.md"
    mine.parent.mkdir(parents=True)
    text = "---\nname: commit-message\ndescription: {} words.\n---\nUse {} words.\n"
    mine.write_text(text.format("My", "my"))
    assert str(named(here)["commit-message"]["source"]).startswith("user:")
    skill(here, "commit-message", text.format("House", "our"), ".claude/skills")
    winner = named(here)["commit-message"]
    assert str(winner["source"]).startswith("project:")
    assert winner["priority"] >= 201  # type: ignore[operator]
    clashes = here.wellkept("skill", "list", "--json").json["clashes"]
    assert "commit-message" in json.dumps(clashes)
    assert "Use our words." in here.wellkept("skill", "run", "commit-message").out


@pytest.mark.feature("F2")
def test_f2_a_list_names_a_folder_of_this_machine(here: Installation) -> None:
    home = Path(here.environment["HOME"])
    text = "---\nname: {0}\ndescription: How we {0}.\n---\nDo the {0}.\n"
    for name in ("bake", "brew"):
        (home / "team" / name).mkdir(parents=True)
        (home / "team" / name / "SKILL.md").write_text(text.format(name))
    (home / ".plan-cascade").mkdir()
    listed = {"skills": [{"path": str(home / "team"), "priority": 170}]}
    (home / ".plan-cascade/skills.json").write_text(json.dumps(listed))
    found = named(here)
    assert [found[name]["priority"] for name in ("bake", "brew")] == [170, 170]
    assert "Do the brew." in here.wellkept("skill", "run", "brew").out
    here.file("external-skills.json", json.dumps({**listed, "skills": [{"path": "/etc"}]}))
    assert "outside the project" in here.wellkept("skill", "list", "--json").out


@pytest.mark.feature("F3")
def test_f3_a_project_calls_for_a_skill_by_its_files(here: Installation) -> None:
    skill(here, "deploy-service", DEPLOY)
    assert "deploy-service" not in here.run(*CLI, "skill", "detect").out
    here.file("deploy.yaml", "service: billing\n")
    here.commit("Add deploy")
    (found,) = [
        one
        for one in here.wellkept("skill", "detect", "--json").json["items"]
        if one["name"] == "deploy-service"
    ]
    assert (found["why"], found["files"]) == ("the project has deploy.yaml", ["deploy.yaml"])
    planning = here.run(*CLI, "skill", "detect", "--phase", "planning", "--json")
    assert "deploy-service" not in planning.out
    work = here.wellkept("skill", "detect", "--phase", "implementation", "--json")
    assert "deploy-service" in work.out


@pytest.mark.feature("F4")
def test_f4_a_prompt_chooses_the_skill_that_fits(here: Installation) -> None:
    skill(here, "deploy-service", DEPLOY)
    chosen = here.wellkept("skill", "search", "deploy the billing service", "--json").json
    assert chosen["items"][0]["name"] == "deploy-service"
    document = here.wellkept(
        "skill", "search", "deploy the billing service", "--profile", "document", "--json"
    ).json
    assert document["items"][0]["name"] == "deploy-service"
    without = here.wellkept(
        "skill", "search", "deploy the billing service", "--without-tag", "ops", "--json"
    ).json
    assert "deploy-service" not in json.dumps(without)
    text = here.wellkept("skill", "detect", "deploy the billing service", "--inject").out
    assert "then look at the logs" in text
    # What the project calls for is always among the few of the document's profile.
    here.file("deploy.yaml", "service: billing\n")
    other = ("skill", "search", "--select", "translate invoice labels")
    assert "deploy-service" not in here.run(*CLI, *other).out
    assert "deploy-service" in here.wellkept(*other, "--profile", "document").out
    # Three at most, each cut to 200 lines.
    for number in range(5):
        body = "".join(f"line {line} of fence {number}\n" for line in range(300))
        head = f"---\nname: fence-{number}\ndescription: Paint the wooden fence green.\n---\n"
        skill(here, f"fence-{number}", head + body)
    text = here.wellkept("skill", "detect", "paint the wooden fence green", "--inject").out
    assert len({line.split()[-1] for line in text.splitlines() if line.startswith("line 7 ")}) == 3
    assert "line 150 of" in text
    assert "line 250 of" not in text
    assert len(text) <= 15_000


@pytest.mark.feature("F5")
def test_f5_a_command_takes_its_arguments(here: Installation) -> None:
    path = skill(here, "deploy-service", DEPLOY)
    run = here.wellkept("skill", "run", "--json", "ship", "1.4.2").json
    assert "Deploy version 1.4.2 to staging" in run["content"]
    assert str(path.parent) in run["content"]
    assert run["allowed_tools"] == ["Bash"]
    listed = here.wellkept("skill", "commands").out
    assert "/deploy-service <version>" in listed
    path.write_text(DEPLOY.replace("disableModelInvocation: false", "disableModelInvocation: true"))
    assert "/deploy-service" not in here.wellkept("skill", "commands", "--as", "model").out
    assert here.refused("skill", "run", "--as", "model", "deploy-service").code != 0
    here.wellkept("skill", "run", "deploy-service", "1.5")


@pytest.mark.feature("F6")
def test_f6_interface_data_stays_inside_its_folder(here: Installation) -> None:
    path = skill(here, "deploy-service", DEPLOY)
    good = '[interface]\ndisplay_name = "Deploy"\nshort_description = "To staging"\n'
    (path.parent / "SKILL.toml").write_text(good)
    shown = here.wellkept("skill", "show", "deploy-service", "--json").json
    assert shown["interface"]["display_name"] == "Deploy"
    (path.parent / "SKILL.toml").write_text(f'{good}icon_small = "../../../etc/passwd"\n')
    again = here.wellkept("skill", "show", "deploy-service", "--json").json
    assert "passwd" not in json.dumps(again["interface"])
    assert again["findings"]


@pytest.mark.feature("F7")
def test_f7_a_changed_file_is_read_anew_and_use_is_counted(here: Installation) -> None:
    path = skill(here, "deploy-service", DEPLOY)
    first = here.wellkept("skill", "show", "deploy-service", "--json").json
    path.write_text(DEPLOY.replace("look at the logs", "ring the bell"))
    assert "ring the bell" in here.wellkept("skill", "run", "deploy-service", "1").out
    second = here.wellkept("skill", "show", "deploy-service", "--json").json
    assert second["sha256"] != first["sha256"]
    other = here.repository / ".claude/skills/deploy-service"
    other.parent.mkdir(parents=True)
    other.symlink_to(path.parent)
    names = [one["name"] for one in here.wellkept("skill", "list", "--json").json["items"]]
    assert names.count("deploy-service") == 1
    commands = here.wellkept("skill", "commands", "--json").json["items"]
    used = {one["name"]: one["score"] for one in commands}
    assert used["deploy-service"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.feature("F8")
def test_f8_hooks_of_a_skill_run_only_when_trusted(here: Installation) -> None:
    mark = here.file("ran.txt", "")
    hooks = f"""hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: "echo first >> {mark}"
          once: true
        - type: command
          command: "echo each >> {mark}"
"""
    text = DEPLOY.replace("detect:", f"{hooks}detect:").replace("Bash\n", "Bash, Glob\n", 1)
    path = skill(here, "deploy-service", text)

    def states() -> set[object]:
        return {one["state"] for one in here.wellkept("skill", "hooks", "--json").json["items"]}

    def ran() -> list[str]:
        """What hooks of the skill did while an agent used it."""
        mark.write_text("")
        use = calls(call("Skill", skill="deploy-service", args="1"))
        work = [calls(call("Bash", command="true")), calls(call("Glob", pattern="*.md"))]
        agent(here, [use, *work, *work, "Done."], "Deploy the service", "--mode", "bypass")
        return mark.read_text().split()

    assert "trusted" not in states()
    assert ran() == []
    here.wellkept("skill", "trust", "deploy-service", "--yes")
    assert states() == {"trusted"}
    assert ran() == ["first", "each", "each"]
    # Another text needs another yes.
    path.write_text(text.replace("echo each", "echo other"))
    assert "trusted" not in states()
    assert ran() == []


def add_a_route(here: Installation, number: int) -> None:
    for name in ("src/routes.py", "src/views.py"):
        if not (here.repository / name).exists():
            here.file(name, "# start\n")
    session = here.session(f"r-{number}")
    session.start()
    session.prompt(f"Add a route for the page of customers number {number}")
    session.edit("src/routes.py", "# start", f"# start\nroute{number} = 1")
    session.edit("src/views.py", "# start", f"# start\nview{number} = 1")
    session.bash("pytest tests", "3 passed")
    here.commit(f"Add route {number}")
    session.bash(f"git commit -am 'Add route {number}'", f"[main 1234567] Add route {number}")
    session.end("Added the route.")


@pytest.mark.feature("F9", "F12")
def test_f9_repeated_work_becomes_one_suggestion(here: Installation) -> None:
    add_a_route(here, 1)
    assert here.run(*CLI, "skill", "review", "--json").json["items"] == []
    add_a_route(here, 2)
    (made,) = here.wellkept("skill", "review", "--json").json["items"]
    name = made["skill"]["name"]
    assert (made["skill"]["review"], made["skill"]["enabled"]) == ("pending", False)
    # No second suggestion within a week, whatever was repeated.
    for number in (3, 4):
        session = here.session(f"t-{number}")
        session.start()
        session.prompt("Translate the labels of the invoice form")
        session.edit("src/views.py", "# start", f"# start\nlabel{number} = 1")
        session.bash("pytest tests", "3 passed")
        here.commit(f"Translate {number}")
        session.bash(f"git commit -am 'Translate {number}'", f"[main 7654321] T {number}")
        session.end("Translated.")
    assert len(here.wellkept("skill", "review", "--json").json["items"]) == 1
    assert not named(here)[name]["enabled"]
    here.wellkept("skill", "review", name, "accept")
    assert named(here)[name]["enabled"]
    here.wellkept("skill", "disable", name)
    assert not named(here)[name]["enabled"]


@pytest.mark.feature("F10")
def test_f10_reminders_in_three_lengths(here: Installation) -> None:
    reminder = "reminders:\n  sparse: Ship it well.\n  normal: Deploy with care.\n  detailed: Deploy with care, and look at the logs.\n"
    skill(here, "deploy-service", DEPLOY.replace("detect:", f"{reminder}detect:"))
    texts = {
        level: here.wellkept("skill", "remind", "deploy-service", "--level", level).out
        for level in ("sparse", "normal", "detailed")
    }
    assert "Ship it well." in texts["sparse"]
    assert "Deploy with care." in texts["normal"]
    assert "look at the logs" in texts["detailed"]


@pytest.mark.feature("F11")
def test_f11_an_organisation_and_a_session_can_force_a_skill(here: Installation) -> None:
    managed = here.repository.parent / "managed"
    (managed / "house").mkdir(parents=True)
    (managed / "house/SKILL.md").write_text(
        "---\nname: house\ndescription: How this house writes code.\n---\nWrite plainly.\n"
    )
    here.wellkept("config", "set", "skills.managed", str(managed))
    assert str(named(here)["house"]["source"]).startswith("managed:")
    skill(here, "deploy-service", DEPLOY)
    session = here.session("s-1")
    session.start()
    session.prompt("Hello there")
    here.drain()
    here.wellkept("skill", "force", "deploy-service", "--session", "s-1")
    chosen = here.wellkept("skill", "detect", "Paint the fence", "--session", "s-1", "--json").json
    assert "deploy-service" in json.dumps(chosen)
    # The client of that session is told at its next prompt, once, also when no server runs.
    told = "- skill deploy-service: Deploy the billing service"
    assert told in session.prompt("Paint the fence green, please")
    assert told not in session.prompt("Paint the gate as well, please")
    assert here.session("s-2").prompt("Paint the fence green, please") == ""
    # A setting forces a skill in every session, also one that is switched off here.
    here.wellkept("skill", "disable", "deploy-service")
    here.wellkept("config", "set", "skills.force", "deploy-service")
    assert "- skill deploy-service" in here.session("s-3").start()


@pytest.mark.feature("F11")
def test_f11_a_language_is_advised_only_where_it_is(here: Installation) -> None:
    assert "go-practices" not in named(here)
    assert "go-practices" not in here.wellkept("skill", "list", "--commands").out
    here.file("go.mod", "module example.org/shop\n")
    assert "go-practices" in named(here)
    here.wellkept("skill", "disable", "go-practices")
    (here.repository / "go.mod").unlink()
    assert named(here)["go-practices"]["enabled"] is False


@pytest.mark.feature("F12")
def test_f12_commit_and_review_are_there_and_text_comes_on_use(here: Installation) -> None:
    assert "git diff --staged" in here.wellkept("skill", "run", "commit").out
    review = here.wellkept("skill", "run", "review-pr", "branch-7").out
    assert "branch-7" in review
    skill(here, "deploy-service", DEPLOY)
    told = here.wellkept("context", "Deploy the billing service to the staging cluster").out
    assert "deploy-service" in told
    assert "then look at the logs" not in told
    assert "then look at the logs" in here.told("skill_run", name="deploy-service", arguments="2")


@pytest.mark.feature("F12")
def test_f12_the_hook_names_a_detected_skill_at_its_own_task(here: Installation) -> None:
    skill(here, "deploy-service", DEPLOY)
    here.file("deploy.yaml", "cluster: staging\n")
    here.remember("Invoices are numbered per country")
    first = here.session("s-1")
    first.start()
    first.prompt("Have a look at the cluster file")
    first.read("deploy.yaml")
    first.end("Looked at it.")
    here.drain()
    session = here.session("s-2")
    session.start()
    told = session.prompt("Deploy the billing service to the staging cluster")
    assert "deploy-service" in told
    assert "then look at the logs" not in told
    # Once in a session, and at no other task.
    assert "deploy-service" not in session.prompt("Deploy the billing service to staging again")
    other = here.session("s-3")
    other.start()
    assert "deploy-service" not in other.prompt("Rename the invoice form and its labels")
    assert "deploy-service" not in other.prompt("Write down who may deploy on a Friday afternoon")

"""Skills of an organisation, forced skills, languages, and what a list of skills says of limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.skills.reading import document, put
from wellkept.context.moments import ContextRequest, Moment
from wellkept.context.skill_lines import SkillContextSource
from wellkept.core.errors import UsageError
from wellkept.core.settings.model import Settings, rule_of
from wellkept.core.settings.paths import managed_skills_folder
from wellkept.skills.library.sources import StoredSkillSwitches
from wellkept.skills.sources.locations import managed_locations
from wellkept_team.sync.managed_skills import keep_managed_skills

pytestmark = pytest.mark.feature("F11")


def managed(folder: Path) -> Settings:
    return Settings(skills_managed=folder)


# -- Managed --------------------------------------------------------------------------------------


def test_a_managed_skill_wins_over_the_projects_own_and_stays_on(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path / "policy", "deploy", document("deploy", body="As the company does."))
    put(root / ".skills", "deploy", document("deploy", body="As we like.", more="priority: 300\n"))
    with open_in(root, settings=managed(tmp_path / "policy")) as wk:
        (skill,) = wk.skills.list(source="managed")
        assert (skill.name, skill.body, skill.priority) == ("deploy", "As the company does.", 350)
        with pytest.raises(UsageError, match="cannot be switched off"):
            wk.skills.disable("deploy")
        switches = StoredSkillSwitches(wk.services.store, wk.project)
        for key in (skill.key, wk.skills.get("commit-message").key):
            switches.switch(key, on=False)  # as an older version, or a hand, may have done
        assert wk.skills.get("deploy").enabled
        assert not wk.skills.get("commit-message").enabled
        for change in (
            lambda: wk.skills.edit("deploy", {"version": "2"}),
            lambda: wk.skills.delete("deploy"),
        ):
            with pytest.raises(UsageError):
                change()
    assert (tmp_path / "policy/deploy/SKILL.md").exists()


def test_the_machines_own_folder_is_read_besides_the_one_of_the_settings(tmp_path: Path) -> None:
    system, given = managed_skills_folder({}), tmp_path / "given"
    found = managed_locations(system, given)
    assert [one.folder for one in found] == [system, given]
    assert system.parts[-2:] == ("wellkept", "skills")
    assert len(managed_locations(system, system)) == 1
    assert len(managed_locations(system, None)) == 1


def test_a_checkout_can_neither_name_a_managed_folder_nor_force_skills() -> None:
    assert not rule_of("skills.managed").by_project
    assert not rule_of("skills.force").by_project


def test_skills_of_the_teams_server_are_managed_until_it_takes_them_back(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        text = "---\nname: other\ndescription: Release the app.\npriority: 1\n---\nTag it."
        keep_managed_skills(wk.services.store, wk.project, {"release": text})
        (skill,) = wk.skills.list(source="managed")
        assert (skill.name, skill.source.name, skill.body) == ("release", "team", "Tag it.")
        assert skill.priority > 300
        with pytest.raises(UsageError, match="managed by team"):
            wk.skills.disable("release")
        keep_managed_skills(wk.services.store, wk.project, {})
        assert wk.skills.list(source="managed") == []


# -- Forced ---------------------------------------------------------------------------------------


def test_a_forced_skill_is_selected_first_whatever_is_asked(tmp_path: Path) -> None:
    put(tmp_path / ".skills", "house-style", document("house-style", body="Short sentences."))
    with open_in(tmp_path) as wk:
        assert wk.skills.select("thanks").choices == ()
        (only,) = wk.skills.select("thanks", force=["house-style"]).choices
        assert only.reasons == ("forced for this session",)
        assert sum(part.effect for part in only.parts) == only.score
        chosen = wk.skills.select("write a commit message", force=["house-style"]).choices
        assert [one.skill.name for one in chosen][:2] == ["house-style", "commit-message"]
        assert len(chosen) <= 3
        assert "Short sentences." in wk.skills.injection("thanks", force=["house-style"]).text
        unknown = wk.skills.select("thanks", force=["nothing"])
        assert (unknown.choices, unknown.notes[-1]) == ((), "There is no skill 'nothing' to force.")


def test_a_skill_is_forced_in_one_session_alone_even_if_it_is_off(tmp_path: Path) -> None:
    put(tmp_path / ".skills", "house-style", document("house-style", body="Short sentences."))
    with open_in(tmp_path) as wk:
        wk.skills.disable("house-style")
        wk.skills.force("house-style", session="s1")
        assert [one.skill.name for one in wk.skills.forced("s1")] == ["house-style"]
        assert wk.skills.forced("s2") == ()
        assert "Short" in wk.skills.injection("thanks", session="s1").text
        assert wk.skills.injection("thanks", session="s2").text == ""
        assert "Short" in wk.skills.commands.run("house-style", by="model", session="s1").text
        with pytest.raises(UsageError, match="switched off"):
            wk.skills.commands.run("house-style", by="model", session="s2")
        wk.skills.force(session="s1")
        assert wk.skills.forced("s1") == ()


def test_the_agent_of_a_session_is_told_what_is_forced_once(tmp_path: Path) -> None:
    put(tmp_path / ".skills", "house-style")
    with open_in(tmp_path) as wk:
        wk.skills.force("house-style", session="s1")
        request = ContextRequest(project=wk.project, moment=Moment.SESSION, session="s1")
        (line,) = SkillContextSource(wk.skills).offers(request)
        assert line.name == "house-style"
        again = ContextRequest(project=wk.project, session="s1", shown=frozenset((line.id,)))
        assert SkillContextSource(wk.skills).offers(again) == ()
        assert (
            SkillContextSource(wk.skills).offers(ContextRequest(project=wk.project, session="s2"))
            == ()
        )


def test_the_setting_forces_in_every_session_by_name_or_alias(tmp_path: Path) -> None:
    put(tmp_path / ".skills", "house-style", document("house-style", more="aliases: [style]\n"))
    with open_in(tmp_path, settings=Settings(skills_force="style, house-style,")) as wk:
        assert [one.skill.name for one in wk.skills.forced("any")] == ["house-style"]
        assert [one.skill.name for one in wk.skills.select("thanks")] == ["house-style"]


# -- Languages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("pyproject.toml", "[project]", "python-practices"),
        ("tsconfig.json", '{"compilerOptions": {}}', "typescript-practices"),
        ("package.json", '{"devDependencies": {"typescript": "5"}}', "typescript-practices"),
        ("go.mod", "module shop", "go-practices"),
        ("pom.xml", "<project/>", "java-practices"),
        ("Cargo.toml", "[package]", "rust-practices"),
        ("package.json", '{"name": "plain"}', None),
    ],
)
def test_a_project_calls_for_the_skill_of_its_language(
    tmp_path: Path, file: str, text: str, name: str | None
) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    with open_in(tmp_path) as wk:
        found = [one.skill for one in wk.skills.detect().found]
        assert [one.name for one in found] == ([name] if name else [])
        assert all(one.source.kind == "builtin" and one.priority <= 50 for one in found)
        assert all(not one.findings for one in found)


# -- Limits of a list -----------------------------------------------------------------------------


def test_a_list_says_how_many_skills_and_lines_are_given(tmp_path: Path) -> None:
    body = "\n".join(f"Rule {n}." for n in range(40))
    for name in ("one", "two"):
        more = "when_to_use: Polish the zorblax frobnicator.\ntags: [zorblax, frobnicator]\n"
        put(tmp_path / ".skills", name, document(name, more=more, body=body))
    listed = tmp_path / "external-skills.json"
    with open_in(tmp_path) as wk:
        assert len(wk.skills.select("polish the zorblax frobnicator")) == 2
        settings = {"max_skills_per_story": 1, "max_content_lines": 10}
        listed.write_text(json.dumps({"skills": {}, "settings": settings}), "utf-8")
        assert len(wk.skills.select("polish the zorblax frobnicator")) == 1
        assert len(wk.skills.select("polish the zorblax frobnicator", limit=2)) == 2
        pack = wk.skills.injection("polish the zorblax frobnicator")
        assert "Rule 9." in pack.text
        assert "Rule 10." not in pack.text

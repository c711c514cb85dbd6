"""Settings: sources and their order, what a project may set, errors that name the place."""

from __future__ import annotations

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import wellkept
from wellkept.api.wiring.settings_file import write_entry
from wellkept.core.errors import UsageError
from wellkept.core.settings import paths
from wellkept.core.settings.model import RETIRED, Settings, rule_of, rules
from wellkept.core.settings.sources import (
    SettingSources,
    inspect_settings,
    load_settings,
    parse_value,
    unknown_variables,
)
from wellkept.core.settings.toml_file import MAX_BYTES, read_entries
from wellkept.memory.recall.requests import DEFAULT_MIN_SCORE, DEFAULT_PROFILE
from wellkept.models import http as requests
from wellkept.models.embedders.settings import CHOICES, DEFAULT_DIMENSION
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("A3")


def _sources(
    folder: Path, *, user: str = "", project: str = "", environment: dict[str, str] | None = None
) -> SettingSources:
    user_file, project_file = folder / "config.toml", folder / ".wellkept.toml"
    if user:
        user_file.write_text(user, encoding="utf-8")
    if project:
        project_file.write_text(project, encoding="utf-8")
    return SettingSources(environment or {}, user_file, project_file)


def test_without_any_source_every_value_is_the_default(tmp_path: Path) -> None:
    known = load_settings(_sources(tmp_path))
    assert known == Settings()
    assert {known.origin(rule.key) for rule in rules()} == {"default"}


def test_a_later_source_wins_and_each_value_knows_where_it_came_from(tmp_path: Path) -> None:
    sources = _sources(
        tmp_path,
        user="[context]\nsessions = 3\ndays = 1\nskills = 'off'\nobservations = 5\n",
        project="[context]\nsessions = 4\ndays = 2\nskills = 'names'\n",
        environment={"WELLKEPT_CONTEXT_SESSIONS": "5", "WELLKEPT_CONTEXT_DAYS": "3"},
    )
    known = load_settings(sources, explicit={"context.sessions": 6})
    assert (known.context_sessions, known.context_days) == (6, 3)
    assert (known.context_skills, known.context_observations) == ("names", 5)
    assert known.origin("context.sessions") == "argument"
    assert known.origin("context.days") == "WELLKEPT_CONTEXT_DAYS"
    assert known.origin("context.skills") == f"{sources.project_file}, line 4"
    assert known.origin("context.observations") == f"{sources.user_file}, line 5"


@pytest.mark.parametrize("rule", [r for r in rules() if not r.by_project], ids=lambda r: r.key)
def test_a_projects_file_may_not_set_what_a_stranger_could_abuse(
    tmp_path: Path, rule: object
) -> None:
    key = rule_of(getattr(rule, "key", "")).key
    table, _, name = key.rpartition(".")
    text = f"[{table}]\n{name} = 'x'\n" if table else f"{name} = 'x'\n"
    known = load_settings(_sources(tmp_path, project=text))
    assert known == Settings()
    (warning,) = known.warnings
    assert "may not set" in warning
    assert str(tmp_path / ".wellkept.toml") in warning


@pytest.mark.feature("A10")
@pytest.mark.parametrize(
    "text", ["[recall\n", "nope = 1\n", "[recall]\nlimit = 'ten'\n", "a = " + "[" * 9999, "\x00"]
)
def test_nothing_in_a_projects_file_stops_the_users_own_settings(tmp_path: Path, text: str) -> None:
    known = load_settings(_sources(tmp_path, user="[recall]\nlimit = 3\n", project=text))
    assert known.recall_limit == 3
    assert len(known.warnings) == 1


def test_a_huge_settings_file_is_not_read(tmp_path: Path) -> None:
    known = load_settings(_sources(tmp_path, project="# " + "x" * MAX_BYTES))
    assert "larger than" in known.warnings[0]


@pytest.mark.feature("A10")
def test_no_key_url_path_or_provider_is_open_to_a_project() -> None:
    open_to_projects = {rule.key for rule in rules() if rule.by_project}
    tuning = ("recall.", "context.", "methodology")
    assert all(key.startswith(tuning) for key in open_to_projects)
    assert not any(rule.secret for rule in rules() if rule.by_project)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[recall]\nlimit = 'ten'\n", "recall.limit must be a whole number from 1 to 1000"),
        ("[recall]\nlimit = true\n", "recall.limit must be a whole number"),
        ("[recall]\nlimit = 0\n", "recall.limit must be a whole number from 1 to 1000, not 0"),
        ("[context]\nskills = 'all'\n", "must be one of names, off"),
        ("[text_model]\ntimeout_s = nan\n", "text_model.timeout_s must be a number"),
        ("[embedding]\nmodel = ''\n", "embedding.model must be a text"),
        ("[store]\npath = 3\n", "store.path must be a path"),
        ("project = ['a']\n", "project must be a text"),
    ],
)
def test_a_wrong_value_names_file_line_key_and_what_would_fit(
    tmp_path: Path, text: str, said: str
) -> None:
    sources = _sources(tmp_path, user=text)
    with pytest.raises(UsageError) as caught:
        load_settings(sources)
    assert said in caught.value.message
    assert caught.value.message.startswith(f"{sources.user_file}, line ")


def test_an_unknown_key_is_answered_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 2: there is no setting 'recall.limt'") as caught:
        load_settings(_sources(tmp_path, user="[recall]\nlimt = 3\n"))
    assert caught.value.hint == "Did you mean recall.limit?"


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config.toml is not valid TOML"):
        load_settings(_sources(tmp_path, user="[recall\n"))


def test_inspecting_keeps_what_is_good_and_lists_what_is_not(tmp_path: Path) -> None:
    sources = _sources(
        tmp_path, user="[recall]\nlimit = 7\nmin_score = 'x'\n", project="nope = 1\n"
    )
    known, problems = inspect_settings(sources)
    assert known.recall_limit == 7
    assert known.recall_min_score == Settings().recall_min_score
    assert [problem.message.partition(": ")[0].rsplit("/", 1)[-1] for problem in problems] == [
        "config.toml, line 3",
        ".wellkept.toml, line 1",
    ]


@pytest.mark.feature("H8")
def test_no_more_than_sixty_settings_each_with_a_group_and_a_reason() -> None:
    assert len(rules()) <= 60
    assert all(rule.group and rule.why for rule in rules())
    assert not {rule.key for rule in rules()} & set(RETIRED)


@pytest.mark.feature("H8")
@pytest.mark.parametrize("key", RETIRED)
def test_what_was_a_setting_once_is_said_and_breaks_nothing(tmp_path: Path, key: str) -> None:
    table, _, name = key.partition(".")
    text, variable = f"[{table}]\n{name} = 3\n", "WELLKEPT_" + key.replace(".", "_").upper()
    environment = {variable: "3"}
    sources = _sources(tmp_path, user=text, project=text, environment=environment)
    known = load_settings(sources)
    assert known == Settings()
    (said,) = known.warnings
    assert said.startswith(f"{sources.user_file}, line 2: {key} is no longer a setting; fixed at ")
    (said,) = load_settings(SettingSources(environment, tmp_path / "none.toml")).warnings
    assert said.startswith(f"{variable}: {key} is no longer a setting")
    assert unknown_variables(environment) == []
    with pytest.raises(UsageError, match="no longer a setting"):
        rule_of(key)


def test_a_key_does_not_show_in_the_representation() -> None:
    assert "hush" not in repr(Settings(embedding_api_key="hush"))


def test_a_bad_environment_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"WELLKEPT_RECALL_LIMIT: recall\.limit must be a whole"):
        load_settings(_sources(tmp_path, environment={"WELLKEPT_RECALL_LIMIT": "many"}))


def test_variables_that_are_no_settings_are_noticed() -> None:
    environment = {"WELLKEPT_HOME": "/x", "WELLKEPT_RECAL_LIMIT": "3", "WELLKEPT_DEBUG": "1"}
    assert unknown_variables(environment) == ["WELLKEPT_RECAL_LIMIT"]
    assert unknown_variables({requests.VARIABLE: "1"}) == []


def test_a_typed_value_is_parsed_by_its_rule() -> None:
    assert parse_value(rule_of("recall.limit"), " 12 ") == 12
    assert parse_value(rule_of("text_model.timeout_s"), "2") == 2.0
    assert parse_value(rule_of("store.path"), "~/x.db") == Path.home() / "x.db"
    with pytest.raises(UsageError):
        parse_value(rule_of("recall.limit"), "-1")


def test_the_choices_are_those_of_the_packages_that_use_them() -> None:
    assert set(rule_of("embedding.provider").choices) == set(CHOICES)
    assert Settings().recall_profile == DEFAULT_PROFILE
    assert Settings().embedding_dimension == DEFAULT_DIMENSION


# -- Editing a file -------------------------------------------------------------------------------


def test_setting_a_value_keeps_comments_and_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        "# mine\n[recall]\nlimit = 3  # enough\n\n[embedding]\nprovider = 'none' # no # models\n",
        encoding="utf-8",
    )
    write_entry(path, "recall.limit", 9)
    write_entry(path, "embedding.provider", "static")
    write_entry(path, "recall.profile", "phase")
    write_entry(path, "store.path", "full.db")
    write_entry(path, "project", "me")
    assert path.read_text(encoding="utf-8") == (
        '# mine\nproject = "me"\n\n[recall]\nlimit = 9  # enough\nprofile = "phase"\n\n'
        '[embedding]\nprovider = "static" # no # models\n\n[store]\npath = "full.db"\n'
    )


def test_a_value_survives_being_written_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    text = 'a "quoted" \\ # text\twith \x7f and 記憶 😀'
    write_entry(path, "project", text)
    assert [(e.key, e.value) for e in read_entries(path)] == [("project", text)]
    write_entry(path, "project", None)
    assert read_entries(path) == []


def test_a_new_settings_file_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config.toml"
    write_entry(path, "embedding.api_key", "k")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_inline_table_can_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("recall = { limit = 3 } # few\n", encoding="utf-8")
    write_entry(path, "recall.limit", 4)
    assert path.read_text(encoding="utf-8") == "recall = { limit = 4 } # few\n"


def test_removing_a_key_leaves_the_rest_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = "[recall]\nlimit = 3\nmode = 'words'  # by hand\n\n# later\n[store]\npath = 'a'\n"
    path.write_text(text, encoding="utf-8")
    write_entry(path, "recall.limit", None)
    write_entry(path, "embedding.model", None)
    assert path.read_text(encoding="utf-8") == text.replace("limit = 3\n", "")


@pytest.mark.parametrize("text", ["recall = 3\n", "[[recall]]\nlimit = 3\n"])
def test_a_key_that_cannot_be_edited_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be edited here"):
        write_entry(path, "recall.limit", 4)
    assert path.read_text(encoding="utf-8") == text


# -- Places ---------------------------------------------------------------------------------------


def test_one_variable_moves_settings_and_data_together(tmp_path: Path) -> None:
    environment = {paths.HOME_VARIABLE: str(tmp_path), "XDG_CONFIG_HOME": "/elsewhere"}
    assert paths.config_file(environment) == tmp_path / "config.toml"
    assert paths.data_folder(environment) == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="these systems have their own")
def test_the_xdg_folders_are_followed_and_relative_ones_ignored(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "c"), "XDG_DATA_HOME": "relative"}
    assert paths.config_file(environment) == tmp_path / "c/wellkept/config.toml"
    assert paths.data_folder(environment) == Path.home() / ".local/share/wellkept"


def test_a_projects_file_is_found_up_to_the_root_of_the_checkout_and_no_further(
    tmp_path: Path,
) -> None:
    inside = tmp_path / "repo" / "src" / "deep"
    inside.mkdir(parents=True)
    (tmp_path / ".wellkept.toml").touch()
    assert paths.project_file(inside) is None
    (tmp_path / "repo" / ".git").mkdir()
    assert paths.project_file(inside) is None
    (tmp_path / "repo" / ".wellkept.toml").touch()
    assert paths.project_file(inside) == tmp_path / "repo" / ".wellkept.toml"
    assert paths.project_file(tmp_path) == tmp_path / ".wellkept.toml"


@pytest.mark.feature("B10")
def test_the_usual_least_score_is_that_of_recall() -> None:
    assert Settings().recall_min_score == DEFAULT_MIN_SCORE


def test_two_settings_saved_at_once_are_both_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    keys = [f"context.key_{number}" for number in range(16)]

    def save(key: str) -> None:
        write_entry(file, key, 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, keys))
    assert {entry.key for entry in read_entries(file)} == set(keys)


@pytest.mark.parametrize(("days", "archived"), [(30.0, 1), (90.0, 0)])
def test_the_timeline_is_kept_as_long_as_the_settings_say(
    tmp_path: Path, days: float, archived: int
) -> None:
    clock = ManualClock()
    with wellkept.open(
        tmp_path / "memory.db",
        cwd=tmp_path,
        embedder="none",
        settings=Settings(timeline_retention_days=days),
        clock=clock,
        environment={},
    ) as wk:
        wk.remember("Talked about the queue", type="timeline")
        clock.advance(days=60)
        assert wk.maintain(dry_run=True).counts.get("timeline old", 0) == archived
        assert wk.prune(dry_run=True).counts.get("timeline old", 0) == archived

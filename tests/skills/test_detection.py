"""Which skills a project calls for, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.skills.choosing import skill
from tests.skills.reading import document, skill_of
from wellkept.core.skills import InjectionPhase
from wellkept.skills.globs import PathTable, glob_matches, mentioned_paths
from wellkept.skills.selection.detection import (
    GLOB_STRENGTH,
    RULE_STRENGTH,
    ProjectFiles,
    allows_phase,
    detect_skills,
    scan_project,
)

pytestmark = pytest.mark.feature("F3")

REACT = skill("react", files=("package.json",), patterns=('"react"', '"next"'), priority=100)
RUST = skill("rust", files=("Cargo.toml",), patterns=("[package]", "[dependencies]"))


def names(project: ProjectFiles, *skills: object) -> list[str]:
    return [one.skill.name for one in detect_skills(skills, project)]  # pyright: ignore[reportArgumentType]


def test_a_rule_holds_when_a_file_is_there_and_a_pattern_stands_in_it() -> None:
    project = ProjectFiles.of({"package.json": '{"dependencies": {"react": "19"}}'})
    (found,) = detect_skills([REACT, RUST], project)
    assert found.skill is REACT
    assert found.reason == 'package.json contains "react"'
    assert (found.files, found.patterns, found.strength) == (
        ("package.json",),
        ('"react"',),
        RULE_STRENGTH,
    )


def test_a_file_without_the_pattern_does_not_count() -> None:
    assert names(ProjectFiles.of({"package.json": '{"dependencies": {"vue": "3"}}'}), REACT) == []


def test_patterns_are_plain_text_and_not_expressions() -> None:
    assert names(ProjectFiles.of({"Cargo.toml": "name = 'p'"}), RUST) == []
    assert names(ProjectFiles.of({"Cargo.toml": "[package]\n"}), RUST) == ["rust"]


def test_case_does_not_matter_in_patterns() -> None:
    django = skill("django", files=("requirements.txt",), patterns=("django",))
    assert names(ProjectFiles.of({"requirements.txt": "Django==5.1"}), django) == ["django"]


def test_patterns_without_files_are_looked_for_in_manifests() -> None:
    tokio = skill("tokio", patterns=("tokio",))
    assert names(ProjectFiles.of({"Cargo.toml": 'tokio = "1"'}), tokio) == ["tokio"]
    assert names(ProjectFiles.of({"notes.txt": "tokio"}), tokio) == []


def test_files_without_patterns_need_only_be_there_and_may_be_globs() -> None:
    go, ci = skill("go", files=("go.mod",)), skill("ci", files=(".github/workflows/*.yml",))
    project = ProjectFiles.of({"go.mod": "", ".github/workflows/test.yml": ""})
    assert names(project, go, ci) == ["ci", "go"]


def test_a_manifest_further_down_counts_and_the_nearest_is_named() -> None:
    project = ProjectFiles.of({"web/package.json": '"next"', "web/a/package.json": '"next"'})
    (found,) = detect_skills([REACT], project)
    assert found.reason == 'web/package.json contains "next"'


def test_files_that_a_skill_is_about_are_a_weaker_sign() -> None:
    sql = skill("sql", globs=("**/*.sql",))
    (found,) = detect_skills([sql], ProjectFiles.of({"db/report.sql": ""}))
    assert (found.reason, found.strength) == ("the project has db/report.sql", GLOB_STRENGTH)


def test_the_highest_priority_comes_first_and_what_is_off_does_not_come() -> None:
    skills = [
        skill("low", files=("x",), priority=36),
        skill("high", files=("x",), priority=250),
        skill("off", files=("x",), enabled=False),
    ]
    assert names(ProjectFiles.of({"x": ""}), *skills) == ["high", "low"]


def test_a_skill_is_for_its_phases_and_one_without_phases_is_for_all() -> None:
    planning = skill("p", phases=(InjectionPhase.PLANNING,))
    always = skill("a", phases=(InjectionPhase.ALWAYS,))
    assert allows_phase(planning, InjectionPhase.PLANNING)
    assert not allows_phase(planning, InjectionPhase.RETRY)
    for phase in InjectionPhase:
        assert allows_phase(always, phase)
        assert allows_phase(skill("n"), phase)


# -- Looking through a real folder ----------------------------------------------------------------


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x", "utf-8")


def test_the_walk_leaves_out_what_tools_fill(tmp_path: Path) -> None:
    put(tmp_path, "a.py", ".git/config", "node_modules/m/package.json", "target/x", ".venv/y.py")
    put(tmp_path, ".github/workflows/ci.yml", "src/b.py")
    assert scan_project(tmp_path).paths == ("a.py", "src/b.py", ".github/workflows/ci.yml")


def test_the_walk_is_bounded_and_says_so(tmp_path: Path) -> None:
    put(tmp_path, *(f"d/f{n:03}" for n in range(30)), "near.txt")
    project = scan_project(tmp_path, max_files=10)
    assert project.is_cut
    assert len(project.paths) == 10
    assert project.paths[0] == "near.txt"
    assert not scan_project(tmp_path).is_cut


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_that_lead_out_are_not_followed_or_read(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "project"
    put(outside, "package.json")
    (outside / "package.json").write_text('"react"', "utf-8")
    root.mkdir()
    (root / "package.json").symlink_to(outside / "package.json")
    (root / "more").symlink_to(outside, target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert names(scan_project(root), REACT) == []


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert scan_project(tmp_path / "nowhere").paths == ()


def test_bytes_that_are_not_text_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_bytes(b"\xff\xfe\x00" + b'"react"')
    assert names(scan_project(tmp_path), REACT) == ["react"]


# -- Patterns and paths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("**/*.sql", "a/b/c.sql", True),
        ("**/*.sql", "c.sql", True),
        ("*.sql", "a/c.sql", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**", "src/a/b.py", True),
        ("**/*.{ts,tsx}", "web/a.tsx", True),
        ("test_?.py", "test_1.py", True),
        ("[Mm]akefile", "Makefile", True),
        (".\\app\\*.cs", "app/x.cs", True),
        ("migrations/", "db/migrations/1.sql", True),
        ("!*.md", "a.md", False),
        ("", "a.md", False),
        ("{unclosed", "{unclosed", True),
        ("a/{b,c}/*.md", "x/a/c/d.md", True),
        ("src/**/test/*.py", "src/test/a.py", True),
        ("x" * 201, "x" * 201, False),
    ],
)
def test_patterns_fit_as_people_expect(glob: str, path: str, fits: bool) -> None:
    assert glob_matches(glob, path) is fits
    assert bool(PathTable([path]).matching(glob, limit=1)) is fits


def test_a_hostile_pattern_takes_no_time_to_speak_of() -> None:
    assert not glob_matches("*a" * 90 + "*b", "a" * 5_000)
    assert not glob_matches("**/" * 60 + "b", "a/" * 200 + "c")
    assert not glob_matches("{a,b}" * 35, "c" * 35)


@pytest.mark.parametrize(
    "field",
    ['globs: "**/*.{ts,tsx}, src/*.js"', "paths:\n  - '**/*.{ts,tsx}'\n  - src/*.js"],
)
def test_a_document_says_which_files_it_is_about(field: str) -> None:
    made = skill_of(document(more=f"{field}\n"))
    assert made.globs == ("**/*.{ts,tsx}", "src/*.js")
    assert [one.strength for one in detect_skills([made], ProjectFiles.of({"a/b.tsx": ""}))] == [
        GLOB_STRENGTH
    ]


def test_paths_in_a_prompt_are_found() -> None:
    text = "why does src\\app\\main.ts fail? see docs/a.md, Dockerfile and package.json. Thanks."
    assert mentioned_paths(text) == (
        "src/app/main.ts",
        "docs/a.md",
        "Dockerfile",
        "package.json",
    )
    assert mentioned_paths("no path here, e.g. 3.14 or 2/3") == ("2/3",)

"""Looking through folders: what is found, what is in the way, and what a second look costs."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.skills.reading import age, codes, document, put
from wellkept.core.skills import Skill, SkillFormat, SkillIndex, SkillKind, SkillSource
from wellkept.skills.sources import scanner as scanning
from wellkept.skills.sources.catalog import SkillCatalog
from wellkept.skills.sources.locations import (
    FolderShape,
    SkillLocation,
    builtin_location,
    project_locations,
    user_locations,
)
from wellkept.skills.sources.scanner import MISSING, FolderScanner, ScanResult

pytestmark = pytest.mark.feature("F7")


def place(
    folder: Path, shape: FolderShape = FolderShape.FOLDERS, *, boundary: Path | None = None
) -> SkillLocation:
    source = SkillSource(SkillKind.PROJECT, "test", 230, folder)
    return SkillLocation(source, folder, shape, boundary)


def scan(
    folder: Path, shape: FolderShape = FolderShape.FOLDERS, *, boundary: Path | None = None
) -> ScanResult:
    return FolderScanner(place(folder, shape, boundary=boundary)).scan()


def names(result: ScanResult) -> list[str]:
    return sorted(scanned.skill.name for scanned in result.skills)


def found(result: ScanResult) -> set[str]:
    return {finding.code for finding in result.findings}


def indexed(*places: SkillLocation) -> SkillIndex:
    return SkillCatalog([FolderScanner(one) for one in places]).index()


@pytest.mark.feature("F2")
def test_every_place_of_a_project_and_a_person_is_looked_through(tmp_path: Path) -> None:
    root, home, own = tmp_path / "root", tmp_path / "home", tmp_path / "own"
    for folder in (".claude/skills", ".agents/skills", ".opencode/skills", ".skills"):
        put(root / folder, f"in-{folder.split('/')[0].strip('.')}")
    (root / ".skills" / "light.md").write_text(document("light"))
    (root / ".skills" / "README.md").write_text("about")
    for folder in (".claude/skills", ".agents/skills", ".config/opencode/skills"):
        put(home / folder, f"home-{folder.split('/')[0].strip('.')}")
    put(own / "skills", "mine")
    for name in sorted(scanning.CONVENTION_FILES):
        (root / name).write_text(f"# {name}")
    (root / "packages" / "api").mkdir(parents=True)
    (root / "packages" / "api" / "CLAUDE.md").write_text("# The API")
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "CLAUDE.md").write_text("# Not ours")
    index = indexed(*project_locations(root), *user_locations(home, own))
    assert {skill.name for skill in index} == {
        "in-claude", "in-agents", "in-opencode", "in-skills", "light", "home-claude",
        "home-agents", "home-config", "mine", "packages/api/CLAUDE",
        *(name.removesuffix(".md") for name in scanning.CONVENTION_FILES),
    }  # fmt: skip
    assert all(skill.priority > 200 for skill in index if skill.source.kind is SkillKind.PROJECT)
    assert all(100 < s.priority <= 200 for s in index if s.source.kind is SkillKind.USER)
    priorities = [skill.priority for skill in index]
    assert priorities == sorted(priorities, reverse=True)


@pytest.mark.feature("F2")
def test_what_comes_with_wellkept_is_valid_and_goes_last() -> None:
    index = indexed(builtin_location())
    assert len(index) > 0
    assert index.findings == ()
    assert [skill.name for skill in index if skill.findings] == []
    assert all(1 <= skill.priority <= 50 for skill in index)


def test_skills_lie_in_folders_of_folders_and_their_own_files_are_no_skills(tmp_path: Path) -> None:
    put(tmp_path / "group" / "inner", "deep")
    put(tmp_path, "outer")
    put(tmp_path / "outer" / "examples", "not-one")
    assert names(scan(tmp_path)) == ["deep", "outer"]


@pytest.mark.feature("F1")
def test_bad_documents_cost_themselves_and_nobody_else(tmp_path: Path) -> None:
    put(tmp_path, "good")
    put(tmp_path, "broken", "---\n: : :\n\t- [\n---\n")
    put(tmp_path, "latin", "---\nname: latin\ndescription: café\n---\nx".encode("latin-1"))
    put(tmp_path, "empty", "")
    put(tmp_path, "huge", b"---\n" + b"x" * (10 << 20))
    put(tmp_path, "binary", bytes(range(256)) * 20)
    put(tmp_path, "wide", document("wide").encode("utf-16"))
    put(tmp_path, "open", "---\nname: open\ndescription: x\n\nBody")
    put(tmp_path, "windows", b"\xef\xbb\xbf" + document("windows").replace("\n", "\r\n").encode())
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    result = scan(tmp_path)
    assert names(result) == [
        *("binary", "broken", "empty", "good", "latin", "open", "wide", "windows"),
    ]
    assert found(result) == {"too-large", "unreadable"}
    by_name: dict[str, Skill] = {one.skill.name: one.skill for one in result.skills}
    assert by_name["good"].findings == by_name["windows"].findings == ()
    assert "fence" in codes(by_name["open"])
    assert "encoding" in codes(by_name["wide"])
    assert "encoding" in codes(by_name["latin"])


@pytest.mark.skipif(os.name == "nt", reason="pipes are files only on other systems")
def test_a_pipe_in_place_of_a_document_keeps_nobody_waiting(tmp_path: Path) -> None:
    put(tmp_path, "good")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    result = scan(tmp_path)
    assert (names(result), found(result)) == (["good"], {"unreadable"})


def test_a_place_that_would_not_fit_into_memory_is_read_in_part(tmp_path: Path) -> None:
    for number in range(9):
        put(tmp_path, f"s{number}", document(f"s{number}", body="x" * 1000))
    scanner = FolderScanner(place(tmp_path), max_chars=2_500)
    for _ in range(2):
        result = scanner.scan()
        assert (names(result), found(result)) == (["s0", "s1", "s2"], {"too-many"})
        (tmp_path / "new").mkdir(exist_ok=True)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    put(tmp_path, "good")
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    result = scan(tmp_path)
    assert (names(result), found(result)) == (["good"], {"loop"})


def test_links_out_of_a_project_are_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "elsewhere", "secret")
    root = tmp_path / "root"
    skills = root / ".claude" / "skills"
    put(skills, "good")
    put(root / "kept", "inside")
    (skills / "linked-folder").symlink_to(secret.parent, target_is_directory=True)
    (skills / "linked-file").mkdir()
    (skills / "linked-file" / "SKILL.md").symlink_to(secret)
    (skills / "linked-inside").symlink_to(root / "kept" / "inside", target_is_directory=True)
    result = scan(skills, boundary=root)
    assert (names(result), found(result)) == (["good", "inside"], {"outside"})
    assert "secret" in names(scan(skills))  # a person's own links may lead anywhere


def test_a_place_that_is_itself_a_link_out_is_not_entered(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "secret")
    root = tmp_path / "root"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude" / "skills").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    result = scan(root / ".claude" / "skills", boundary=root)
    assert (names(result), found(result)) == ([], {"outside"})


def test_a_folder_that_may_not_be_entered_is_a_finding(tmp_path: Path) -> None:
    put(tmp_path, "good")
    locked = put(tmp_path, "locked").parent
    locked.chmod(0)
    try:
        result = scan(tmp_path)
    finally:
        locked.chmod(0o700)
    # The super-user may enter everything.
    assert (names(result), found(result)) in (
        (["good"], {"unreadable"}),
        (["good", "locked"], set[str]()),
    )


def test_a_file_that_vanishes_during_the_scan_is_a_finding(tmp_path: Path) -> None:
    put(tmp_path, "good")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "SKILL.md").symlink_to(tmp_path / "nowhere")
    result = scan(tmp_path)
    assert (names(result), found(result)) == (["good"], {"unreadable"})


def test_a_file_reached_in_two_ways_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "a", "one")
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    low = SkillLocation(
        SkillSource(SkillKind.USER, "low", 150), tmp_path / "b", FolderShape.FOLDERS
    )
    index = indexed(low, place(tmp_path / "a"))
    assert [skill.source.name for skill in index] == ["test"]
    assert index.clashes == ()
    (tmp_path / "AGENTS.md").write_text("# Agents")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert len(indexed(place(tmp_path, FolderShape.CONVENTIONS))) == 1


def test_nothing_changed_gives_the_very_same_index(tmp_path: Path) -> None:
    for number in range(20):
        put(tmp_path, f"skill-{number}")
    age(tmp_path)
    catalogue = SkillCatalog([FolderScanner(place(tmp_path))])
    assert catalogue.index() is catalogue.index()
    assert len(catalogue.index()) == 20


def test_every_kind_of_change_is_seen(tmp_path: Path) -> None:
    catalogue = SkillCatalog([FolderScanner(place(tmp_path, FolderShape.MIXED))])
    assert len(catalogue.index()) == 0
    one = put(tmp_path, "one")
    assert [s.name for s in catalogue.index()] == ["one"]
    one.write_text(document("one", body="Same size, A."))
    first = catalogue.index().skills[0].body
    one.write_text(document("one", body="Same size, B."))
    assert (first, catalogue.index().skills[0].body) == ("Same size, A.", "Same size, B.")
    age(one)
    one.write_text(document("one", body="Same size, C."))
    age(one, one.parent, tmp_path)  # the time is put back: the change time is not
    assert catalogue.index().skills[0].body == "Same size, C."
    one.parent.rename(tmp_path / "renamed")
    assert {s.name for s in catalogue.index()} == {"one"}
    assert "name-folder" in codes(catalogue.index().skills[0])
    (tmp_path / "light.md").write_text(document("light"))
    assert {s.name for s in catalogue.index()} == {"one", "light"}
    (tmp_path / "renamed" / "SKILL.md").unlink()
    assert [s.name for s in catalogue.index()] == ["light"]
    (tmp_path / "light.md").unlink()
    assert len(catalogue.index()) == 0


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path, name)
    catalogue = SkillCatalog([FolderScanner(place(tmp_path))])
    before = {skill.name: skill for skill in catalogue.index()}
    put(tmp_path, "one", document("one", body="Changed."))
    after = {skill.name: skill for skill in catalogue.index()}
    assert after["two"] is before["two"]
    assert after["one"].body == "Changed."
    catalogue.forget()
    assert {skill.name: skill for skill in catalogue.index()} == after


@pytest.mark.feature("F6")
def test_a_changed_skill_toml_is_seen(tmp_path: Path) -> None:
    put(tmp_path, "one")
    shown = tmp_path / "one" / "SKILL.toml"
    catalogue = SkillCatalog([FolderScanner(place(tmp_path))])
    assert catalogue.index().skills[0].interface is None
    for title in ("First", "Second"):
        shown.write_text(f'[interface]\ndisplay_name = "{title}"\n')
        interface = catalogue.index().skills[0].interface
        assert interface is not None
        assert interface.display_name == title


def test_a_place_that_is_not_there_is_no_finding(tmp_path: Path) -> None:
    assert scan(tmp_path / "nowhere") == ScanResult(
        fingerprints=((str(tmp_path / "nowhere"), MISSING),)
    )
    (tmp_path / "file").write_text("x")
    assert found(scan(tmp_path / "file")) == {"unreadable"}


def test_a_document_is_of_the_format_of_its_place(tmp_path: Path) -> None:
    put(tmp_path, "one")
    (tmp_path / "two.md").write_text(document("two"))
    (tmp_path / "AGENTS.md").write_text("# Agents")
    formats = {one.skill.name: one.skill.format for one in scan(tmp_path, FolderShape.MIXED).skills}
    assert formats == {
        "one": SkillFormat.FULL,
        "two": SkillFormat.LIGHT,
        "AGENTS": SkillFormat.CONVENTION,
    }


def test_files_that_come_and_go_during_scans_cost_nobody_else(tmp_path: Path) -> None:
    put(tmp_path, "good")
    stop = Event()

    def come_and_go() -> None:
        while not stop.is_set():
            fickle = put(tmp_path, "fickle")
            fickle.unlink()
            fickle.parent.rmdir()

    thread = Thread(target=come_and_go)
    thread.start()
    try:
        scanner = FolderScanner(place(tmp_path))
        results = [scanner.scan() for _ in range(200)]
    finally:
        stop.set()
        thread.join()
    assert all("good" in names(result) for result in results)
    assert {code for result in results for code in found(result)} <= {"vanished", "unreadable"}
    assert names(scanner.scan()) == ["good"]

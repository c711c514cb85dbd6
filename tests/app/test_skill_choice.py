"""`wk.skills.detect`, `select`, `search` and `injection` in an open project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.opening import open_in
from wellkept.core.errors import UsageError
from wellkept.testing.fakes import ManualClock, WordEmbedder

RULE = "detect:\n  files: [package.json]\n  patterns: ['\"react\"']\n"


def write_skill(root: Path, name: str, *, about: str, more: str = "", body: str = "Do it.") -> None:
    folder = root / ".skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {about}\n{more}---\n\n{body}\n"
    (folder / "SKILL.md").write_text(text, "utf-8")


@pytest.mark.feature("F3")
def test_detection_follows_the_project_as_it_changes(tmp_path: Path) -> None:
    write_skill(tmp_path, "react-rules", about="Build components.", more=RULE)
    with open_in(tmp_path) as wk:
        assert wk.skills.detect().found == ()
        (tmp_path / "package.json").write_text('{"dependencies": {"react": "19"}}', "utf-8")
        (found,) = wk.skills.detect().found
        assert (found.skill.name, found.reason) == ("react-rules", 'package.json contains "react"')
        (tmp_path / "package.json").unlink()
        assert wk.skills.detect().found == ()


@pytest.mark.feature("F3")
def test_a_change_deep_down_is_noticed_after_a_while_or_on_request(tmp_path: Path) -> None:
    write_skill(tmp_path, "sql-rules", about="Queries.", more="globs: ['**/*.sql']\n")
    (tmp_path / "db").mkdir()
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        assert wk.skills.detect().found == ()
        (tmp_path / "db" / "a.sql").write_text("select 1", "utf-8")
        assert wk.skills.detect(refresh=True).found
        (tmp_path / "db" / "a.sql").unlink()
        clock.advance(seconds=301)
        assert wk.skills.detect().found == ()


@pytest.mark.feature("F3")
def test_a_phase_is_checked_and_honoured(tmp_path: Path) -> None:
    more = "globs: ['**/*.sql']\ninject_into: [retry]\n"
    write_skill(tmp_path, "sql-rules", about="Queries.", more=more)
    (tmp_path / "a.sql").write_text("select 1", "utf-8")
    with open_in(tmp_path) as wk:
        assert wk.skills.detect(phase="retry").found
        assert not wk.skills.detect(phase="planning").found
        with pytest.raises(UsageError, match="planning, implementation, retry, always"):
            wk.skills.detect(phase="lunch")


@pytest.mark.feature("F4")
def test_a_skill_written_meanwhile_is_chosen_at_once(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        before = wk.skills.select("translate the zorblax frobnicator")
        assert all(c.skill.name != "zorblax-frobnicator" for c in before.choices)
        write_skill(tmp_path, "zorblax-frobnicator", about="Translate the zorblax frobnicator.")
        after = wk.skills.select("translate the zorblax frobnicator")
        assert after.choices[0].skill.name == "zorblax-frobnicator"
        wk.skills.disable("zorblax-frobnicator")
        off = wk.skills.select("translate the zorblax frobnicator")
        assert all(c.skill.name != "zorblax-frobnicator" for c in off.choices)


@pytest.mark.feature("F4")
def test_the_injected_text_keeps_to_its_budget(tmp_path: Path) -> None:
    body = "\n".join(f"step {n}: frobnicate the zorblax" for n in range(400))
    write_skill(tmp_path, "zorblax", about="Frobnicate a zorblax.", body=body)
    with open_in(tmp_path) as wk:
        whole = wk.skills.injection("frobnicate the zorblax")
        assert whole.cut == ("zorblax",)
        assert "200 of 400 lines left out" in whole.text
        small = wk.skills.injection("frobnicate the zorblax", max_tokens=300, max_chars=2_000)
        assert 0 < small.used_tokens <= 300
        assert wk.skills.injection("thanks").text == ""


@pytest.mark.feature("F4")
def test_the_builtin_skills_are_valid_and_are_chosen_for_what_they_are_about(
    tmp_path: Path,
) -> None:
    wanted = {
        "write a commit message for this": "commit-message",
        "remember that we never use tabs": "remember-well",
        "this crash makes no sense, find the bug": "debug-systematically",
        "rename a column in the users table": "safe-migration",
        "review my branch before I merge": "review-a-diff",
        "the import is far too slow": "investigate-performance",
    }
    with open_in(tmp_path, embedder="static") as wk:
        builtin = wk.skills.list(source="builtin")
        assert len(builtin) >= 8
        assert [v.findings for v in wk.skills.validate(*(s.path for s in builtin if s.path))] == [
            () for _ in builtin
        ]
        chosen = {prompt: wk.skills.select(prompt).choices for prompt in wanted}
    assert {p: c[0].skill.name if c else None for p, c in chosen.items()} == wanted

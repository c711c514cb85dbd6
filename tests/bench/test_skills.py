"""The benchmark of choosing skills: its data, its rule for the halves, and another set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import report, skills
from bench.skills_data import SHIPPED, TEST_HALF_SHA256, digest_of_test_half, load

pytestmark = pytest.mark.feature("F4")


def test_the_shipped_set_is_large_valid_and_its_split_is_frozen() -> None:
    data = load(SHIPPED)
    assert len(data.skills) >= 60
    assert len(data.prompts) >= 240
    assert digest_of_test_half(data) == TEST_HALF_SHA256
    halves = [{p.text for p in data.prompts if p.split == half} for half in ("dev", "test")]
    assert halves[0].isdisjoint(halves[1])
    assert [s.name for s in data.skills if not s.is_valid] == []
    named = {name for p in data.prompts for name in p.expected}
    assert named == {s.name for s in data.skills}


def test_another_set_is_measured_from_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "OUT", tmp_path / "out")
    monkeypatch.setattr(skills, "_MANY", 3)
    monkeypatch.setattr(skills, "_ROUNDS", 8)
    path = tmp_path / "set.json"
    content: dict[str, object] = {
        "skills": [
            {"name": "pdf", "description": "Read PDF files.", "globs": ["**/*.pdf"]},
            {"name": "web", "description": "Pages.", "detect": {"files": ["package.json"]}},
        ],
        "prompts": [
            {"prompt": "get the text out of a.pdf", "expected": ["pdf"]},
            {"prompt": "make pages", "expected": ["web"], "project": "shop"},
            {"prompt": "thanks", "expected": []},
        ],
        "projects": {"shop": {"package.json": "{}"}},
    }
    path.write_text(json.dumps(content), "utf-8")
    assert skills.main(["--json", "--ablate", "--data", str(path)]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["ways"]["default"]["accuracy_at_1"] == 100.0
    assert figures["ways"]["default"]["false_selections"] == 0.0
    assert figures["time"]["ratio_to_reference"] is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"prompts": []}', "the file has no 'skills'"),
        ('{"skills": [{"name": "a"}], "prompts": []}', "the skill 'a' has no 'description'"),
        ('{"skills": [], "prompts": [{"prompt": "x"}]}', "the prompt 'x' has no 'expected'"),
        ('{"skills": [], "prompts": [{"prompt": "x", "expected": "abc"}]}', "expects 'abc'"),
    ],
)
def test_a_set_that_lacks_something_is_refused_with_what_it_lacks(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "set.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=told):
        load(path)


def test_a_set_that_contradicts_itself_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "set.json"
    path.write_text('{"skills": [], "prompts": [{"prompt": "x", "expected": ["y"]}]}', "utf-8")
    assert skills.main(["--data", str(path)]) == 2
    assert "'y', which is no skill here" in capsys.readouterr().err
    assert skills.main(["--data", str(tmp_path / "missing")]) == 2

"""The benchmarks of skills run and count what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import skill_index, skill_survey

pytestmark = pytest.mark.feature("F7")


def test_loading_an_index_is_measured() -> None:
    found = skill_index.measure(5)
    assert set(found) == {"reference", "cold", "warm", "after_an_edit"}
    assert all(value >= 0 for value in found.values())


@pytest.mark.feature("F1")
def test_a_survey_counts_documents_and_why_they_are_not_valid(tmp_path: Path) -> None:
    for name, text in {
        "good": "---\nname: good\ndescription: Fine\n---\nBody",
        "colon": "---\nname: colon\ndescription: Use: it\n---\nBody",
        "bare": "# Title\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    found = skill_survey.survey(tmp_path, strict=False)
    counts = {name: found[name] for name in ("documents", "usable", "valid")}
    assert counts == {"documents": 3, "usable": 3, "valid": 1}
    assert (found["with_name_and_description"], found["plain_yaml_reads_them"]) == (2, 1)
    assert isinstance(found["findings"], dict)
    assert found["findings"]["yaml-colon"] == 1
    assert skill_survey.main(["--folder", str(tmp_path / "none")]) == 2

"""`priority_ranges` and `settings` of external-skills.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.reading import put
from wellkept.core.skills import PRIORITY_RANGES, SkillKind, SkillLimits
from wellkept.skills.sources.catalog import merge
from wellkept.skills.sources.list_files import ListScanner, SkillList, read_list

pytestmark = pytest.mark.feature("F11")


def read(ranges: object = None, settings: object = None, **priorities: int) -> SkillList:
    value = {
        "priority_ranges": ranges,
        "sources": {
            "own": {"type": "builtin", "path": "own"},
            "far": {"type": "submodule", "path": "far"},
            "mine": {"type": "user", "path": "mine"},
        },
        "skills": {
            source: {
                "source": source,
                **({"priority": priorities[source]} if source in priorities else {}),
            }
            for source in ("own", "far", "mine")
        },
        "settings": settings,
    }
    path = Path("/project/external-skills.json")
    return read_list(json.dumps(value).encode(), path=path, boundary=None)


def priorities(listed: SkillList) -> list[int]:
    return [skill.priority for skill in listed.skills]


def codes(listed: SkillList) -> list[str]:
    return [found.code for found in listed.findings]


def test_without_ranges_those_of_the_kinds_hold() -> None:
    listed = read(own=90, far=90, mine=90)
    assert priorities(listed) == [50, 90, 101]
    assert codes(listed) == ["priority-range", "priority-range"]


def test_the_ranges_of_the_file_hold_for_its_skills() -> None:
    ranges = {
        "builtin": {"min": 1, "max": 10},
        "submodule": {"min": 11, "max": 60},
        "user": {"min": 61, "max": 250},
    }
    listed = read(ranges, own=90, far=90, mine=240)
    assert priorities(listed) == [10, 60, 240]
    assert priorities(read(ranges)) == [10, 60, 150]


def test_no_list_reaches_what_an_organisation_manages() -> None:
    listed = read({"user": {"min": 1, "max": 9999}}, mine=9999)
    assert priorities(listed)[2] == PRIORITY_RANGES[SkillKind.MANAGED][0] - 1
    assert "priority-range" in codes(listed)


@pytest.mark.parametrize(
    "broken", [{"min": 9, "max": 1}, {"min": 0, "max": 9}, {"min": True, "max": 9}, {"max": 9}, 7]
)
def test_a_broken_range_is_reported_and_not_used(broken: object) -> None:
    listed = read({"submodule": broken, "lunch": {"min": 1, "max": 2}}, far=90)
    assert priorities(listed)[1] == 90
    assert codes(listed) == ["field-value", "field-value"]


def test_settings_are_read_and_wrong_ones_reported() -> None:
    good = read(None, {"max_skills_per_story": 5, "max_content_lines": 80, "cache_enabled": False})
    assert (good.limits, good.is_cached) == (SkillLimits(skills=5, lines=80), False)
    wrong = {"max_skills_per_story": 0, "max_content_lines": "many", "cache_enabled": "no"}
    bad = read(None, wrong)
    assert (bad.limits, bad.is_cached) == (SkillLimits(), True)
    assert codes(bad) == ["field-value"] * 3


def test_the_first_list_that_speaks_of_a_limit_is_heard(tmp_path: Path) -> None:
    def scanned(name: str, **settings: int) -> ListScanner:
        path = tmp_path / name
        path.write_text(json.dumps({"skills": {}, "settings": settings}))
        return ListScanner(path, boundary=None, copies=None)

    first = scanned("a.json", max_skills_per_story=2)
    second = scanned("b.json", max_skills_per_story=7, max_content_lines=70)
    assert merge([first.scan(), second.scan()]).limits == SkillLimits(skills=2, lines=70)


def test_a_list_without_a_cache_is_read_each_time(tmp_path: Path) -> None:
    put(tmp_path, "react")
    path = tmp_path / "external-skills.json"

    def scanner(*, cached: bool) -> ListScanner:
        value = {
            "sources": {"here": {"path": "."}},
            "skills": {"react": {"source": "here", "skill_path": "react"}},
            "settings": {"cache_enabled": cached},
        }
        path.write_text(json.dumps(value))
        return ListScanner(path, boundary=None, copies=None)

    kept = scanner(cached=True)
    assert kept.scan() is kept.scan()
    fresh = scanner(cached=False)
    assert fresh.scan() is not fresh.scan()
    path.unlink()
    assert fresh.scan().skills == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=10,
)


@given(_JSON, _JSON, st.integers())
def test_whatever_a_list_says_its_priorities_stay_below_the_managed(
    ranges: object, settings: object, priority: int
) -> None:
    for given_ranges in (ranges, {"submodule": ranges}):
        listed = read(given_ranges, settings, far=priority)
        assert all(1 <= one < PRIORITY_RANGES[SkillKind.MANAGED][0] for one in priorities(listed))

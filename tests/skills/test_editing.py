"""Changing a document: what is not touched stays byte for byte, what is set is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.reading import document, skill_of
from wellkept.core.errors import UsageError
from wellkept.skills.authoring.edit_fields import FieldValue, edit_document, new_document

pytestmark = pytest.mark.feature("F1")

TEXT = """---
# who we are
name:   demo    # odd spacing
"description": 'quoted,  as it was'
x-unknown: { a : 1,b: [2] }
allowedTools:
    - Read

tags: [one]
hooks:
  Stop:
  - command: |
      echo "---"
metadata:
  v: 1.0
---

# Body   with trailing space\x20

---
"""


def test_setting_a_field_leaves_every_other_byte_alone() -> None:
    new = edit_document(TEXT, {"tags": ("two", "three words")})
    assert new == TEXT.replace("tags: [one]\n", "tags:\n  - two\n  - three words\n")
    assert skill_of(new).tags == ("two", "three words")


def test_a_field_keeps_its_spelling_and_a_new_one_comes_last() -> None:
    new = edit_document(TEXT, {"allowed_tools": ("Read", "Grep"), "when_to_use": "Now: yes"})
    assert "allowedTools:\n  - Read\n  - Grep\n" in new
    assert '  v: 1.0\nwhen-to-use: "Now: yes"\n---\n' in new


def test_removing_a_field_takes_its_lines_and_no_others() -> None:
    new = edit_document(TEXT, {"hooks": None})
    assert new == TEXT.replace('hooks:\n  Stop:\n  - command: |\n      echo "---"\n', "")


def test_changing_nothing_changes_nothing() -> None:
    assert edit_document(TEXT, {}) == TEXT
    assert edit_document("no head", {}) == "no head"


def test_line_ends_and_the_mark_stay_as_they_were() -> None:
    windows = "\ufeff" + document(more="color: red\n").replace("\n", "\r\n")
    new = edit_document(windows, {"version": "2", "color": None})
    assert new == windows.replace("color: red\r\n", 'version: "2"\r\n')
    assert "\n" not in edit_document(windows, {}, body="One\nTwo").replace("\r\n", "")


def test_a_new_body_leaves_the_front_matter_alone() -> None:
    new = edit_document(TEXT, {}, body="New\nbody")
    assert new == TEXT[: TEXT.index("---\n\n# Body")] + "---\n\nNew\nbody\n"


def test_a_document_without_front_matter_gets_one() -> None:
    new = edit_document("# Title\n\nText\n", {"name": "x", "description": "why"})
    assert new == "---\nname: x\ndescription: why\n---\n\n# Title\n\nText\n"


def test_a_document_whose_fence_is_open_is_not_touched() -> None:
    with pytest.raises(UsageError, match="closing"):
        edit_document("---\nname: x\n", {"name": "y"})


def test_a_field_that_stands_twice_is_one_afterwards() -> None:
    text = "---\nuser-invocable: false\nname: demo\nuserInvocable: true\n---\n"
    assert edit_document(text, {"user_invocable": False}) == (
        "---\nname: demo\nuserInvocable: false\n---\n"
    )


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
FIELDS = st.sampled_from(["name", "description", "version", "license", "model", "x-new", "tags"])
SET: st.SearchStrategy[FieldValue] = TEXTS | st.booleans() | st.lists(TEXTS, max_size=3).map(tuple)


@given(st.dictionaries(FIELDS, SET, min_size=1, max_size=4))
def test_whatever_is_set_is_read_back_and_the_rest_stays(changes: dict[str, FieldValue]) -> None:
    new = edit_document(TEXT, changes)
    old, now = skill_of(TEXT), skill_of(new)
    assert now.body == old.body
    assert now.hooks == tuple(old.hooks) or len(now.hooks) == len(old.hooks)
    assert ("x-unknown", "{ a : 1,b: [2] }") in now.extra
    assert edit_document(new, changes) == new
    wanted = changes.get("license")
    if isinstance(wanted, str) and wanted.strip():
        assert now.license == wanted.strip()


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
def test_a_new_document_says_what_it_was_made_of(
    description: str, body: str, tags: list[str]
) -> None:
    fields: dict[str, FieldValue] = {
        "name": "demo",
        "description": description,
        "tags": tuple(tags),
    }
    skill = skill_of(new_document(fields, body=body))
    assert skill.name == "demo"
    if description.strip():
        assert skill.description == description.strip()
    assert skill.body == body.replace("\r\n", "\n").strip()

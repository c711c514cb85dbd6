from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.errors import UsageError
from wellkept.core.memory import (
    MAX_CONTENT_CHARS,
    Evidence,
    Memory,
    MemoryDraft,
    MemoryPatch,
    Relation,
    WorkUnitRef,
)
from wellkept.core.payloads import DeadEnd, Decision
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.draft import amend, compose

pytestmark = pytest.mark.feature("A1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAKE_KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def made(draft: MemoryDraft) -> Memory:
    return compose(draft, project="name:here", id="0198c0de-0000-7000-8000-000000000001", now=NOW)


def test_a_persons_word_weighs_more_than_an_agents() -> None:
    person = made(MemoryDraft(content="x", source=Source.USER_TAUGHT))
    agent = made(MemoryDraft(content="x"))
    assert (person.importance, person.user_verified) == (0.95, True)
    assert (agent.importance, agent.user_verified) == (0.5, False)
    assert person.confidence > agent.confidence


@pytest.mark.parametrize("content", ["", "   \n", "<private>all of it</private>"])
def test_nothing_to_remember_is_refused(content: str) -> None:
    with pytest.raises(UsageError, match="nothing to remember"):
        made(MemoryDraft(content=content))


def test_a_megabyte_is_kept_whole_and_more_is_refused_with_advice() -> None:
    full = "word " * (MAX_CONTENT_CHARS // 5)
    assert made(MemoryDraft(content=full)).content == full.strip()
    with pytest.raises(UsageError, match="Split it"):
        made(MemoryDraft(content="x" * (MAX_CONTENT_CHARS + 1)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.01])
def test_shares_outside_zero_to_one_are_refused(value: float) -> None:
    with pytest.raises(UsageError, match="importance"):
        made(MemoryDraft(content="x", importance=value))
    with pytest.raises(UsageError, match="confidence"):
        made(MemoryDraft(content="x", confidence=value))


@pytest.mark.feature("A10")
def test_secrets_are_gone_from_every_text_of_a_memory() -> None:
    memory = made(
        MemoryDraft(
            content=f"the token is {FAKE_KEY}",
            type=MemoryType.DEAD_END,
            citation=FAKE_KEY,
            tags=(FAKE_KEY,),
            key=FAKE_KEY,
            author=FAKE_KEY,
            evidence=(Evidence(EvidenceKind.PERSON, "user", note=f"said {FAKE_KEY}"),),
            payload=DeadEnd(approach_tried=FAKE_KEY, why_it_failed=f"x {FAKE_KEY}"),
        )
    )
    assert FAKE_KEY not in repr(memory)


@pytest.mark.feature("A2")
def test_a_payload_must_be_the_one_its_type_calls_for() -> None:
    with pytest.raises(UsageError, match="takes DeadEnd payload, not Decision"):
        made(MemoryDraft(content="x", type=MemoryType.DEAD_END, payload=Decision()))
    with pytest.raises(UsageError, match="takes no payload"):
        made(MemoryDraft(content="x", type=MemoryType.CONVENTION, payload=Decision()))
    with pytest.raises(UsageError, match="needs a WorkflowRecipe"):
        made(MemoryDraft(content="x", type=MemoryType.WORKFLOW_RECIPE))


def test_paths_are_kept_with_forward_slashes_once() -> None:
    memory = made(MemoryDraft(content="x", files=("src\\app\\main.py", "./src/app/main.py", "")))
    assert memory.files == ("src/app/main.py",)


def test_a_module_memory_has_module_scope_by_default() -> None:
    assert made(MemoryDraft(content="x", modules=("auth",))).scope is Scope.MODULE
    assert made(MemoryDraft(content="x")).scope is Scope.GLOBAL


@given(st.text(st.characters(exclude_categories=[]), max_size=60))
def test_whatever_is_typed_is_stored_as_valid_text_or_refused(raw: str) -> None:
    draft = MemoryDraft(content="x" + raw, key=raw or None, tags=(raw,), author=raw or None)
    memory = made(draft)
    for value in (memory.content, memory.key or "", memory.author or "", *memory.tags):
        assert value.encode("utf-8").decode("utf-8") == value
        assert "\x00" not in value


def test_a_negative_position_is_refused() -> None:
    with pytest.raises(UsageError, match="position"):
        made(replace(MemoryDraft(content="x"), seq=-1))


@pytest.mark.feature("A7")
@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (Relation(RelationType.VALIDATES), "has one target"),
        (Relation(RelationType.VALIDATES, target_id="a", target_file="b"), "has one target"),
        (
            Relation(RelationType.VALIDATES, target_id="a", confidence=math.nan),
            "relation nan is out of range",
        ),
    ],
)
def test_a_relation_has_one_target_and_a_confidence_between_0_and_1(
    relation: Relation, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        made(MemoryDraft(content="x", relations=(relation,)))
    with pytest.raises(UsageError, match=said):
        amend(made(MemoryDraft(content="x")), MemoryPatch(relations=(relation,)), now=NOW)


@pytest.mark.feature("A10")
def test_no_side_field_keeps_a_secret_or_an_unstorable_character() -> None:
    memory = made(
        MemoryDraft(
            content="x",
            evidence=(Evidence(EvidenceKind.PERSON, f"key {FAKE_KEY}\0"),),
            relations=(Relation(RelationType.DERIVED_FROM, target_file=f"a/{FAKE_KEY}"),),
            work_unit=WorkUnitRef("native", (f"spec {FAKE_KEY}",), "\ud800"),
            graph_node=f"n {FAKE_KEY}",
        )
    )
    assert FAKE_KEY not in repr(memory)
    assert "\ud800" not in repr(memory)
    assert "\0" not in memory.evidence[0].ref


@pytest.mark.parametrize(
    "unit", [WorkUnitRef("", ("a",), "a"), WorkUnitRef("native", (), "a")], ids=["method", "name"]
)
def test_a_work_unit_without_a_name_is_refused(unit: WorkUnitRef) -> None:
    with pytest.raises(UsageError, match="work unit has a methodology"):
        made(MemoryDraft(content="x", work_unit=unit))


@pytest.mark.feature("A2")
def test_a_payload_can_be_changed_and_comes_along_with_a_new_type() -> None:
    plain = made(MemoryDraft(content="x"))
    decided = amend(
        plain, MemoryPatch(type=MemoryType.DECISION, payload=Decision("because")), now=NOW
    )
    assert decided.payload == Decision("because")
    changed = amend(decided, MemoryPatch(payload=Decision("therefore")), now=NOW)
    assert changed.payload == Decision("therefore")
    with pytest.raises(UsageError, match="takes Decision payload"):
        amend(decided, MemoryPatch(payload=DeadEnd("a", "b")), now=NOW)

"""The field table: every consumer of `Memory` covers every field it should."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.support.samples import Samples
from wellkept.api.verbs.as_json import plain
from wellkept.api.verbs.params import params_of
from wellkept.context.verbs import edit
from wellkept.core.codec import record_from_json, record_to_json
from wellkept.core.memory import (
    Evidence,
    Memory,
    MemoryDraft,
    MemoryPatch,
    Relation,
    WorkUnitRef,
)
from wellkept.core.payloads import Decision
from wellkept.core.records import fields, record
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.arguments import EditArgs, MemoryArgs
from wellkept.memory.draft import amend, compose
from wellkept.memory.exchange.markdown_document import (
    changes_to,
    memory_from_markdown,
    read_front_matter,
)
from wellkept.memory.exchange.markdown_document import memory_to_markdown as to_markdown
from wellkept.memory.fields import EDITABLE, IN_MARKDOWN, MEMORY_FIELDS, SETTABLE
from wellkept.memory.request_builder import RequestBuilder
from wellkept.store.memory_rows import to_memory, to_row

pytestmark = pytest.mark.feature("A1")

NOW = datetime(2026, 5, 31, 9, tzinfo=UTC)
# A value for each field that no other field has and that is no default.
FILLED: dict[str, Any] = {
    "type": MemoryType.DECISION,
    "content": "Use PostgreSQL",
    "key": "store",
    "tags": ("database",),
    "files": ("docs/store.md",),
    "modules": ("store",),
    "importance": 0.25,
    "confidence": 0.375,
    "scope": Scope.USER,
    "source": Source.IMPORTED,
    "author": "ada",
    "session_id": "s1",
    "seq": 7,
    "commit_sha": "abc123",
    "work_unit": WorkUnitRef("native", ("spec-7",), "spec-7"),
    "relations": (Relation(RelationType.VALIDATES, target_file="a.py"),),
    "evidence": (Evidence(EvidenceKind.PERSON, "ada"),),
    "graph_node": "a.py::run",
    "half_life_days": 30.0,
    "needs_review": True,
    "user_verified": True,
    "pinned": True,
    "citation": "ADR 7",
    "work_tokens": 1200,
    "payload": Decision(rationale="it scales"),
    "valid_from": NOW.replace(day=1),
}


def names(kind: type[object]) -> set[str]:
    return {field.name for field in fields(kind)}


def filled(rows: Any) -> dict[str, Any]:
    return {row.name: FILLED[row.name] for row in rows}


def full_memory() -> Memory:
    return compose(
        MemoryDraft(**filled(SETTABLE)), project="p", id=Samples(seed=1).memory("x").id, now=NOW
    )


def test_the_table_has_a_row_for_every_field() -> None:
    assert set(MEMORY_FIELDS) == names(Memory)
    assert all(row.help for row in MEMORY_FIELDS.values())


def test_drafts_and_patches_have_the_fields_that_callers_may_set() -> None:
    assert {row.name for row in SETTABLE} == names(MemoryDraft)
    assert {row.name for row in EDITABLE} == names(MemoryPatch)


def test_the_typed_keywords_are_those_of_the_table() -> None:
    settable = {row.argument for row in SETTABLE}
    assert set(get_type_hints(MemoryArgs)) == settable - {"content"}
    assert set(get_type_hints(EditArgs)) == {row.argument for row in EDITABLE}


def test_every_keyword_reaches_the_draft_and_the_patch(tmp_path: Path) -> None:
    requests = RequestBuilder("p", tmp_path, tmp_path, NOW)
    said: Any = {row.argument: FILLED[row.name] for row in SETTABLE if row.name != "content"}
    assert requests.draft(FILLED["content"], said) == MemoryDraft(**filled(SETTABLE))
    changes: Any = {row.argument: FILLED[row.name] for row in EDITABLE}
    assert requests.patch(changes, of=MemoryType.FACT) == MemoryPatch(**filled(EDITABLE))


def test_every_settable_field_of_a_draft_reaches_the_memory() -> None:
    memory = full_memory()
    assert {row.name: getattr(memory, row.name) for row in SETTABLE} == filled(SETTABLE)


def test_every_editable_field_of_a_patch_reaches_the_memory() -> None:
    changed = amend(Samples(seed=2).memory("old"), MemoryPatch(**filled(EDITABLE)), now=NOW)
    assert {row.name: getattr(changed, row.name) for row in EDITABLE} == filled(EDITABLE)


def test_json_rows_and_the_http_record_have_every_field() -> None:
    memory = full_memory()
    written = record_to_json(memory)
    assert list(written) == [field.name for field in fields(Memory)]
    assert to_memory(to_row(memory)) == memory
    shown: Any = plain(memory)
    assert set(shown) == {*names(Memory), "short", "told_by", "closed"}
    assert (shown["short"], shown["told_by"]) == (memory.short, memory.told_by)
    assert shown["closed"] is memory.closed
    assert shown["half_life_days"] == written["half_life_days"]


def test_markdown_shows_what_the_table_says_and_reads_the_editable_part_back() -> None:
    memory = full_memory()
    front, _ = read_front_matter(to_markdown(memory))
    shown = {row.name for row in IN_MARKDOWN if row.markdown == "always" or row.name in front}
    assert set(front) == {*shown, "fingerprint"}
    file = memory_from_markdown(to_markdown(memory))
    read_back = {row.name for row in IN_MARKDOWN if row.editable}
    assert {name for name in read_back if getattr(file.fields, name) is not None} >= (
        read_back - {"user_verified"}
    )
    assert changes_to(memory, file) == MemoryPatch()


def test_an_edit_over_http_has_the_editable_fields_but_relations() -> None:
    expected = {row.name for row in EDITABLE} - {"relations"}
    assert expected <= {one.name for one in params_of(edit)}


def test_a_new_field_of_a_record_appears_in_json() -> None:
    @record(kw_only=True)
    class Extended(Relation):
        mood: str | None = None

    one = Extended(type=RelationType.VALIDATES, target_file="a.py", mood="calm")
    assert record_to_json(one)["mood"] == "calm"
    assert record_from_json(Extended, record_to_json(one)) == one
    shown: Any = plain(one)
    assert shown["mood"] == "calm"

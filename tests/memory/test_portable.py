"""Exports round-trip exactly; imports merge, never overwrite, and say what they did."""

from __future__ import annotations

import io
import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.memory.exchange_records import libraries, memories
from tests.memory.exchange_steps import HEADER, counts, exported, line, one, put, take
from tests.support.model_store.store import ModelStore
from tests.support.samples import Samples
from wellkept.core.changes import Insert
from wellkept.core.codec import record_to_json
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.conflicts import MAX_LINE_BYTES, memory_from_json
from wellkept.memory.exchange.jsonl import (
    FORMAT,
    VERSION,
    export_jsonl_file,
    full_export,
    import_jsonl,
)
from wellkept.store import open_store

pytestmark = pytest.mark.feature("A11")

LATER = timedelta(hours=5)


# -- Exactly there and back -----------------------------------------------------------------------


@given(memories())
def test_a_record_survives_its_json_form_exactly(memory: Memory):
    text = json.dumps(record_to_json(memory), ensure_ascii=False)
    assert memory_from_json(json.loads(text)) == memory


@given(libraries)
@settings(max_examples=40)
def test_export_import_export_gives_the_same_bytes(library: list[Memory]):
    first, second = Engine(store=ModelStore()), Engine(store=ModelStore())
    put(first, *library)
    before = exported(first)
    report = import_jsonl(second, io.StringIO(before))
    assert counts(report) == (len(library), 0, 0, 0)
    assert exported(second) == before
    again = import_jsonl(second, io.StringIO(before))
    assert counts(again) == (0, 0, len(library), 0)
    assert exported(second) == before


@given(library=libraries)
@settings(max_examples=15)
def test_the_sqlite_store_gives_the_same_bytes_too(
    tmp_path_factory: pytest.TempPathFactory, library: list[Memory]
):
    folder = tmp_path_factory.mktemp("stores")
    model = Engine(store=ModelStore())
    put(model, *library)
    store = open_store(folder / "m.db")
    import_jsonl(Engine(store=store), io.StringIO(exported(model)))
    assert exported(Engine(store=store)) == exported(model)
    store.close()


def test_every_field_of_a_memory_is_in_every_line(engine: Engine, samples: Samples):
    put(engine, samples.memory("Deploys go through staging."))
    header, record = exported(engine).splitlines()
    assert json.loads(header) == {"format": FORMAT, "version": VERSION}
    assert list(json.loads(record)) == sorted(field.name for field in fields(Memory))


def test_an_export_is_ordered_oldest_first_whatever_the_order_of_writing(
    engine: Engine, other: Engine, samples: Samples
):
    one, two, three = (samples.memory(f"fact {n}") for n in range(3))
    put(engine, three, one, two)
    put(other, one, two, three)
    assert exported(engine) == exported(other)
    found = [json.loads(record)["content"] for record in exported(engine).splitlines()[1:]]
    assert found == ["fact 0", "fact 1", "fact 2"]


def test_an_export_keeps_inside_its_filter(engine: Engine, samples: Samples):
    put(engine, samples.memory("mine"), samples.memory("theirs", project="elsewhere"))
    text = exported(engine, full_export("example"))
    assert "mine" in text
    assert "theirs" not in text


def test_imported_memories_are_embedded_again(engine: Engine, other: Engine, samples: Samples):
    put(engine, samples.memory("The release train leaves on Tuesday."))
    assert "vector" not in exported(engine)
    import_jsonl(other, io.StringIO(exported(engine)))
    assert [share.count for share in other.store.vector_models()] == [1]
    assert other.store.search_fulltext(["tuesday"], full_export(None), limit=5)


def test_an_export_file_appears_whole_or_not_at_all(
    engine: Engine, samples: Samples, tmp_path: Path
):
    target = tmp_path / "export.jsonl"
    put(engine, samples.memory("kept"))
    seen: list[tuple[int, int]] = []
    done = export_jsonl_file(
        engine, full_export(None), target, progress=lambda done, total: seen.append((done, total))
    )
    assert (done, seen) == (1, [(1, 1)])
    with pytest.raises(ConflictError, match="already exists"):
        export_jsonl_file(engine, full_export(None), target)
    engine.store.apply([Insert(samples.memory("more"), engine.index_entry(samples.memory("x")))])
    export_jsonl_file(engine, full_export(None), target, overwrite=True)
    assert len(target.read_text().splitlines()) == 3
    assert [path.name for path in tmp_path.glob("*export*")] == ["export.jsonl"]


def test_a_failed_export_leaves_the_old_file_and_no_litter(
    engine: Engine, samples: Samples, tmp_path: Path
):
    target = tmp_path / "export.jsonl"
    target.write_text("before")
    put(engine, samples.memory("kept"))

    def stop(done: int, total: int) -> None:
        raise UsageError("stopped")

    with pytest.raises(UsageError, match="stopped"):
        export_jsonl_file(engine, full_export(None), target, overwrite=True, progress=stop)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.glob("*export*")] == ["export.jsonl"]


# -- Bad files ------------------------------------------------------------------------------------


def _broken(memory: Memory) -> list[tuple[str, str]]:
    return [
        ("{not json", "not JSON"),
        ("[1, 2]", "JSON object"),
        ("<<<<<<< ours", "merge conflict"),
        ("[" * 100_000, "nested too deeply"),
        (line(memory, surprise=1), "has no field 'surprise'"),
        (line(memory, importance=float("nan")), "NaN"),
        (line(memory).replace('"importance": 0.5', '"importance": 1e999'), "finite"),
        (line(memory, importance=10**400), "finite"),
        (line(memory, importance=2), "importance 2.0 is out of range"),
        (line(memory, type="rumour"), "Unknown memory type"),
        (line(memory, scope="galaxy"), "Unknown scope"),
        (line(memory, tags="a"), "tags must be a list"),
        (line(memory, pinned=1), "pinned must be bool"),
        (line(memory, seq=True), "seq must be int"),
        (line(memory, seq=-1), "out of range"),
        (line(memory, access_count=2**80), "out of range"),
        (line(memory, half_life_days=0), "half-life"),
        (line(memory, created_at="soon"), "not a date"),
        (line(memory, created_at="0001-01-01T00:00+14:00"), "out of range"),
        (line(memory, valid_to="1999-01-01"), "before valid_from"),
        (line(memory, content="  "), "empty"),
        (line(memory, content="x" * 1_100_000), "characters"),
        (line(memory, id="12"), "not a memory id"),
        (line(memory, id="\ud800"), "not a memory id"),
        (line(memory, id=7), "id must be str"),
        (line(memory, key=""), "empty text"),
        (line(memory, relations=[{"type": "validates"}]), "either to a memory or to a file"),
        (line(memory, relations=[{"type": "validates", "target_id": "x"}]), "not a memory id"),
        (line(memory, evidence=[{"kind": "hearsay", "ref": ""}]), "Unknown evidence[0].kind"),
        (line(memory, evidence=[7]), "must be an object"),
        (line(memory, type="convention", payload={"rationale": 1}), "takes no payload"),
        (line(memory, type="decision", payload={"why": "x"}), "no field 'why'"),
        (line(memory, type="context_cost"), "needs a payload"),
        ('{"content": "x"}', "needs the field 'id'"),
    ]


def test_each_bad_line_is_refused_with_its_number_and_reason(engine: Engine, samples: Samples):
    memory = samples.memory("Subject.")
    cases = _broken(memory)
    good = samples.memory("Good.")
    report = take(engine, *(text for text, _ in cases), line(good))
    assert counts(report) == (1, 0, 0, len(cases))
    for number, ((text, reason), note) in enumerate(zip(cases, report.refused, strict=True), 2):
        assert note.line == number
        assert reason in note.reason, text[:80]


def test_missing_optional_fields_get_their_defaults(engine: Engine, samples: Samples):
    memory = samples.memory("Brief.")
    brief = {name: record_to_json(memory)[name] for name in ("id", "project", "type", "content")}
    report = take(engine, json.dumps(brief | {"created_at": "2026-01-02", "type": "knowledge"}))
    assert counts(report) == (1, 0, 0, 0)
    kept = one(engine, memory)
    assert kept.type is MemoryType.FACT
    assert kept.updated_at == kept.valid_from == datetime(2026, 1, 2, tzinfo=UTC)


def test_a_file_cut_in_the_middle_gives_everything_before_the_cut(
    engine: Engine, other: Engine, samples: Samples, tmp_path: Path
):
    put(engine, *(samples.memory(f"Fact {n}") for n in range(3)))
    cut = tmp_path / "cut.jsonl"
    cut.write_text(exported(engine)[:-40], encoding="utf-8")
    report = import_jsonl(other, cut)
    assert counts(report) == (2, 0, 0, 1)
    assert (report.refused[0].line, report.refused[0].reason) == (
        4,
        "the file ends in the middle of this line.",
    )


def test_a_cut_inside_a_character_is_told_apart(engine: Engine, samples: Samples, tmp_path: Path):
    cut = tmp_path / "cut.jsonl"
    text = json.dumps(record_to_json(samples.memory("é" * 50)), ensure_ascii=False)
    cut.write_bytes(f"{HEADER}\n{text}".encode().split("é".encode())[0] + b"\xc3")
    report = import_jsonl(engine, cut)
    assert "not UTF-8" in report.refused[0].reason


def test_strict_writes_nothing_when_a_line_is_bad(engine: Engine, samples: Samples):
    report = take(engine, line(samples.memory("Good.")), "{", strict=True)
    assert not report.applied
    assert [note.line for note in report.refused] == [3]
    assert engine.store.stats(full_export(None)).total == 0
    assert take(engine, line(samples.memory("Good.")), strict=True).applied
    assert engine.store.stats(full_export(None)).total == 1


def test_a_dry_run_foresees_the_report_and_writes_nothing(engine: Engine, samples: Samples):
    known = samples.memory("Known.")
    put(engine, known)
    first = samples.memory("First.", key="k")
    lines = [
        line(known),
        line(first),
        line(samples.memory("Second.", key="k")),
        line(replace(known, content="Later.", updated_at=known.updated_at + LATER)),
        "{",
    ]
    before = exported(engine)
    foreseen = take(engine, *lines, dry_run=True)
    assert exported(engine) == before
    assert not foreseen.applied
    assert replace(foreseen, applied=True) == take(engine, *lines)


def test_byte_order_mark_and_windows_line_ends_do_no_harm(
    engine: Engine, samples: Samples, tmp_path: Path
):
    path = tmp_path / "windows.jsonl"
    text = f"\ufeff{HEADER}\r\n\r\n{line(samples.memory('Fine.'))}\r\n"
    path.write_bytes(text.encode())
    assert counts(import_jsonl(engine, path)) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x7fELF\0\0\0", "binary file"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b"hello\n", "not an export"),
        (b"{}\n", "names no format"),
        (b'{"format": "other", "version": 1}\n', "is not known"),
        (b'{"format": "wellkept-memories", "version": 99}\n', "Update Wellkept"),
        (b'{"format": "wellkept-memories", "version": "1"}\n', "is not known"),
        (b'{"format": "wellkept-mem', "ends in the middle"),
        (b"\xff\xfa\n", "not UTF-8"),
    ],
)
def test_what_is_no_export_is_refused_whole(
    engine: Engine, tmp_path: Path, raw: bytes, reason: str
):
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(UsageError, match=reason):
        import_jsonl(engine, path)


def test_a_missing_file_is_said_to_be_missing(engine: Engine, tmp_path: Path):
    with pytest.raises(NotFoundError, match="no file"):
        import_jsonl(engine, tmp_path / "none.jsonl")


def test_a_huge_line_is_passed_over(engine: Engine, samples: Samples, tmp_path: Path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(HEADER.encode() + b'\n{"content": "' + b"x" * 5_000)
        file.seek(MAX_LINE_BYTES + 5_000_000, 1)
        file.write(b'"}\n' + line(samples.memory("After.")).encode() + b"\n")
    report = import_jsonl(engine, path)
    assert counts(report) == (1, 0, 0, 1)
    assert "longer than" in report.refused[0].reason


def test_unstorable_characters_are_replaced(engine: Engine, samples: Samples):
    memory = samples.memory("x")
    report = take(engine, line(memory, content="a\x00b\ud800c"))
    assert counts(report) == (1, 0, 0, 0)
    assert one(engine, memory).content == "a\ufffdb\ufffdc"


@pytest.mark.feature("A10", "A11")
def test_secrets_in_a_file_are_redacted_like_any_other(engine: Engine, samples: Samples):
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z45"
    memory = samples.memory("x", type=MemoryType.DECISION)
    report = take(
        engine,
        line(
            memory,
            content=f"Use {secret} to push. <private>not this</private>",
            tags=[secret],
            citation=secret,
            author=secret,
            commit_sha=secret,
            evidence=[{"kind": "person", "ref": secret, "note": secret}],
            payload={"rationale": secret, "alternatives": [secret]},
        ),
    )
    assert (report.new, report.redacted) == (1, 1)
    text = exported(engine)
    assert secret not in text
    assert "not this" not in text


def test_progress_ends_at_the_end_of_the_file(engine: Engine, samples: Samples, tmp_path: Path):
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join([HEADER, *(line(samples.memory(f"F {n}")) for n in range(1200))]))
    seen: list[tuple[int, int]] = []
    report = import_jsonl(engine, path, progress=lambda done, total: seen.append((done, total)))
    assert report.new == 1200
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)

"""Helpers to export, import and inspect the result."""

from __future__ import annotations

import io
import json

from wellkept.core.changes import Insert
from wellkept.core.codec import record_to_json
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.jsonl import (
    FORMAT,
    VERSION,
    ImportReport,
    export_jsonl,
    full_export,
    import_jsonl,
)

HEADER = json.dumps({"format": FORMAT, "version": VERSION})


def put(engine: Engine, *memories: Memory) -> None:
    engine.store.apply([Insert(memory, engine.index_entry(memory)) for memory in memories])


def exported(engine: Engine, where: Filter | None = None) -> str:
    out = io.StringIO()
    export_jsonl(engine, where or full_export(None), out)
    return out.getvalue()


def line(memory: Memory, **changes: object) -> str:
    return json.dumps(record_to_json(memory) | changes, sort_keys=True)  # type: ignore[operator]


def take(engine: Engine, *lines: str, strict: bool = False, dry_run: bool = False) -> ImportReport:
    text = "\n".join((HEADER, *lines)) + "\n"
    return import_jsonl(engine, io.StringIO(text), strict=strict, dry_run=dry_run)


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return (report.new, report.merged, report.skipped, len(report.refused))


def one(engine: Engine, memory: Memory) -> Memory:
    return engine.store.get([memory.id])[0]

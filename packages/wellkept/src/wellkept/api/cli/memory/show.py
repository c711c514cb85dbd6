"""`wellkept show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.context.injection_log import MemoryUse
    from wellkept.core.memory import Memory


@click.command()
@click.argument("names", nargs=-1, required=True, type=MEMORY, metavar="ID...")
@options.project_option
@options.json_option
def show(*, names: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Show memories in full.

    ID is a full id, a short id or its beginning, or a key.
    """
    with options.open_wellkept(project, reads=True) as wk:
        memories = [wk.get(name) for name in names]
        uses = [wk.injected.use_of(memory) for memory in memories]
    if as_json:
        items = [
            {**_fields(memory), "use": use} for memory, use in zip(memories, uses, strict=True)
        ]
        output.print_json({"items": items})
        return
    for index, (memory, use) in enumerate(zip(memories, uses, strict=True)):
        if index:
            click.echo()
        _print(memory, use)


def _fields(memory: Memory) -> dict[str, object]:
    shown = output.plain(memory)
    assert isinstance(shown, dict)
    return dict(shown)


def _print(memory: Memory, use: MemoryUse) -> None:
    click.echo(
        f"{click.style('m:' + memory.short, fg='cyan', bold=True)} {output.badge(memory.type)}"
    )
    click.echo(output.indented(memory.content, by=2))
    for name, value in [*_facts(memory), *_use(use)]:
        if value:
            click.echo(f"  {click.style(name, dim=True)}: {output.one_line(value)}")


def _facts(memory: Memory) -> list[tuple[str, str]]:
    validity = f"{_time(memory.valid_from)} to {_time(memory.valid_to) or 'now'}"
    flags = ("pinned", "user_verified", "needs_review")
    return [
        ("id", memory.id),
        ("key", memory.key or ""),
        ("type", memory.type.value),
        ("project", memory.project),
        ("importance", f"{memory.importance:.2f}"),
        ("confidence", f"{memory.confidence:.2f}"),
        ("scope", memory.scope.value),
        ("whose words", memory.told_by),
        ("source", memory.source.value),
        ("author", memory.author or ""),
        ("session", memory.session_id or ""),
        ("commit", memory.commit_sha or ""),
        ("work unit", _work_unit(memory)),
        ("half-life", f"{memory.half_life_days:g} days" if memory.half_life_days else ""),
        ("cited as", memory.citation or ""),
        ("valid", validity),
        ("superseded by", memory.superseded_by or ""),
        ("stale since", _time(memory.stale_at)),
        ("archived", _time(memory.archived_at)),
        ("flags", ", ".join(flag for flag in flags if getattr(memory, flag))),
        ("tags", ", ".join(memory.tags)),
        ("files", ", ".join(memory.files)),
        ("modules", ", ".join(memory.modules)),
        ("payload", str(output.plain(memory.payload)) if memory.payload else ""),
        (
            "relations",
            "; ".join(f"{r.type.value} {r.target_id or r.target_file}" for r in memory.relations),
        ),
        ("evidence", "; ".join(f"{e.kind.value} {e.ref}" for e in memory.evidence)),
        ("used", f"{counted(memory.access_count, 'time')}, last {_time(memory.accessed_at)}"),
        ("updated", _time(memory.updated_at)),
    ]


def _use(known: MemoryUse) -> list[tuple[str, str]]:
    from wellkept.context.injection_log import session_text, use_text

    return [
        ("came from", "; ".join(map(session_text, known.sessions))),
        ("given", use_text(known.use)),
        ("silent", known.silent.reason if known.silent else ""),
    ]


def _work_unit(memory: Memory) -> str:
    unit = memory.work_unit
    return f"{unit.methodology}:{'/'.join(unit.hierarchy)}" if unit else ""


def _time(value: object) -> str:
    return str(output.plain(value)) if value is not None else ""

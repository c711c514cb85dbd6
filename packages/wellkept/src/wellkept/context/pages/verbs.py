"""The verbs of the project pages. `core.verbs` says what a declaration is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from wellkept.context.workspace import MemoryWithPages
from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg, Effect, Table, verb
from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.project.page_files import PageFiles
    from wellkept.project.pages import LastRun, ProjectPage


@record(kw_only=True)
class Pages:
    """The pages, each line with its source."""

    pages: tuple[ProjectPage, ...]

    def as_table(self) -> Table | None:
        """A row for each page; None for one, which is shown in full."""
        if len(self.pages) == 1:
            return None
        rows = [(one.name.value, one.title, str(len(one.lines))) for one in self.pages]
        return Table(("page", "title", "lines"), rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to do where there is nothing yet."""
        is_empty = len(self.pages) > 1 and not any(one.lines for one in self.pages)
        return ("Nothing yet: run `wellkept init` in the project.",) if is_empty else ()

    def as_text(self) -> str:
        """Every page in full."""
        from wellkept.project.pages import as_text

        return "\n\n".join(as_text(one).rstrip() for one in self.pages)


@verb(
    aliases=("project_pages",),
    tell="What a newcomer reads first, each line with its source: layout, commands, rules, "
    "decisions in force, traps, people.",
    examples=({}, {"name": "rules"}),
)
def pages(
    wk: MemoryWithPages,
    name: Annotated[str, Arg("layout, commands, rules, decisions, traps or people.")] = "",
    *,
    as_of: Annotated[
        str | datetime | None, Arg("As they read at that moment, such as 2026-05-01 or 3d.")
    ] = None,
) -> Pages:
    """Show the project pages: layout, commands, rules, decisions, traps, people.

    With NAME one page in full. Each line is a record with its source; editing it corrects the
    record.
    """
    from wellkept.project.pages import PageName, page_named, project_pages

    at = wk.requests.moment(as_of)
    names = (page_named(name),) if name else tuple(PageName)
    runs = _last_runs(wk) if PageName.COMMANDS in names and at is None else {}
    return Pages(pages=project_pages(wk.engine, wk.project, names=names, runs=runs, as_of=at))


def _last_runs(wk: OpenMemory) -> dict[str, LastRun]:
    """The newest run of each line that sessions ran here."""
    from wellkept.observe.failures.command_records import read_records
    from wellkept.project.pages import LastRun

    found: dict[str, LastRun] = {}
    for one in read_records(wk.engine.store, wk.project):
        times = [at for at in (one.worked_at, one.failed_at) if at is not None]
        if times:
            session = one.sessions[-1] if one.sessions else ""
            found[one.line] = LastRun(
                at=max(times), ok=one.works, purpose=one.purpose, session=session
            )
    return found


@record(kw_only=True)
class LineEdited:
    """What stands now; `undo_id` takes it back."""

    memory: Memory
    undo_id: str | None
    undo_until: datetime | None

    def as_text(self) -> str:
        """How to take it back."""
        return f"Corrected. Take it back with: wellkept undo {self.undo_id}"


@verb(
    noun="page",
    effect=Effect.ADDS,
    aliases=("page_line_edit",),
    role=Role.REVIEWER,
    repeatable=False,
    examples=({"id": "{id}", "text": "As it should read."},),
)
def edit(
    wk: MemoryWithPages,
    id: Annotated[str, Arg("The id of the line.", 1, names="memory")],
    *,
    text: Annotated[str, Arg("How the line should read.", 1, 10_000, flag="--to")],
    if_updated_at: Annotated[
        str | datetime | None, Arg("Refuse when it was changed since that moment.", hidden=True)
    ] = None,
) -> LineEdited:
    """Correct the record behind a line of a project page."""
    done = wk.edit_page_line(id, text, if_updated_at=wk.requests.moment(if_updated_at))
    return LineEdited(memory=done.memory, undo_id=done.undo_id, undo_until=done.undo_until)


@verb(
    noun="page",
    effect=Effect.ADDS,
    aliases=("page_files",),
    role=Role.REVIEWER,
    on_files=True,
    examples=({},),
)
def write(
    wk: MemoryWithPages,
    *,
    folder: Annotated[str, Arg("Where the files are. Default: .wellkept/pages.")] = "",
) -> PageFiles:
    """Write the pages as Markdown files, after taking over what was edited in them."""
    from pathlib import Path

    from wellkept.core.team.people import asking
    from wellkept.project.page_files import DEFAULT_FOLDER, sync_files

    asking().require_person("Writing pages")
    place = wk.root / Path(folder or DEFAULT_FOLDER)
    return sync_files(wk.engine, place, root=wk.root, read=lambda: pages(wk).pages)

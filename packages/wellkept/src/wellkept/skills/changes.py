"""What writing verbs of skills answer: records with one text each, for people and models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from wellkept.core.records import field, record
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.skills import GeneratedSkill, SkillFinding, SkillReview
from wellkept.core.text import counted
from wellkept.core.verbs import Arg, Table
from wellkept.skills.results import SkillRow, finding_lines, one_line

if TYPE_CHECKING:
    from wellkept.skills.hooks.runner import ListedHook
    from wellkept.skills.library.catalog import GeneratedSkillView
    from wellkept.skills.library.generate import SkippedSession

# -- Changes --------------------------------------------------------------------------------------


@record(kw_only=True)
class NewSkill:
    """A skill that was made, or fetched from an address and accepted; in a dry run, that would be.
    `sha256` is of the document that was fetched."""

    skill: SkillRow
    body: str = ""
    url: str = ""
    sha256: str = ""
    findings: tuple[SkillFinding, ...] = ()
    dry_run: bool = False
    question: str = ""

    @property
    def ids(self) -> list[str]:
        """Its name."""
        return [self.skill.name]

    @property
    def agreed(self) -> dict[str, Any]:
        """What ties an answer to the document that was shown."""
        return {"sha256": self.sha256} if self.sha256 else {}

    def as_text(self) -> str:
        """What was made; in a dry run the whole document."""
        row, findings = self.skill, list(finding_lines(self.findings))
        if not self.dry_run:
            return "\n".join([f"Created {row.name} ({row.path or row.source})", *findings])
        lines = [f"{row.name}: {row.description}", f"sha256 {self.sha256}", *findings, ""]
        return "\n".join([*lines, quoted_lines(self.body)])


@record(kw_only=True)
class SwitchedSkills:
    """Skills that were switched on or off; or those that are forced in a session."""

    items: tuple[SkillRow, ...] = ()
    session: str = ""
    forced: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Names."""
        return [one.name for one in self.items] or [*self.forced]

    @property
    def notes(self) -> tuple[str, ...]:
        """How many are forced."""
        many = f"{counted(len(self.forced), 'skill')} forced in session {self.session}."
        return (many,) if self.session else ()

    def as_text(self) -> str:
        """One line each."""
        rows = (
            f"{'Enabled' if one.enabled else 'Disabled'} {one.name} ({one.path or one.source})"
            for one in self.items
        )
        return "\n".join([*rows, *map(quoted, self.forced)])


@record(kw_only=True)
class DeletedSkill:
    """What was removed, or would be."""

    name: str
    files: tuple[str, ...] = ()
    dry_run: bool = False
    question: str = ""

    def as_text(self) -> str:
        """The files."""
        head = "Would be deleted" if self.dry_run else "Deleted"
        return "\n".join([*map(quoted, self.files), f"{head}: {self.name}"])


@record(kw_only=True)
class ExportedSkills:
    """The folders that skills were copied to."""

    items: tuple[str, ...]

    def as_text(self) -> str:
        """One a line."""
        return "\n".join(map(quoted, self.items))


# -- Skills from sessions -------------------------------------------------------------------------


@record(kw_only=True)
class GeneratedSkills:
    """Skills that were made from sessions, and the sessions that gave none. `before` is what a
    refined one said until now, `sessions` those it was refined from."""

    made: tuple[GeneratedSkill, ...] = ()
    passed: tuple[SkippedSession, ...] = ()
    before: str = ""
    sessions: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def found(self) -> bool:
        """Whether one was made."""
        return bool(self.made)

    @property
    def ids(self) -> list[str]:
        """Names."""
        return [one.name for one in self.made]

    @property
    def notes(self) -> tuple[str, ...]:
        """Why sessions gave none, and what to do next."""
        if self.sessions:
            name, many = self.made[0].name, counted(len(self.sessions), "session")
            changed = "is unchanged" if self.made[0].text == self.before else "is refined"
            return (f"{name} {'would be refined' if self.dry_run else changed}: {many}.",)
        skipped = [
            f"Skipped {one_line(' '.join(filter(None, (one.session_id[:12], one.title))))}: "
            f"{one.reason}."
            for one in self.passed
        ]
        waiting = [one.name for one in self.made if not one.enabled and not self.dry_run]
        return (*skipped, *(f"Review it with `wellkept skill review {one}`." for one in waiting))

    def as_text(self) -> str:
        """What was made; the documents in a dry run and after refining."""
        if self.dry_run or self.sessions:
            return "\n".join(quoted_lines(one.text) for one in self.made)
        if not (self.made or self.passed):
            return "No sessions in this project yet."
        return "\n".join(
            f"Generated {one.name} from session {', '.join(one.session_ids)}" for one in self.made
        )


_HEADINGS: tuple[str, ...] = ("name", "review", "state", "uses", "success", "note")


@record(kw_only=True)
class ReviewedSkills:
    """Skills from sessions with how they fared; texts and earlier versions only of a named one.
    `decided` says that an answer was given."""

    items: tuple[GeneratedSkillView, ...] = ()
    named: bool = False
    decided: bool = False

    @property
    def ids(self) -> list[str]:
        """Names."""
        return [one.skill.name for one in self.items]

    @property
    def notes(self) -> tuple[str, ...]:
        """How many there are."""
        if self.named:
            return ()
        gone = len(self.items) - len(self._kept)
        rejected = f", {gone} rejected" if gone else ""
        return (f"{counted(len(self._kept), 'generated skill')}{rejected}.",)

    @property
    def _kept(self) -> list[GeneratedSkillView]:
        return [one for one in self.items if one.skill.review is not SkillReview.REJECTED]

    def as_text(
        self, *, history: Annotated[bool, Arg("Also earlier versions.", hidden=True)] = False
    ) -> str:
        """What was decided; else the skill, or one line each."""
        if self.decided or not self.named:
            return "\n".join(
                f"{one.skill.name}: {one.skill.review.value}, "
                f"{'on' if one.skill.enabled else 'off'}"
                for one in (self.items if self.decided else self._kept)
            )
        (view,) = self.items
        facts = dict(zip(_HEADINGS, _review_cells(view), strict=True))
        facts["origin"] = f"{view.skill.origin.value}, by {view.skill.made_by}"
        facts["sessions"] = ", ".join(view.skill.session_ids)
        facts["earlier versions"] = str(len(view.editions))
        lines = [f"{label}: {one_line(text)}" for label, text in facts.items()]
        lines += ["", quoted_lines(view.skill.text)]
        for edition in view.editions if history else ():
            lines += [f"--- until {edition.until:%Y-%m-%d %H:%M}, by {edition.made_by}", ""]
            lines.append(quoted_lines(edition.text))
        return "\n".join(lines)

    def as_table(self, *, history: bool = False) -> Table | None:
        """Rows for a terminal."""
        if self.named or history:
            return None
        return Table(_HEADINGS, [_review_cells(one) for one in self._kept])


def _review_cells(view: GeneratedSkillView) -> tuple[str, ...]:
    skill, seen = view.skill, view.record
    rate = f"{seen.success_rate:.0%} of {seen.judged}" if seen.judged else "-"
    state = "on" if skill.enabled else "off"
    return skill.name, skill.review.value, state, str(seen.uses), rate, skill.note or ""


# -- Hooks and checks -----------------------------------------------------------------------------


@record(kw_only=True)
class SkillHookRow:
    """A shell command of a skill, and whether it may run in this folder."""

    skill: str
    source: str
    event: str
    matcher: str
    command: str
    once: bool
    timeout_s: float | None
    state: str
    path: str
    line: int | None
    fingerprint: str

    @classmethod
    def of(cls, listed: ListedHook) -> SkillHookRow:
        """The row of a hook."""
        skill, hook = listed.skill, listed.hook
        return cls(
            skill=skill.name,
            source=f"{skill.source.kind.value}:{skill.source.name}",
            event=hook.event.value,
            matcher=hook.matcher,
            command=hook.command,
            once=hook.once,
            timeout_s=hook.timeout_s,
            state=listed.state.value,
            path=str(skill.path or ""),
            line=hook.line,
            fingerprint=listed.fingerprint or "",
        )


@record(kw_only=True)
class TrustedHooks:
    """The hooks of skills, and the skills whose hooks may run from now on."""

    items: tuple[SkillHookRow, ...] = ()
    trusted: tuple[str, ...] = ()
    dry_run: bool = False
    question: str = ""
    notes: tuple[str, ...] = ()

    @property
    def agreed(self) -> dict[str, Any]:
        """What ties an answer to the hooks that were shown."""
        return {"seen": sorted({one.fingerprint for one in self.items})}

    def as_text(self) -> str:
        """One line each."""
        return "\n".join("  ".join(one) for one in self._rows())

    def as_table(self) -> Table:
        """Rows for a terminal."""
        return Table(("skill", "state", "event", "tools", "command"), self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                *(one.skill, one.state, one.event, one.matcher or "*"),
                quoted(one.command) + (" (once)" if one.once else ""),
            )
            for one in self.items
        ]


@record(kw_only=True)
class SkillCheck:
    """One document that was looked over."""

    name: str
    path: str
    valid: bool
    findings: tuple[SkillFinding, ...] = ()


@record(kw_only=True)
class SkillPlace:
    """A place that skills come from, and how many."""

    source: str
    skills: int
    folder: str


@record(kw_only=True)
class CheckedSkills:
    """What is wrong with skills; after reading all places anew, how many there are and from where.
    `pending` wait for review."""

    items: tuple[SkillCheck, ...] = ()
    total: int = 0
    enabled: int = 0
    by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    places: tuple[SkillPlace, ...] = ()
    pending: int = 0
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a rule is broken."""
        return any(not one.valid for one in self.items)

    def as_text(self) -> str:
        """The findings, or the places."""
        rows = [f"{one.source}\t{one.skills}\t{one.folder}".rstrip() for one in self.places]
        return "\n".join(
            [*rows, *(line for one in self.items for line in finding_lines(one.findings))]
        )

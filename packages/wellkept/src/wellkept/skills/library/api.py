"""`wk.skills`: the skills of the open project and all operations on them.

Connects the sources (project, user, plugins, lists, the store) to one catalog; the work is done in
`wellkept.skills`. Only `fetch_remote` uses the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from wellkept.clients.known import KNOWN
from wellkept.core.doors import find_plugin
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.core.settings import paths
from wellkept.core.skills import Skill, SkillClash, SkillFinding, SkillIndex, SkillKind, SkillSource
from wellkept.core.types import parse_choice
from wellkept.skills.authoring import write
from wellkept.skills.authoring.edit_fields import FieldValue
from wellkept.skills.authoring.write import ValidationReport, validate_path
from wellkept.skills.library.catalog import GeneratedSkills, LibraryOverview
from wellkept.skills.library.select import (
    Detection,
    SkillChooser,
    announce_detected,
    keep_summaries,
)
from wellkept.skills.library.sources import ForcedSkills, StoredSkillSwitches, scanners_of
from wellkept.skills.safe_paths import is_inside
from wellkept.skills.sources.catalog import (
    TEAM_SOURCE,
    PromptScanner,
    SkillCatalog,
    StoredSkillScanner,
)
from wellkept.skills.sources.remote_copies import RemoteCopies
from wellkept.skills.sources.scanner import SKILL_FILES

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.plugins import TeamStoreDoors
    from wellkept.core.ports.skills import PromptSource, SkillFetcher, StoredSkills
    from wellkept.core.skills import GeneratedSkill
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.commands.table import Command
    from wellkept.skills.hooks.runner import SkillHooks
    from wellkept.skills.library.catalog import ReviewAnswer
    from wellkept.skills.library.commands import SkillCommands
    from wellkept.skills.library.generate import GenerationReport, Refinement, SkillGenerator
    from wellkept.skills.library.remote import FetchedSkill, RemoteSkills

NEW_FOLDERS: Final = (".skills", ".claude/skills", ".agents/skills", ".opencode/skills", "user")
"""Where `create` may put a skill; `user` is the user's own folder."""

CLIENT_FOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {name: one.skills for name, one in KNOWN.items() if one.skills}
)
"""Client -> the project folder from which it reads skills."""


@record(kw_only=True)
class SkillsOverview:
    """Counts of skills and sources, and what is wrong."""

    total: int
    enabled: int
    by_kind: Mapping[str, int]
    sources: tuple[tuple[SkillSource, int], ...]
    clashes: tuple[SkillClash, ...]
    errors: int
    warnings: int
    findings: tuple[SkillFinding, ...]
    generated: LibraryOverview


class Skills:
    """The skills of one project for one user."""

    def __init__(
        self,
        services: Workspace,
        *,
        embedder: Callable[[], Embedder | None],
        own_commands: Callable[[Skills], tuple[Command, ...]],
        stored: StoredSkills | None = None,
        fetcher: SkillFetcher | None = None,
    ) -> None:
        self._services = services
        self._own_commands = own_commands
        self.library = GeneratedSkills(services)
        self._stored = stored = stored or self.library
        self.root = services.root
        self._own_folder = paths.config_file(services.environment).parent
        self.copies = RemoteCopies(paths.data_folder(services.environment) / "remote-skills")
        self._fetcher = fetcher
        self._switches = StoredSkillSwitches(services.store, services.project)
        self._forced = ForcedSkills(
            services.store, services.project, always=services.settings.skills_force
        )
        scanners = scanners_of(
            services.environment,
            root=self.root,
            own_folder=self._own_folder,
            copies=self.copies,
            managed=services.settings.skills_managed,
        )
        team: TeamStoreDoors | None = find_plugin("team")
        if team is not None:
            managed = team.managed_skills(services.store, services.project)
            scanners.append(StoredSkillScanner(managed, TEAM_SOURCE))
        self._catalogue = SkillCatalog(
            [*scanners, StoredSkillScanner(stored)], switches=self._switches
        )
        engine = services.engine
        self._chooser = chooser = SkillChooser(
            index=self.index,
            root=self.root,
            embedder=embedder,
            clock=engine.clock,
            count_tokens=engine.count_tokens,
            forced=self._forced.names,
        )
        self.select, self.search, self.hint = chooser.select, chooser.search, chooser.hint
        self.injection, self.forced = chooser.injection, chooser.forced

    # -- Reading ----------------------------------------------------------------------------------

    def index(self) -> SkillIndex:
        """All current skills; takes a few milliseconds when nothing changed."""
        return self._catalogue.index()

    def list(self, *, source: str | None = None, include_disabled: bool = True) -> list[Skill]:
        """Skills, highest priority first; `source` is a kind such as `project`. Built-in ones for
        another kind of project are left out."""
        if source is not None and source not in set(SkillKind):
            raise UsageError(f"Unknown source {source!r}.", hint=f"One of: {', '.join(SkillKind)}.")
        fits = self._chooser.fits_here()
        return [
            skill
            for skill in self.index()
            if (source is None or skill.source.kind == source)
            and (include_disabled or skill.enabled)
            and fits(skill)
        ]

    def get(self, name: str) -> Skill:
        """The skill with that name, alias or id."""
        index = self.index()
        found = index.get(name) or index.get(name.removeprefix("/"))
        if found is None:
            close = get_close_matches(name, [skill.name for skill in index], n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "See `wellkept skill list`."
            raise NotFoundError(f"Unknown skill {name!r}.", hint=hint)
        return found

    def overview(self) -> SkillsOverview:
        """Counts of skills and sources, and what is wrong."""
        index = self.index()
        findings = [*index.findings, *(found for skill in index for found in skill.findings)]
        by_source: dict[SkillSource, int] = dict.fromkeys(index.sources, 0)
        by_kind: dict[str, int] = {}
        for skill in index:
            by_source[skill.source] = by_source.get(skill.source, 0) + 1
            by_kind[skill.source.kind.value] = by_kind.get(skill.source.kind.value, 0) + 1
        errors = sum(found.is_error for found in findings)
        return SkillsOverview(
            total=len(index),
            enabled=len(index.enabled),
            by_kind=by_kind,
            sources=tuple(by_source.items()),
            clashes=index.clashes,
            errors=errors,
            warnings=len(findings) - errors,
            findings=index.findings,
            generated=self.library.overview(),
        )

    def detect(self, *, phase: str | None = None, refresh: bool = False) -> Detection:
        """The skills that the project calls for by its files, with reasons. Changes are logged as
        activity."""
        found = self._chooser.detect(phase=phase, refresh=refresh)
        services = self._services
        if phase is None and not services.read_only:
            names = [one.skill.name for one in found.found]
            announce_detected(services.store, services.project, names)
        return found

    def validate(self, *targets: str | Path, strict: bool = False) -> list[ValidationReport]:
        """Every finding about the named skills or paths, or about all skills."""
        if not targets:
            index = self.index()
            own = [ValidationReport(s.path, s, s.findings) for s in index if s.findings or s.path]
            loose = [
                ValidationReport(f.path, None, (f,)) for f in index.findings if f.code != "clash"
            ]
            return [*own, *loose]
        return [self._validated(target, strict=strict) for target in targets]

    def _validated(self, target: str | Path, *, strict: bool) -> ValidationReport:
        path = paths.expanded(target)
        is_document = path.is_file() or any((path / name).is_file() for name in SKILL_FILES)
        if not is_document and isinstance(target, str) and (known := self.index().get(target)):
            if known.path is None:
                return ValidationReport(None, known, known.findings)
            path = known.path
        return validate_path(path, strict=strict)

    def refresh(self) -> SkillsOverview:
        """Drop all caches, scan everything again, and return the overview."""
        self._catalogue.forget()
        return self.overview()

    def connect_prompts(self, prompts: PromptSource) -> None:
        """Add the prompts of connected MCP servers to the skills, as `server:prompt`."""
        self._catalogue.add(PromptScanner(prompts))

    # -- Running ----------------------------------------------------------------------------------

    @cached_property
    def commands(self) -> SkillCommands:
        """Skills and built-in commands in one table, and running them."""
        from wellkept.skills.library.commands import SkillCommands

        return SkillCommands(
            self._services,
            index=self.index,
            own=lambda: self._own_commands(self),
            fits=self._chooser.fits_here,
            on_use=self._used,
            forced=lambda session: {one.skill.name for one in self.forced(session)},
        )

    def _used(self, name: str, session: str, by: str) -> None:
        """Called when a skill was run in a session: activates its hooks, and counts the use."""
        self.hooks.use(name, session=session)
        if not self._services.read_only:
            self.library.record_use(name, session_id=session, used_by=by)

    @cached_property
    def hooks(self) -> SkillHooks:
        """The hooks of skills: list, trust, and run for an event."""
        from wellkept.skills.hooks.runner import SkillHooks
        from wellkept.skills.hooks.trust import StoredHookRunLog, TrustFile

        services = self._services
        return SkillHooks(
            index=self.index,
            root=services.root,
            trust=TrustFile(paths.data_folder(services.environment) / "hook-trust.json"),
            ran=StoredHookRunLog(services.store, services.project, clock=services.clock),
            environment=services.environment,
        )

    def reminders(self, *names: str, level: str = "normal", with_names: bool = True) -> str:
        """Reminders of the skills in use, at one of three lengths."""
        from wellkept.skills.selection.injection import ReminderLevel, render_reminders

        skills = [self.get(name) for name in names]
        reminder_level = parse_choice(ReminderLevel, level, what="reminder level")
        return render_reminders(skills, reminder_level, with_names=with_names)

    # -- Switches ---------------------------------------------------------------------------------

    def enable(self, name: str) -> Skill:
        """Enable a skill in this project."""
        return self._switch(name, on=True)

    def disable(self, name: str) -> Skill:
        """Disable a skill in this project; its file stays as it is."""
        return self._switch(name, on=False)

    def force(self, *names: str, session: str) -> tuple[Skill, ...]:
        """Give these skills to agents in one session whatever the prompt, also those that are off;
        they replace the ones before, and without names nothing is forced any more."""
        skills = tuple(self.get(name) for name in names)
        self._forced.put(session, [skill.name for skill in skills])
        keep_summaries(self._services.store, self._services.project, self.index())
        return skills

    def latest_session(self) -> str:
        """The session of this project that was active last."""
        found = self._services.store.sessions(project=self._services.project, limit=1)
        if not found:
            raise NotFoundError(
                "This project has no session yet.",
                hint="Name one, or set WELLKEPT_SKILLS_FORCE for the client you start.",
            )
        return found[0].id

    def _switch(self, name: str, *, on: bool) -> Skill:
        skill = self.get(name)
        if skill.source.kind is SkillKind.MANAGED and not on:
            raise UsageError(
                f"{skill.name!r} is managed by {skill.source.name}; it cannot be switched off.",
                hint="Ask whoever manages it.",
            )
        if skill.source.kind is SkillKind.GENERATED and self._stored is self.library:
            self.library.switch(skill.name, on=on)
        else:
            self._switches.switch(skill.key, on=on)
        return self.get(skill.name)

    # -- Writing ----------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        *,
        description: str,
        body: str,
        tags: tuple[str, ...] = (),
        folder: str = NEW_FOLDERS[0],
        fields: Mapping[str, FieldValue] | None = None,
    ) -> Skill:
        """Create a skill in one of the project's folders, or in the user's own."""
        if folder not in NEW_FOLDERS:
            raise UsageError(
                f"Unknown folder {folder!r}.", hint=f"One of: {', '.join(NEW_FOLDERS)}."
            )
        target = self._own_folder / "skills" if folder == "user" else self.root / folder
        self._require_inside_project(target / name)
        path = write.create_skill(
            target, name, description=description, body=body, tags=tags, fields=fields
        )
        return self._at(path)

    def document(self, name: str) -> str:
        """The whole text of a skill that may be changed."""
        skill = self.get(name)
        stored = self.library.text_of(skill) if self._stored is self.library else None
        return write.document_of(skill) if stored is None else stored

    def edit(
        self,
        name: str,
        changes: Mapping[str, FieldValue | None],
        *,
        body: str | None = None,
        text: str | None = None,
    ) -> Skill:
        """Set fields of a skill's document (None removes one); the rest stays byte for byte. `text`
        is a whole new document."""
        skill = self.get(name)
        if skill.source.kind is SkillKind.GENERATED and self._stored is self.library:
            new = text or self.library.edit_document(skill.name, changes, body=body)
            self.library.rewrite(skill.name, new)
            return self.get(skill.name)
        return self._at(write.edit_skill(skill, changes, body=body, text=text))

    def delete(self, name: str, *, dry_run: bool = False) -> list[Path]:
        """Remove a skill from disk permanently; returns what is (or would be) removed."""
        skill = self.get(name)
        if skill.source == self.copies.source:
            return self._remote.drop(skill, dry_run=dry_run)
        if skill.source.kind is SkillKind.GENERATED:
            if not dry_run:
                self._stored.remove(skill.name)
            return []
        if dry_run:
            return write.files_to_remove(skill)
        removed = write.remove_skill(skill)
        self._switches.switch(skill.key, on=None)
        return removed

    def export(self, name: str, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Copy a skill with its files to `folder/name/`."""
        target = paths.expanded(folder).absolute()
        self._require_inside_project(target)
        skill = self.get(name)
        stored = self.library.text_of(skill) if self._stored is self.library else None
        return write.export_skill(skill, target, overwrite=overwrite, document=stored)

    def export_folder(self, to: str) -> Path:
        """The folder for a client or a path; `./codex` is a folder, `codex` the client."""
        return self.root / CLIENT_FOLDERS[to] if to in CLIENT_FOLDERS else paths.expanded(to)

    def names_to_export(
        self, folder: Path, *, generated: bool = False, detected: bool = False
    ) -> list[str]:
        """Enabled generated skills, or those that the project calls for, that are not in the
        folder yet."""
        chosen: list[Skill] = []
        if generated:
            chosen += [skill for skill in self.list(source=SkillKind.GENERATED) if skill.enabled]
        if detected:
            chosen += [one.skill for one in self.detect().found]
        return [skill.name for skill in chosen if skill.source.root != folder]

    def _require_inside_project(self, path: Path) -> None:
        """A checkout is not trusted: no link in it may redirect a write."""
        if path.is_relative_to(self.root) and not is_inside(path, self.root):
            raise UsageError(
                f"A link in {path} leads outside the project.",
                hint="Remove the link, or name its target.",
            )

    def _at(self, path: Path) -> Skill:
        """The skill that was just written, as read back."""
        index = self.index()
        covered = (skill for clash in index.clashes for skill in clash.covered)
        found = next((skill for skill in (*index, *covered) if skill.path == path), None)
        if found is None:
            raise NotFoundError(f"{path} was written, but was not found again.")
        return found

    # -- Generated ---------------------------------------------------------------------------------

    @cached_property
    def generator(self) -> SkillGenerator:
        """Generates skills from sessions; loaded on first use."""
        from wellkept.skills.library.generate import SkillGenerator

        return SkillGenerator(
            self._services, library=self.library, existing=lambda: self.index().skills
        )

    def generate(self, session: str | None = None, *, dry_run: bool = False) -> GenerationReport:
        """Generate a skill from a successful session, or from each suitable recent one."""
        return self.generator.generate(session, dry_run=dry_run)

    def refine(self, name: str, *, dry_run: bool = False) -> Refinement:
        """Regenerate a skill from all successful sessions that used it or are similar."""
        return self.generator.refine(name, dry_run=dry_run)

    def review(self, name: str, answer: ReviewAnswer, *, text: str | None = None) -> GeneratedSkill:
        """Accept, reject, or edit a generated skill."""
        return self.library.review(name, answer, text=text)

    # -- Remote -----------------------------------------------------------------------------------

    @cached_property
    def _remote(self) -> RemoteSkills:
        from wellkept.skills.library.remote import RemoteSkills

        return RemoteSkills(self.copies, self._fetcher)

    def fetch_remote(self, url: str) -> FetchedSkill:
        """Fetch a document for inspection; nothing is stored."""
        return self._remote.fetch(url)

    def add_remote(
        self, offer: FetchedSkill, *, sha256: str | None = None, update: bool = False
    ) -> Skill:
        """Accept a fetched document: from now on exactly this is used.

        With `sha256` it must be that document. One that differs from the accepted one is refused
        without `update`.
        """
        self._remote.accept(offer, sha256=sha256, update=update)
        return self.get(offer.skill.name)

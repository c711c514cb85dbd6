"""Skill detection and selection for the open project, with caches.

A detection is cached until a manifest or the project's folder changes, or for a few minutes; search
indexes live as long as the skills they were built from. Knows nothing of where skills are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.changes import Announce
from wellkept.core.clock import Clock, system_clock
from wellkept.core.codec import Json
from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError
from wellkept.core.languages import MANIFESTS
from wellkept.core.records import record
from wellkept.core.session.activity import ActivityKind
from wellkept.core.session.hook_context import SKILL_SUMMARIES
from wellkept.core.skills import InjectionPhase, Skill, SkillIndex, SkillKind
from wellkept.core.text import estimate_tokens, shorten
from wellkept.core.types import parse_choice

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.store import Store
    from wellkept.skills.selection.detection import DetectedSkill
    from wellkept.skills.selection.injection import SkillPack
    from wellkept.skills.selection.scoring import SkillSearch
    from wellkept.skills.selection.select import SkillChoice, SkillSelection

_DETECTED_SPACE: Final = "skills.detected"
_MAX_SUMMARIES: Final = 60
_DETECTION_TTL: Final = timedelta(minutes=5)
_SUBJECT_CHARS: Final = 300
_Fingerprint = tuple[tuple[str, int, int], ...]


@record
class Detection:
    """The skills a project calls for, and whether it had more files than were scanned."""

    found: tuple[DetectedSkill, ...]
    looked_at: int
    is_cut: bool


class SkillChooser:
    """Detection and selection over the current skills.

    `index` returns the skills, the same object while nothing changed; `embedder` returns the model,
    or None; `forced` the names that are forced in a session.
    """

    def __init__(
        self,
        *,
        index: Callable[[], SkillIndex],
        root: Path,
        embedder: Callable[[], Embedder | None] = lambda: None,
        clock: Clock = system_clock,
        count_tokens: Callable[[str], int] = estimate_tokens,
        forced: Callable[[str | None], Sequence[str]] = lambda _session: (),
    ) -> None:
        self._index = index
        self._root = root
        self._embedder = embedder
        self._clock = clock
        self._count_tokens = count_tokens
        self._forced = forced
        self._search: tuple[SkillIndex, SkillSearch] | None = None
        self._detected: tuple[SkillIndex, _Fingerprint, datetime, Detection] | None = None

    def detect(self, *, phase: str | None = None, refresh: bool = False) -> Detection:
        """The skills that the project calls for by its files, with reasons."""
        from wellkept.skills.selection.detection import allows_phase

        cached = self._detection(refresh=refresh)
        wanted_phase = _phase(phase)
        found = tuple(one for one in cached.found if allows_phase(one.skill, wanted_phase))
        return Detection(found, cached.looked_at, cached.is_cut)

    def fits_here(self) -> Callable[[Skill], bool]:
        """Whether a skill is listed here: one that comes with Wellkept and has a rule, such as
        those for a language, only where the rule applies."""
        from wellkept.skills.selection.detection import has_rule

        known = frozenset(one.skill.key for one in self._detection().found)

        def fits(skill: Skill) -> bool:
            is_general = skill.source.kind is not SkillKind.BUILTIN or not has_rule(skill)
            # What is switched off is not detected, and must be found again.
            return is_general or not skill.enabled or skill.key in known

        return fits

    def select(
        self,
        prompt: str,
        *,
        phase: str | None = None,
        files: Sequence[str] = (),
        include_tags: Sequence[str] = (),
        exclude_tags: Sequence[str] = (),
        limit: int | None = None,
        profile: str | None = None,
        force: Sequence[str] = (),
        session: str | None = None,
    ) -> SkillSelection:
        """The few skills worth adding to an agent's context for a prompt, best first. Those in
        `force`, and those that are forced in the session, come before all others."""
        from wellkept.skills.selection.select import DEFAULT_LIMIT, SelectionPolicy, select_skills

        if limit is None:
            limit = self._index().limits.skills
        policy = SelectionPolicy(
            limit=DEFAULT_LIMIT if limit is None else limit,
            include_tags=tuple(include_tags),
            exclude_tags=tuple(exclude_tags),
            phase=_phase(phase),
            profile=profile or "default",
            forced=self._forced_names(force, session),
        )
        detected = self._detection().found
        return select_skills(
            self._searcher(), prompt, policy=policy, files=files, detected=detected
        )

    def forced(self, session: str | None = None) -> tuple[SkillChoice, ...]:
        """The skills that are forced in a session."""
        from wellkept.skills.selection.select import SelectionPolicy, select_skills

        names = self._forced_names((), session)
        if not names:
            return ()
        policy = SelectionPolicy(limit=0, forced=names)
        return select_skills(self._searcher(), "", policy=policy).choices

    def _forced_names(self, force: Sequence[str], session: str | None) -> tuple[str, ...]:
        """Names as the index has them, of names, aliases and ids; unknown ones as they are."""
        index = self._index()
        found = ((name, index.get(name)) for name in (*force, *self._forced(session)))
        return tuple(dict.fromkeys(name if one is None else one.name for name, one in found))

    def hint(
        self, prompt: str, *, phase: str | None = None, files: Sequence[str] = ()
    ) -> SkillChoice | None:
        """The one skill worth naming unasked at a prompt; usually none."""
        from wellkept.skills.selection.select import hint_for

        return hint_for(
            self._searcher(),
            prompt,
            phase=_phase(phase),
            files=files,
            detected=self._detection().found,
        )

    def search(
        self,
        query: str,
        *,
        include_tags: Sequence[str] = (),
        exclude_tags: Sequence[str] = (),
        limit: int = 10,
        profile: str | None = None,
    ) -> SkillSelection:
        """All skills that match a query, best first, also user-only ones."""
        from wellkept.skills.selection.select import SelectionPolicy, select_skills

        policy = SelectionPolicy(
            limit=limit,
            min_score=_MIN_SEARCH_SCORE,
            include_tags=tuple(include_tags),
            exclude_tags=tuple(exclude_tags),
            profile=profile or "default",
            for_people=True,
        )
        return select_skills(self._searcher(), query, policy=policy)

    def injection(
        self,
        prompt: str,
        *,
        phase: str | None = None,
        files: Sequence[str] = (),
        max_tokens: int | None = None,
        max_chars: int | None = None,
        force: Sequence[str] = (),
        session: str | None = None,
        profile: str | None = None,
    ) -> SkillPack:
        """The text of the skills for a prompt, within a budget."""
        from wellkept.skills.selection.injection import (
            MAX_CHARS,
            MAX_LINES,
            InjectionBudget,
            render_skills,
        )

        budget = InjectionBudget(
            max_lines=self._index().limits.lines or MAX_LINES,
            max_chars=MAX_CHARS if max_chars is None else max_chars,
            max_tokens=max_tokens,
            count_tokens=self._count_tokens,
        )
        chosen = self.select(
            prompt, phase=phase, files=files, force=force, session=session, profile=profile
        )
        return render_skills(chosen.choices, budget=budget)

    def _searcher(self) -> SkillSearch:
        from wellkept.skills.selection.scoring import SkillSearch

        index = self._index()
        if self._search is None or self._search[0] is not index:
            self._search = (index, SkillSearch(index.skills, embedder=self._embedder()))
        return self._search[1]

    def _detection(self, *, refresh: bool = False) -> Detection:
        from wellkept.skills.selection.detection import detect_skills, scan_project

        index, fingerprint, now = self._index(), _manifest_fingerprint(self._root), self._clock()
        cached = None if refresh else self._detected
        if cached is not None and cached[0] is index and cached[1] == fingerprint:
            at, detection = cached[2:]
            if now - at < _DETECTION_TTL:
                return detection
        files = scan_project(self._root)
        detection = Detection(detect_skills(index.skills, files), len(files.paths), files.is_cut)
        self._detected = (index, fingerprint, now, detection)
        return detection


_MIN_SEARCH_SCORE: Final = 0.4


def _phase(name: str | None) -> InjectionPhase | None:
    return None if name is None else parse_choice(InjectionPhase, name, what="injection phase")


def _manifest_fingerprint(root: Path) -> _Fingerprint:
    """Modification times and sizes of the folder and its manifests, which most rules check."""
    seen: list[tuple[str, int, int]] = []
    for name in (".", *MANIFESTS):
        try:
            status = (root / name).stat()
        except OSError:
            continue
        seen.append((name, status.st_mtime_ns, status.st_size))
    return tuple(seen)


def announce_detected(store: Store, project: str, names: Sequence[str]) -> None:
    """Log which skills the project calls for, if they changed since the last time. Where the store
    cannot be written now, a later detection logs it."""
    found: list[Json] = [*sorted(names)]
    if (store.get_value(_DETECTED_SPACE, project) or []) == found:
        return
    with suppress(StoreReadOnlyError, StoreBusyError, StoreFullError):
        store.put_value(_DETECTED_SPACE, project, found)
        if found:
            subject = shorten(", ".join(names), limit=_SUBJECT_CHARS)
            store.apply([Announce(ActivityKind.SKILLS_DETECTED, project, subject)])


def keep_summaries(store: Store, project: str, index: SkillIndex) -> None:
    """Keep what a hook that cannot read skill files needs to name one: the project's and the user's
    own, as far as models may use them."""
    own = [
        one
        for one in index
        if one.enabled
        and one.source.kind is not SkillKind.BUILTIN
        and not one.invocation.disable_model_invocation
    ]
    found: list[Json] = [[s.name, s.description, s.sha256] for s in own[:_MAX_SUMMARIES]]
    if (store.get_value(SKILL_SUMMARIES, project) or []) != found:
        with suppress(StoreReadOnlyError, StoreBusyError, StoreFullError):
            store.put_value(SKILL_SUMMARIES, project, found)

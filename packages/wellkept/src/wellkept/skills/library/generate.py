"""Generates skills from sessions of the open project, and refines them with further sessions.

The draft is made by rule; a configured model rewords it within the daily budget, and when it fails
the draft is used. A generated skill waits for review unless the settings say otherwise. What a good
session or a valid document is, is decided in `wellkept.skills`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from uuid import UUID

from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, UsageError
from wellkept.core.records import record, replace
from wellkept.core.skills import GeneratedSkill, Skill, SkillOrigin, SkillReview
from wellkept.core.text import content_words, jaccard, shorten, stem
from wellkept.memory.engine import spend_tokens
from wellkept.skills.generation.document import free_name
from wellkept.skills.generation.generate import (
    ANSWER_TOKENS,
    MIN_SESSIONS,
    SkillDraft,
    build_prompt,
    draft_skill,
    read_answer,
    read_generated,
    refine_skill,
    render_document,
    skip_reason,
)
from wellkept.skills.library.catalog import PENDING_NOTE, GeneratedSkills
from wellkept.skills.library.history import load_history
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, Vector
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.generation.procedure import SessionHistory

WORDS_CUTOFF: Final = 0.5
_HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
_REQUEST = re.compile(r'^- A request like "(.+)"$', re.MULTILINE)


@record
class _SimilarSkill:
    """The most similar skill, its score, and the threshold for the same purpose."""

    skill: Skill
    score: float
    cutoff: float

    @property
    def is_same(self) -> bool:
        """Whether both have the same purpose."""
        return self.score >= self.cutoff


def most_similar(
    skill: Skill, others: Sequence[Skill], *, embedder: Embedder | None, cutoff: float
) -> _SimilarSkill | None:
    """The most similar other skill; None when there are no others."""
    if not others:
        return None
    texts = [_purpose(other) for other in others]
    scores = _cosines(_purpose(skill), texts, embedder) if embedder is not None else []
    limit = cutoff if scores else WORDS_CUTOFF
    scores = scores or [_word_similarity(_purpose(skill), text) for text in texts]
    best = max(range(len(others)), key=lambda number: scores[number])
    return _SimilarSkill(others[best], scores[best], limit)


def _purpose(skill: Skill) -> str:
    """The purpose of a skill in few words."""
    if ("generated-by", "wellkept") not in skill.metadata:
        name = skill.name.replace("-", " ").replace("_", " ")
        parts = (name, skill.description, skill.when_to_use or "", " ".join(skill.tags))
        return " ".join(part for part in parts if part)
    heading = _HEADING.search(skill.body)
    requests = _REQUEST.findall(skill.body)
    return " ".join(dict.fromkeys([heading[1] if heading else skill.name, *requests, *skill.globs]))


def _word_similarity(left: str, right: str) -> float:
    def stems(text: str) -> set[str]:
        return {stem(word) for word in content_words(text)}

    return jaccard(stems(left), stems(right))


def _cosines(text: str, texts: Sequence[str], embedder: Embedder) -> list[float]:
    try:
        vectors = embedder.embed_documents([text, *texts])
    except ProviderError:
        return []
    return [_cosine(vectors[0], vector) for vector in vectors[1:]]


def _cosine(left: Vector, right: Vector) -> float:
    """Vectors have unit length, so the product is the cosine."""
    import numpy as np

    return float(np.frombuffer(left, dtype="<f4") @ np.frombuffer(right, dtype="<f4"))


# -- Generating -----------------------------------------------------------------------------------


RECENT_SESSIONS: Final = 30
SUGGESTION_PAUSE: Final = timedelta(days=7)


@record(kw_only=True)
class SkippedSession:
    """A session that gave no skill, and why."""

    session_id: str
    title: str | None
    reason: str


@record(kw_only=True)
class GenerationReport:
    """The generated skills (in a dry run: those that would be) and the skipped sessions."""

    made: tuple[GeneratedSkill, ...] = ()
    passed: tuple[SkippedSession, ...] = ()
    dry_run: bool = False


@record(kw_only=True)
class Refinement:
    """A skill regenerated from several sessions. `before` is its old text."""

    skill: GeneratedSkill
    before: str
    sessions: tuple[str, ...]
    dry_run: bool = False


class SkillGenerator:
    """Generates skills for one project. `existing` returns the current skills."""

    def __init__(
        self,
        services: Workspace,
        *,
        library: GeneratedSkills,
        existing: Callable[[], Sequence[Skill]],
    ) -> None:
        self._services = services
        self._library = library
        self._existing = existing

    def generate(
        self, session: str | None = None, *, dry_run: bool = False, with_model: bool = True
    ) -> GenerationReport:
        """Generate a skill from the named session, or from each suitable recent one."""
        if session is not None:
            sessions = [self._named(session)]
        else:
            sessions = self._services.store.sessions(
                project=self._services.project, limit=RECENT_SESSIONS
            )
        made: list[GeneratedSkill] = []
        skipped: list[SkippedSession] = []
        for one in sorted(sessions, key=lambda found: (found.started_at, found.id)):
            result = self._from_session(one, made=made, with_model=with_model)
            if isinstance(result, GeneratedSkill):
                made.append(result)
            else:
                skipped.append(result)
        if not dry_run:
            made = [
                stored for skill in made if (stored := self._stored(skill, skipped)) is not None
            ]
        return GenerationReport(made=tuple(made), passed=tuple(skipped), dry_run=dry_run)

    def suggest(self, session: str) -> GenerationReport:
        """Generate a skill from a session whose work was done before in another, unless one was
        made within a week: people should not be asked for every prompt."""
        now = self._services.clock()
        if any(now - one.created_at < SUGGESTION_PAUSE for one in self._library.all()):
            return GenerationReport()
        tried = self.generate(session, dry_run=True, with_model=False)
        if not any(len(self._similar_histories(one)) >= MIN_SESSIONS for one in tried.made):
            return GenerationReport(passed=tried.passed)
        return self.generate(session, with_model=False)

    def _stored(
        self, skill: GeneratedSkill, skipped: list[SkippedSession]
    ) -> GeneratedSkill | None:
        """The stored skill; None when another process generated it from this session first."""
        try:
            return self._library.put(skill)
        except ConflictError:
            (session_id,) = skill.session_ids
            skipped.append(
                SkippedSession(
                    session_id=session_id,
                    title=None,
                    reason="another process generated a skill from it",
                )
            )
            return None

    def refine(
        self,
        name: str,
        *,
        dry_run: bool = False,
        with_model: bool = True,
        replace_edits: bool = False,
    ) -> Refinement:
        """Regenerate a skill from every session that used it or is similar."""
        skill = self._library.get(name)
        if skill.made_by == "person" and not replace_edits:
            raise ConflictError(
                f"The skill {name!r} was edited by hand.",
                hint="Pass --replace-edits to replace its text.",
            )
        histories = self._similar_histories(skill)
        if len(histories) < MIN_SESSIONS:
            raise UsageError(
                f"Refining {name!r} needs {MIN_SESSIONS} successful sessions that used it or are "
                f"similar, and there are {len(histories)}.",
                hint="Refine it after more sessions used it.",
            )
        draft = refine_skill(histories, name=skill.name, redact=_redact)
        draft = replace(draft, origin=SkillOrigin.REFINED.value)
        fresh = self._skill_from(self._reworded(draft) if with_model else draft, known=skill)
        stored = fresh if dry_run or fresh.text == skill.text else self._library.put(fresh)
        return Refinement(
            skill=stored, before=skill.text, sessions=draft.session_ids, dry_run=dry_run
        )

    def _story(self, session: SessionRecord) -> SessionHistory:
        idle = self._services.settings.capture_idle_minutes
        return load_history(session, self._services.engine, idle_minutes=idle)

    # -- One session ------------------------------------------------------------------------------

    def _named(self, name: str) -> SessionRecord:
        store = self._services.store
        found = [store.get_session(one) for one in store.resolve_session(name)]
        own = [one for one in found if one is not None and one.project == self._services.project]
        if len(own) != 1:
            what = "matches several sessions" if own else "is not a session of this project"
            raise NotFoundError(f"{name!r} {what}.", hint="Run `wellkept session list`.")
        return own[0]

    def _from_session(
        self, session: SessionRecord, *, made: Sequence[GeneratedSkill], with_model: bool
    ) -> GeneratedSkill | SkippedSession:
        history = self._story(session)
        reason = self._known_reason(session) or skip_reason(history)
        if reason is None:
            draft = draft_skill(history, taken=self._taken(made), redact=_redact)
            similar = self._nearest(draft, made)
            if similar is None or not similar.is_same:
                return self._skill_from(self._reworded(draft, made) if with_model else draft)
            reason = f"{similar.skill.name!r} has the same purpose ({similar.score:.2f})"
        return SkippedSession(
            session_id=session.id, title=_short_title(session.title), reason=reason
        )

    def _known_reason(self, session: SessionRecord) -> str | None:
        known = next((s for s in self._library.all() if session.id in s.session_ids), None)
        return f"the skill {known.name!r} was generated from it" if known else None

    def _nearest(self, draft: SkillDraft, made: Sequence[GeneratedSkill]) -> _SimilarSkill | None:
        engine = self._services.engine
        rejected = [s for s in self._library.all() if s.review is SkillReview.REJECTED]
        stored = [read_generated(s.text, name=s.name) for s in (*rejected, *made)]
        return most_similar(
            read_generated(render_document(draft), name=draft.name),
            [*self._existing(), *stored],
            embedder=engine.embedder(),
            cutoff=engine.thresholds().related,
        )

    def _taken(self, made: Sequence[GeneratedSkill] = ()) -> set[str]:
        names = {name for s in self._existing() for name in (s.name, *s.invocation.aliases)}
        return names | {skill.name for skill in (*self._library.all(), *made)}

    # -- From draft to skill ----------------------------------------------------------------------

    def _reworded(self, draft: SkillDraft, made: Sequence[GeneratedSkill] = ()) -> SkillDraft:
        """The draft reworded by a model, if there is one, the budget allows it and the answer is
        valid."""
        engine = self._services.engine
        model = engine.text_model()
        if model is None:
            return draft
        prompt = build_prompt(draft)
        cost = engine.count_tokens(prompt) + ANSWER_TOKENS
        budget = self._services.settings.capture_daily_model_tokens
        if not spend_tokens(engine, cost, daily_tokens=budget):
            return draft
        try:
            better = read_answer(
                model.complete(prompt, max_tokens=ANSWER_TOKENS), draft, redact=_redact
            )
            taken = self._taken(made) - {draft.name}
            is_named = better.origin == SkillOrigin.REFINED.value
            name = draft.name if is_named else free_name(better.name, taken=taken)
            better = replace(better, name=name)
            render_document(better)
        except (ProviderError, UsageError):
            return draft
        return better

    def _skill_from(self, draft: SkillDraft, known: GeneratedSkill | None = None) -> GeneratedSkill:
        now = self._services.clock()
        text = render_document(draft)
        if redact(text).changed:
            raise UsageError("The session contains a secret that cannot be removed from its steps.")
        is_on = self._services.settings.skills_generated == "on"
        return GeneratedSkill(
            id=known.id if known else _id_of(self._services.project, draft.session_ids[0]),
            project=self._services.project,
            name=draft.name,
            text=text,
            created_at=known.created_at if known else now,
            updated_at=now,
            origin=SkillOrigin(draft.origin),
            made_by="model" if draft.made_by == "model" else "rules",
            review=SkillReview.PENDING,
            enabled=is_on,
            note=None if is_on else PENDING_NOTE.format(name=draft.name),
            session_ids=draft.session_ids,
            observation_ids=draft.observation_ids,
            commit_sha=draft.commit_sha,
            revision=known.revision if known else 0,
        )

    # -- Similar sessions -------------------------------------------------------------------------

    def _similar_histories(self, skill: GeneratedSkill) -> list[SessionHistory]:
        """Successful sessions that the skill was made from, that used it, or that are similar."""
        store = self._services.store
        used = {run.session_id for run in store.skill_runs(skill_ids=[skill.id])}
        named = {*skill.session_ids, *used}
        recent = store.sessions(project=self._services.project, limit=RECENT_SESSIONS)
        others = [store.get_session(one) for one in named - {s.id for s in recent}]
        known = [*recent, *(s for s in others if s is not None and s.project == skill.project)]
        known.sort(key=lambda session: (session.started_at, session.id))
        histories = [self._story(session) for session in known]
        return [
            history
            for history in histories
            if skip_reason(history) is None
            and (history.session_id in named or self._is_for(skill, history))
        ]

    def _is_for(self, skill: GeneratedSkill, history: SessionHistory) -> bool:
        if any(history.session_id in other.session_ids for other in self._library.all()):
            return False
        engine = self._services.engine
        draft = draft_skill(history, taken=(), redact=_redact)
        similar = most_similar(
            read_generated(render_document(draft), name=draft.name),
            [read_generated(skill.text, name=skill.name)],
            embedder=engine.embedder(),
            cutoff=engine.thresholds().related,
        )
        return similar is not None and similar.is_same


def _id_of(project: str, session_id: str) -> str:
    """Derived from the session, so that two concurrent processes create the same id."""
    digest = sha256(f"{project}\n{session_id}".encode("utf-8", errors="replace")).hexdigest()
    return str(UUID(digest[:32]))


def _redact(text: str) -> str:
    return redact(text).text


def _short_title(title: str | None) -> str | None:
    return None if title is None else shorten(" ".join(title.split()), limit=80)

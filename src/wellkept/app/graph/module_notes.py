"""What each module of a project is for and how its code is written, kept as memories on request.

By rule from documents and structure; a model that is configured words it better, inside the daily
budget, and when it fails or answers badly the rule's words stand. Kept once for each module and
each convention: doing it again changes only what reads differently now, closes what is gone, and
leaves alone what a person confirmed, corrected or forgot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.codegraph.modules.summary_prompt import (
    ANSWER_TOKENS,
    ModuleAnswer,
    material,
    question,
    read_answer,
)
from wellkept.core.changes import Close
from wellkept.core.code_modules import CodeModule, Convention
from wellkept.core.codec import Json
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.records import record
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.exchange.passages import fingerprint
from wellkept.memory.remember import RememberOutcome, remember
from wellkept.memory.text.redaction import redact
from wellkept.observe.model.session_summaries import spend_tokens

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services
    from wellkept.core.memory import Memory
    from wellkept.core.ports.store import Progress, TextModel

_SHELF: Final = "module_notes"
_TAG: Final = "code-map"
_RULES, _MODEL = "rules", "model"


@record(kw_only=True)
class ModuleNote:
    """One statement about the code. `outcome`: new, changed, unchanged, closed or left, the last
    for what a person stands behind."""

    key: str
    text: str
    made_by: str
    outcome: str
    memory_id: str | None = None


@record(kw_only=True)
class ModuleSummaryReport:
    """What came of looking at the modules. `model_problem` says why a model was not of help."""

    modules: int
    notes: tuple[ModuleNote, ...]
    model_problem: str | None = None
    dry_run: bool = False

    def count(self, outcome: str) -> int:
        """How many statements came out like that."""
        return sum(note.outcome == outcome for note in self.notes)


@record
class _Said:
    """A statement to be kept, and the mark of what it was made of."""

    draft: MemoryDraft
    made_by: str
    mark: str


class ModuleNotes:
    """Keeps what is known of one project's modules."""

    def __init__(
        self, services: Services, root: Path, *, dry_run: bool, with_model: bool, again: bool
    ) -> None:
        self._services = services
        self._root = root
        self._dry_run = dry_run
        self._model = self._usable_model() if with_model else None
        known: Json = services.store.get_value(_SHELF, self._shelf_key)
        self._marks = {k: str(v) for k, v in known.items()} if isinstance(known, dict) else {}
        self._again = again
        self._problem: str | None = None

    def keep(
        self,
        modules: Sequence[CodeModule],
        conventions: Sequence[Convention],
        *,
        progress: Progress | None = None,
    ) -> ModuleSummaryReport:
        """Keep what is new or reads differently; each statement is written before the next."""
        notes: list[ModuleNote] = [self._kept(_convention(one)) for one in conventions]
        shown = [module for module in modules if module.purpose or module.gives]
        for done, module in enumerate(shown, 1):
            notes += [self._kept(said) for said in self._about(module)]
            self._save()
            if progress:
                progress(done, len(shown))
        notes += self._closed({note.key for note in notes})
        self._save()
        return ModuleSummaryReport(
            modules=len(modules),
            notes=tuple(notes),
            model_problem=self._problem,
            dry_run=self._dry_run,
        )

    # -- What is said -----------------------------------------------------------------------------

    def _about(self, module: CodeModule) -> Iterator[_Said]:
        """The statements about a module, in a model's words where there is a usable one."""
        notes = redact(material(self._root, module)).text
        base = fingerprint(notes)
        key = f"module:{module.folder}"
        known = self._marks.get(key, "")
        if known == f"{_MODEL} {base}" and not self._again:
            yield from self._as_before(key)
            return
        answer = self._asked(notes) if self._model is not None else None
        if answer is None:
            mark = f"{_RULES} {fingerprint(module.summary)}"
            yield _Said(_module_draft(module, module.summary), _RULES, mark)
            return
        yield _Said(_module_draft(module, answer.summary), _MODEL, f"{_MODEL} {base}")
        for number, text in enumerate(answer.conventions, 1):
            rule = Convention(key=f"{module.folder}#{number}", text=text, evidence=module.read_from)
            yield _convention(rule, made_by=_MODEL, module=module)

    def _as_before(self, key: str) -> Iterator[_Said]:
        """What was said of a module the last time, from the same files."""
        prefix = f"convention:{key.removeprefix('module:')}#"
        for one in (key, *(k for k in self._marks if k.startswith(prefix))):
            memory = self._find(one)
            content = memory.content if memory else "forgotten since"
            yield _Said(MemoryDraft(content=content, key=one), _MODEL, self._marks[one])

    def _asked(self, notes: str) -> ModuleAnswer | None:
        """A model's answer; None when the day's budget is used up or it is of no use."""
        assert self._model is not None
        engine = self._services.engine
        asked = question(notes)
        cost = engine.count_tokens(asked) + ANSWER_TOKENS
        budget = self._services.settings.capture_daily_model_tokens
        if not spend_tokens(engine, cost, daily_tokens=budget):
            self._problem = "What a model may cost today is used up."
            return None
        try:
            return read_answer(self._model.complete(asked, max_tokens=ANSWER_TOKENS))
        except UsageError as error:
            self._problem = str(error)
        except ProviderError as error:
            # A server that does not answer would be waited for once for each module.
            self._problem, self._model = str(error), None
        return None

    # -- What is kept -----------------------------------------------------------------------------

    def _kept(self, said: _Said) -> ModuleNote:
        key = said.draft.key or ""
        known, text = self._find(key), said.draft.content
        if self._marks.get(key) == said.mark and not self._again:
            return _note(said, "unchanged", known)
        if known is not None and _is_a_persons(known):
            return _note(said, "left", known)
        if self._dry_run:
            same = known is not None and known.content == redact(text).text
            return _note(said, "unchanged" if same else "changed" if known else "new", known)
        kept = remember(self._services.engine, said.draft, project=self._services.project)
        self._marks[key] = said.mark
        outcome = {RememberOutcome.INSERTED: "new", RememberOutcome.UNCHANGED: "unchanged"}.get(
            kept.outcome
        )
        return _note(said, outcome or "changed", kept.memory)

    def _closed(self, current: set[str]) -> list[ModuleNote]:
        """Close what was said of modules that are gone and of habits that ended."""
        closed: list[ModuleNote] = []
        for key in sorted(self._marks.keys() - current):
            memory = self._find(key)
            if not self._dry_run:
                del self._marks[key]
            if memory is None or _is_a_persons(memory):
                continue
            if not self._dry_run:
                at = max(self._services.clock(), memory.valid_from)
                self._services.store.apply([Close(memory.id, at)])
            said = _Said(MemoryDraft(content=memory.content, key=key), _RULES, "")
            closed.append(_note(said, "closed", memory))
        return closed

    def _find(self, key: str) -> Memory | None:
        store = self._services.store
        return store.find_key(redact(key).text, project=self._services.project, user_scope=False)

    def _save(self) -> None:
        if not self._dry_run:
            self._services.store.put_value(_SHELF, self._shelf_key, dict(self._marks))

    @property
    def _shelf_key(self) -> str:
        return self._services.project

    def _usable_model(self) -> TextModel | None:
        return None if self._dry_run else self._services.engine.text_model()


def _module_draft(module: CodeModule, summary: str) -> MemoryDraft:
    return MemoryDraft(
        content=f"{module.folder} - {summary}",
        type=MemoryType.MODULE_INSIGHT,
        key=f"module:{module.folder}",
        tags=(_TAG,),
        files=module.read_from,
        modules=(module.name,),
        scope=Scope.MODULE,
        source=Source.OBSERVER_INFERRED,
        graph_node=module.folder,
        evidence=_evidence(module.read_from or module.files[:3]),
    )


def _convention(
    one: Convention, *, made_by: str = _RULES, module: CodeModule | None = None
) -> _Said:
    draft = MemoryDraft(
        content=one.text,
        type=MemoryType.CONVENTION,
        key=f"convention:{one.key}",
        tags=(_TAG,),
        modules=(module.name,) if module else (),
        scope=Scope.MODULE if module else Scope.GLOBAL,
        confidence=0.6 if made_by == _MODEL else None,
        source=Source.OBSERVER_INFERRED,
        evidence=_evidence(one.evidence),
    )
    return _Said(draft, made_by, f"{made_by} {fingerprint(one.text)}")


def _evidence(paths: Sequence[str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(EvidenceKind.DOCUMENT, path) for path in paths)


def _is_a_persons(memory: Memory) -> bool:
    """Whether somebody stands behind a memory, so that no rule may change it."""
    return memory.user_verified or memory.pinned or memory.source is not Source.OBSERVER_INFERRED


def _note(said: _Said, outcome: str, memory: Memory | None) -> ModuleNote:
    return ModuleNote(
        key=said.draft.key or "",
        text=said.draft.content,
        made_by=said.made_by,
        outcome=outcome,
        memory_id=memory.short if memory else None,
    )

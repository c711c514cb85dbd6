"""Finds workflow recipes: the same four or more steps in three validated sessions within 30 days.

A step is a tool and a scope. Sessions agree when one contains the other's steps in order, with
anything in between. A recipe goes stale when following it failed, when one of its files is gone or
was changed by other work, or after 60 days without use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from wellkept.core.changes import Replace
from wellkept.core.clock import days_between
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import SessionSignal, SignalKind
from wellkept.core.text import content_words, shorten
from wellkept.core.types import EvidenceKind, MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.remember import with_retries
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import Lesson, PromotionBasis, is_obvious_pair, lesson_of
from wellkept.observe.learning.save import limit_evidence
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import parse_command

Step: TypeAlias = tuple[str, str, str]
Token: TypeAlias = tuple[str, str]
_MIN_EDITS = 2
_MAX_PATTERN_WORDS = 8
_SEPARATOR = " "
_MAX_RECIPES = 200
_GAIN, _LOSS = 0.25, 0.2


def find_recipe(sequences: Sequence[SessionSignal], basis: PromotionBasis) -> Lesson | None:
    """The longest recipe that a session shares with enough others of its module."""
    session_id = basis.session_id
    mine = next((s for s in sequences if s.session_id == session_id), None)
    if mine is None:
        return None
    since = mine.at - timedelta(days=t.RECIPE_WINDOW_DAYS)
    near = [s for s in sequences if s.subject == mine.subject and since <= s.at]
    counts = Counter(what for s in near for what in {what for _, _, what in steps_of(s)})
    exact = {what for what, count in counts.items() if count >= t.RULES["recipe"].min_sessions}
    taken = {s.session_id: tokens_of(s, exact) for s in near}
    best: tuple[Token, ...] = ()
    for other in near:
        if other is mine:
            continue
        shared = longest_common_sequence(taken[session_id], taken[other.session_id])
        shared = _from_first_edit(shared)
        if len(shared) > len(best) and _is_specific(shared) and _is_typical(shared, taken.values()):
            best = shared
    matching = [s for s in near if contains_in_order(taken[s.session_id], best)]
    return _recipe(best, matching, basis) if best else None


def tokens_of(signal: SessionSignal, exact: Collection[str]) -> tuple[Token, ...]:
    """The distinct steps of a session in order: names in `exact` as they are, others by scope."""
    named = ((tool, what if what in exact else scope) for tool, scope, what in steps_of(signal))
    return tuple(dict.fromkeys(named))


def before_tests(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The steps before the last test run, without other test runs; all where nothing is tested."""
    tested = [number for number, token in enumerate(tokens) if _is_test_run(*token)]
    end = tested[-1] if tested else len(tokens)
    return tuple(token for token in tokens[:end] if not _is_test_run(*token))


def steps_of(signal: SessionSignal) -> list[Step]:
    """The recorded steps of a session."""
    listed = signal.fields.get("steps")
    found: list[Step] = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, list) and len(item) == 3:
            tool, scope, what = map(str, item)
            found.append((tool, scope, what))
    return found


def longest_common_sequence(left: Sequence[Token], right: Sequence[Token]) -> tuple[Token, ...]:
    """The longest common subsequence."""
    rows: list[list[tuple[Token, ...]]] = [[()] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            if a == b:
                rows[i + 1][j + 1] = (*rows[i][j], a)
            else:
                rows[i + 1][j + 1] = max(rows[i][j + 1], rows[i + 1][j], key=len)
    return rows[-1][-1]


def contains_in_order(tokens: Sequence[Token], wanted: Sequence[Token]) -> bool:
    """Whether `tokens` contains the wanted steps in order."""
    rest = iter(tokens)
    return bool(wanted) and all(token in rest for token in wanted)


def subject_of(tokens: Sequence[Token]) -> str:
    """The steps as one text; `tokens_in` reverses it."""
    return "\n".join(_SEPARATOR.join(token) for token in tokens)


def tokens_in(subject: str) -> tuple[Token, ...]:
    """The steps of a subject made by `subject_of`."""
    pairs = (line.split(_SEPARATOR, 1) for line in subject.splitlines())
    return tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def is_same_recipe(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """Whether two recipes mostly share their steps."""
    shared = len(set(left) & set(right))
    return shared >= t.SAME_RECIPE_OVERLAP * min(len(set(left)), len(set(right)))


def stale_reason(
    recipe: WorkflowRecipe,
    *,
    now: datetime,
    last_used: datetime,
    gone: Collection[str] = (),
    changed: Collection[str] = (),
) -> str | None:
    """Why a recipe is stale; None while it is fresh.

    `gone` are missing files, `changed` those changed by other work since it was last followed.
    """
    if recipe.last_validated_at is None and recipe.failure_count:
        return "following it failed the last time"
    files = {step.canonical_file for step in recipe.steps if step.canonical_file}
    for names, reason in ((gone, "is gone"), (changed, "changed since it was last followed")):
        if hit := sorted(files & set(names)):
            return f"{hit[0]} {reason}"
    idle_days = days_between(_time(recipe.last_validated_at) or last_used, now)
    if idle_days > t.RECIPE_UNUSED_DAYS:
        return f"it was not used for {idle_days:.0f} days"
    return None


def _is_test_run(tool: str, name: str) -> bool:
    is_test = name == "tests" or any(run.purpose is Purpose.TEST for run in parse_command(name))
    return tool == "run" and is_test


def _from_first_edit(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The steps from the first edit on; earlier commands belong to other work."""
    first = next((n for n, (tool, _) in enumerate(tokens) if tool == "edit"), len(tokens))
    return tokens[first:]


def _is_closing(tool: str, name: str) -> bool:
    """Whether a step ends any kind of work: tests, a check, a commit."""
    ends = (Purpose.TEST, Purpose.CHECK, Purpose.COMMIT)
    return _is_test_run(tool, name) or (
        tool == "run" and any(run.purpose in ends for run in parse_command(name))
    )


def _is_specific(tokens: Sequence[Token]) -> bool:
    """Whether there are enough steps and enough edits of unrelated files. All closing steps count
    as one."""
    edited = [name for tool, name in tokens if tool == "edit"]
    apart = [
        name
        for n, name in enumerate(edited)
        if not any(is_obvious_pair(name, e) for e in edited[:n])
    ]
    own = sum(not _is_closing(*token) for token in tokens)
    steps = own + (own < len(tokens))
    return steps >= t.RECIPE_STEPS and len(apart) >= _MIN_EDITS


def _is_typical(tokens: Sequence[Token], taken: Iterable[tuple[Token, ...]]) -> bool:
    """Whether this order is typical: enough sessions took the steps in it, most of those that took
    them all, and they share few other steps. In long sessions a few steps match by chance."""
    with_all = [mine for mine in taken if set(tokens) <= set(mine)]
    in_order = [mine for mine in with_all if contains_in_order(mine, tokens)]
    if len(in_order) < t.RULES["recipe"].min_sessions:
        return False
    first, *others = (set(_from_first_edit(mine)) for mine in in_order)
    shared = first.intersection(*others)
    is_usual_order = len(in_order) > t.LINK_SHARE * len(with_all)
    return is_usual_order and len(tokens) > t.LINK_SHARE * len(shared)


def _recipe(
    tokens: tuple[Token, ...], sequences: Sequence[SessionSignal], basis: PromotionBasis
) -> Lesson:
    group = sorted(sequences, key=lambda s: s.at)
    steps = tuple(_step(token, group) for token in tokens)
    pattern = _pattern(group)
    lines = "; ".join(f"{n}. {step.description}" for n, step in enumerate(steps, start=1))
    draft = MemoryDraft(
        content=f"Recipe for {pattern}: {lines}.",
        files=tuple(dict.fromkeys(s.canonical_file for s in steps if s.canonical_file)),
        needs_review=True,
        payload=WorkflowRecipe(
            task_pattern=pattern,
            steps=steps,
            last_validated_at=group[-1].at.isoformat(),
            success_count=len({s.session_id for s in group}),
        ),
    )
    return lesson_of(
        "recipe", group, basis, draft,
        describe=lambda _: f"took these {len(tokens)} steps in this order",
        subject=subject_of(tokens),
    )  # fmt: skip


def _step(token: Token, sequences: Sequence[SessionSignal]) -> RecipeStep:
    """One step: its file when all sessions agree on it, its command as it ran last."""
    tool, scope = token
    whats = [
        what for s in sequences for name, wide, what in steps_of(s)
        if name == tool and scope in (wide, what)
    ]  # fmt: skip
    if tool == "edit":
        same = scope if scope in whats else whats[0] if len(set(whats)) == 1 else None
        return RecipeStep(f"edit `{same or scope}`", canonical_file=same)
    return RecipeStep(f"run `{whats[-1] if whats else scope}`")


def _pattern(sequences: Sequence[SessionSignal]) -> str:
    """The kind of task: two or more consecutive words that most requests share."""
    requests = [s.text("request") for s in sequences]
    known = [set(content_words(request)) for request in requests if request]
    shared: list[str] = []
    for word in content_words(next((r for r in reversed(requests) if r), "")):
        if sum(word in words for words in known) * 2 > len(known):
            shared.append(word)
        elif len(shared) > 1:
            break
        else:
            shared = []
    if len(shared) > 1:
        return shorten(" ".join(shared[:_MAX_PATTERN_WORDS]), limit=80)
    return f"work in {sequences[0].subject}"


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is not an ISO 8601 time.") from None


# -- Stored recipes -------------------------------------------------------------------------------


def infer_recipe(
    engine: Engine, sequences: Sequence[SessionSignal], basis: PromotionBasis
) -> list[Lesson]:
    """The new recipe that a session shares with others; none when it is known already."""
    found = find_recipe(sequences, basis)
    if found is None:
        return []
    mine, known = tokens_in(found.why.subject), recipes(engine, basis.project)
    return [] if any(is_same_recipe(tokens, mine) for _, tokens in known) else [found]


def recipes(engine: Engine, project: str) -> list[tuple[Memory, tuple[Token, ...]]]:
    """All learned recipes, with their steps."""
    where = Filter(project=project, include_user=False, types=(MemoryType.WORKFLOW_RECIPE,))
    found = engine.store.list(where, limit=_MAX_RECIPES).items
    why = engine.store.explanations([memory.id for memory in found])
    return [(m, tokens_in(why[m.id].subject)) for m in found if m.id in why]


def record_success(engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal]) -> None:
    """Strengthen the recipes that a session followed, once per session."""
    for memory in _followed(engine, basis, signals, with_tests=True):
        if basis.session_id not in memory.provenance_sessions:
            _write(engine, memory.id, basis, succeeded=True)


def record_failure(engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal]) -> None:
    """Weaken the recipes that a failed run followed, once per run."""
    for memory in _followed(engine, basis, signals, with_tests=False):
        failure = _failure(basis)
        if all(failure.ref != evidence.ref for evidence in memory.evidence):
            _write(engine, memory.id, basis, succeeded=False)


def _followed(
    engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal], *, with_tests: bool
) -> list[Memory]:
    """The recipes whose steps a session took. A failed run lacks what follows the tests."""
    mine = next((s for s in signals if s.kind is SignalKind.SEQUENCE), None)
    if mine is None:
        return []
    found: list[Memory] = []
    for memory, tokens in recipes(engine, basis.project):
        wanted = tokens if with_tests else before_tests(tokens)
        if contains_in_order(tokens_of(mine, {name for _, name in tokens}), wanted):
            found.append(memory)
    return found


def _write(engine: Engine, memory_id: str, basis: PromotionBasis, *, succeeded: bool) -> None:
    def attempt() -> None:
        for memory in engine.store.get([memory_id]):
            if isinstance(memory.payload, WorkflowRecipe):
                change = _succeeded if succeeded else _failed
                now = max(engine.clock(), memory.updated_at)
                updated = replace(
                    limit_evidence(change(memory, memory.payload, basis)),
                    updated_at=now,
                    # Marked at once, wherever it is listed; the next success clears the mark.
                    stale_at=None if succeeded else now,
                )
                engine.store.apply([Replace(updated, None, memory.updated_at)])

    with_retries(attempt)


def _succeeded(memory: Memory, recipe: WorkflowRecipe, basis: PromotionBasis) -> Memory:
    count = recipe.success_count + 1
    at = basis.at.isoformat()
    return replace(
        memory,
        payload=replace(recipe, success_count=count, last_validated_at=at),
        confidence=memory.confidence + (1 - memory.confidence) * _GAIN,
        provenance_sessions=(*memory.provenance_sessions, basis.session_id),
        evidence=(
            *memory.evidence,
            Evidence(EvidenceKind.SESSION, basis.session_id, at=basis.at),
        ),
        tags=tuple(tag for tag in memory.tags if tag != "recipe_failed"),
    )


def _failed(memory: Memory, recipe: WorkflowRecipe, basis: PromotionBasis) -> Memory:
    count = recipe.failure_count + 1
    return replace(
        memory,
        payload=replace(recipe, failure_count=count, last_validated_at=None),
        confidence=max(0.0, memory.confidence - _LOSS),
        evidence=(*memory.evidence, _failure(basis)),
        tags=tuple(dict.fromkeys((*memory.tags, "recipe_failed"))),
    )


def _failure(basis: PromotionBasis) -> Evidence:
    ref = f"{basis.session_id}:failed:{basis.at.isoformat()}"
    return Evidence(EvidenceKind.SESSION, ref[-490:], basis.validated_by or None, basis.at)

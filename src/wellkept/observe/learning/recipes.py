"""Workflow recipes: the same four steps and more in three validated sessions within thirty days.

A step is a tool and the scope that it worked on; sessions agree when one's steps are found in the
other's in the same order, whatever lies between. A recipe is strengthened each time a session that
holds up took its steps, and goes stale when following it fails, when a file of it is gone or was
changed by other work since, or after sixty days without use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from wellkept.core.clock import days_between
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.scratchpad import SessionSignal
from wellkept.core.text import content_words, shorten
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import Conclusion, names_say_it
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.shell import parse_command

Step: TypeAlias = tuple[str, str, str]
Token: TypeAlias = tuple[str, str]
_LEAST_EDITS = 2
_SPARE_WORDS = 8
_MARK = " "


def recipe_in(sequences: Sequence[SessionSignal], *, session_id: str) -> Conclusion | None:
    """The longest recipe that a session shares with enough others of its module."""
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
        shared = common(taken[session_id], taken[other.session_id]) if other is not mine else ()
        shared = _from_first_edit(shared)
        if len(shared) > len(best) and _is_telling(shared) and _is_usual(shared, taken.values()):
            best = shared
    backers = [s for s in near if holds(taken[s.session_id], best)]
    return _concluded(best, backers) if best else None


def tokens_of(sighting: SessionSignal, exact: Collection[str]) -> tuple[Token, ...]:
    """The steps of a session, each where it was first taken: a file or command that is `exact` by
    its name, others by their scope."""
    named = ((tool, what if what in exact else scope) for tool, scope, what in steps_of(sighting))
    return tuple(dict.fromkeys(named))


def without_proof(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The steps without the runs that only show whether the work holds."""
    return tuple(token for token in tokens if not _is_proof(*token))


def steps_of(sighting: SessionSignal) -> list[Step]:
    """The steps of a session as they were noted."""
    detail = sighting.detail if isinstance(sighting.detail, dict) else {}
    listed = detail.get("steps")
    found: list[Step] = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, list) and len(item) == 3:
            tool, scope, what = map(str, item)
            found.append((tool, scope, what))
    return found


def common(left: Sequence[Token], right: Sequence[Token]) -> tuple[Token, ...]:
    """The longest run of steps that both take in the same order."""
    rows: list[list[tuple[Token, ...]]] = [[()] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            if a == b:
                rows[i + 1][j + 1] = (*rows[i][j], a)
            else:
                rows[i + 1][j + 1] = max(rows[i][j + 1], rows[i + 1][j], key=len)
    return rows[-1][-1]


def holds(tokens: Sequence[Token], wanted: Sequence[Token]) -> bool:
    """Whether the wanted steps are among the tokens in their order."""
    rest = iter(tokens)
    return bool(wanted) and all(token in rest for token in wanted)


def subject_of(tokens: Sequence[Token]) -> str:
    """The steps of a recipe as one text, and `tokens_in` back."""
    return "\n".join(_MARK.join(token) for token in tokens)


def tokens_in(subject: str) -> tuple[Token, ...]:
    """The steps that a subject names."""
    pairs = (line.split(_MARK, 1) for line in subject.splitlines())
    return tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def is_same_recipe(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """Whether two recipes are one with small differences, or one is a part of the other."""
    shared = len(set(left) & set(right))
    return shared >= t.RECIPE_ALIKE * min(len(set(left)), len(set(right)))


def stale_reason(
    recipe: WorkflowRecipe,
    *,
    now: datetime,
    last_used: datetime,
    gone: Collection[str] = (),
    changed: Collection[str] = (),
) -> str | None:
    """Why a recipe should not be relied on as it is; None while it is fresh.

    `gone` are files of it that are not there any more, `changed` those that other work changed
    since it was last followed.
    """
    if recipe.last_validated_at is None and recipe.failure_count:
        return "following it failed the last time"
    files = {step.canonical_file for step in recipe.steps if step.canonical_file}
    for names, told in ((gone, "is gone"), (changed, "changed since it was last followed")):
        if hit := sorted(files & set(names)):
            return f"{hit[0]} {told}"
    idle_days = days_between(_moment(recipe.last_validated_at) or last_used, now)
    if idle_days > t.RECIPE_UNUSED_DAYS:
        return f"it was not used for {idle_days:.0f} days"
    return None


def _is_proof(tool: str, name: str) -> bool:
    is_test = name == "tests" or any(run.purpose is Purpose.TEST for run in parse_command(name))
    return tool == "run" and is_test


def _from_first_edit(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """What was run before anything was changed belongs to what came before."""
    first = next((n for n, (tool, _) in enumerate(tokens) if tool == "edit"), len(tokens))
    return tokens[first:]


def _closes(tool: str, name: str) -> bool:
    """Whether a step is how any work ends: tests, a check, a commit."""
    ends = (Purpose.TEST, Purpose.CHECK, Purpose.COMMIT)
    return _is_proof(tool, name) or (
        tool == "run" and any(run.purpose in ends for run in parse_command(name))
    )


def _is_telling(tokens: Sequence[Token]) -> bool:
    """Whether there are enough steps, of which all that only close the work count as one, and edits
    of which not one already says the other."""
    edited = [name for tool, name in tokens if tool == "edit"]
    apart = [
        name for n, name in enumerate(edited) if not any(names_say_it(name, e) for e in edited[:n])
    ]
    own = sum(not _closes(*token) for token in tokens)
    steps = own + (own < len(tokens))
    return steps >= t.RECIPE_STEPS and len(apart) >= _LEAST_EDITS


def _is_usual(tokens: Sequence[Token], taken: Iterable[tuple[Token, ...]]) -> bool:
    """Whether enough sessions took the steps in this order, most of those that took them all, and
    hardly any other steps that they share in another: in long sessions a few steps come in the same
    order by chance."""
    all_of_them = [mine for mine in taken if set(tokens) <= set(mine)]
    in_order = [mine for mine in all_of_them if holds(mine, tokens)]
    if len(in_order) < t.RULES["recipe"].min_sessions:
        return False
    first, *others = (set(_from_first_edit(mine)) for mine in in_order)
    shared = first.intersection(*others)
    is_their_order = len(in_order) > t.LINKED_WEIGHT * len(all_of_them)
    return is_their_order and len(tokens) > t.LINKED_WEIGHT * len(shared)


def _concluded(tokens: tuple[Token, ...], backers: Sequence[SessionSignal]) -> Conclusion:
    steps = tuple(_step(token, backers) for token in tokens)
    pattern = _pattern(backers)
    last = max(s.at for s in backers)
    lines = "; ".join(f"{n}. {step.description}" for n, step in enumerate(steps, start=1))
    sessions = tuple(dict.fromkeys(s.session_id for s in sorted(backers, key=lambda s: s.at)))
    return Conclusion(
        rule=t.RULES["recipe"],
        subject=subject_of(tokens),
        content=f"Recipe for {pattern}: {lines}.",
        type=t.RULES["recipe"].makes,
        count=len(sessions),
        last_seen=last,
        sessions=sessions,
        signals=tuple(f"{s}: took these {len(tokens)} steps in this order" for s in sessions),
        files=tuple(dict.fromkeys(s.canonical_file for s in steps if s.canonical_file)),
        payload=WorkflowRecipe(
            task_pattern=pattern,
            steps=steps,
            last_validated_at=last.isoformat(),
            success_count=len(sessions),
        ),
    )


def _step(token: Token, backers: Sequence[SessionSignal]) -> RecipeStep:
    """One step: with its very file or command when the sessions agree on it."""
    tool, scope = token
    whats = {
        what for s in backers for name, wide, what in steps_of(s)
        if name == tool and scope in (wide, what)
    }  # fmt: skip
    same = scope if scope in whats else next(iter(whats)) if len(whats) == 1 else None
    if tool == "edit":
        told = f"edit `{same}`" if same else f"add or edit a file like `{scope}`"
        return RecipeStep(told, canonical_file=same)
    return RecipeStep(f"run `{same or scope}`")


def _pattern(backers: Sequence[SessionSignal]) -> str:
    """What class of task it is: two words and more in a row that most of the requests share."""
    requests = [_request(s) for s in sorted(backers, key=lambda s: s.at)]
    told = [set(content_words(request)) for request in requests if request]
    shared: list[str] = []
    for word in content_words(next((r for r in reversed(requests) if r), "")):
        if sum(word in words for words in told) * 2 > len(told):
            shared.append(word)
        elif len(shared) > 1:
            break
        else:
            shared = []
    if len(shared) > 1:
        return shorten(" ".join(shared[:_SPARE_WORDS]), limit=80)
    return f"work in {backers[0].subject}"


def _request(sighting: SessionSignal) -> str:
    detail: Json = sighting.detail
    value = detail.get("request") if isinstance(detail, dict) else None
    return value if isinstance(value, str) else ""


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no moment.") from None

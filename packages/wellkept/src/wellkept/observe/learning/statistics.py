"""What the step log says of a project in numbers, computed when asked.

Token cost of each module, planned against actual steps, files that sessions nearly always read or
read again and again, errors that came back, and edits that were made again. Nothing here is stored
or told to agents: as memories these numbers helped nobody. Signals of a session exist only once its
work held up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wellkept.core.payloads import ContextCost, PrefetchPattern, TaskCalibration
from wellkept.core.records import record
from wellkept.core.session.scratchpad import SessionSignal, SignalKind
from wellkept.observe import thresholds as t
from wellkept.observe.learning.co_access import prefetch_patterns

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

_MAX_SIGNALS = 20_000


@record
class Repetition:
    """What came back: a file of which the same part was read again, with the time spent on it, or
    with its cause an error or an edit that was made again."""

    what: str
    sessions: int
    count: int
    cause: str = ""
    spent_ms: int = 0


@record(kw_only=True)
class ProjectStatistics:
    """The numbers of a project."""

    costs: tuple[ContextCost, ...] = ()
    calibrations: tuple[TaskCalibration, ...] = ()
    prefetch: tuple[PrefetchPattern, ...] = ()
    confusing: tuple[Repetition, ...] = ()
    errors: tuple[Repetition, ...] = ()
    redone: tuple[Repetition, ...] = ()


def project_statistics(store: Store, project: str, *, methodology: str) -> ProjectStatistics:
    """All of them; each needs a few sessions."""

    def of(kind: SignalKind) -> list[SessionSignal]:
        return store.signals(project=project, kinds=(kind,), limit=_MAX_SIGNALS)

    return ProjectStatistics(
        costs=context_costs(of(SignalKind.CONTEXT_COST)),
        calibrations=task_calibrations(of(SignalKind.CALIBRATION), methodology=methodology),
        prefetch=tuple(prefetch_patterns(of(SignalKind.FILE_ACCESS))),
        confusing=repetitions(of(SignalKind.TIME_ANOMALY), sessions=t.MIN_CONFUSED_SESSIONS),
        errors=repetitions(
            of(SignalKind.ERROR_RETRY), names=("command", "message"), least=t.RECURRING_ERRORS
        ),
        redone=repetitions(of(SignalKind.BACKTRACK), names=("path", "cause"), least=t.MIN_REPEATS),
    )


def context_costs(signals: Iterable[SessionSignal]) -> tuple[ContextCost, ...]:
    """The token cost of each module over its latest sessions, highest first."""
    found: list[ContextCost] = []
    for module, known in _latest(signals).items():
        tokens = sorted(s.count for s in known)
        if len(tokens) >= t.MIN_COST_SESSIONS:
            average, p90 = sum(tokens) / len(tokens), percentile(tokens, t.COST_PERCENTILE)
            found.append(ContextCost(module, round(average, 1), round(p90, 1), len(tokens)))
    return tuple(sorted(found, key=lambda one: (-one.average_tokens_per_session, one.module)))


def task_calibrations(
    signals: Iterable[SessionSignal], *, methodology: str
) -> tuple[TaskCalibration, ...]:
    """Planned against actual steps of each module, by name."""
    found: list[TaskCalibration] = []
    for module, known in sorted(_latest(signals).items()):
        plans = [(s.number("planned"), s.number("actual")) for s in known]
        plans = [(planned, actual) for planned, actual in plans if planned and actual]
        if len(plans) >= t.MIN_CALIBRATION_SESSIONS:
            planned = sum(p for p, _ in plans) / len(plans)
            actual = sum(a for _, a in plans) / len(plans)
            found.append(
                TaskCalibration(
                    module,
                    methodology,
                    round(actual, 2),
                    round(planned, 2),
                    round(actual / planned, 3),
                    len(plans),
                )
            )
    return tuple(found)


def repetitions(
    signals: Iterable[SessionSignal],
    *,
    names: tuple[str, str] = ("", ""),
    least: int = 1,
    sessions: int = 1,
) -> tuple[Repetition, ...]:
    """Subjects that came back so often in so many sessions, most often first. `names` are the
    details that say what it is and why."""
    found = [
        Repetition(
            known[0].text(names[0]) or subject,
            len(known),
            count,
            known[0].text(names[1]),
            sum(s.number("dwell_ms") for s in known),
        )
        for subject, known in _latest(signals).items()
        if (count := sum(s.count for s in known)) >= least and len(known) >= sessions
    ]
    return tuple(sorted(found, key=lambda one: (-one.count, one.what, one.cause)))


def percentile(ordered: Sequence[int], share: float) -> float:
    """The percentile of sorted values, linearly interpolated."""
    position = (len(ordered) - 1) * share
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _latest(signals: Iterable[SessionSignal]) -> dict[str, list[SessionSignal]]:
    """The signals of the latest sessions by subject; one session has one of each."""
    groups = defaultdict[str, list[SessionSignal]](list)
    for signal in sorted(signals, key=lambda s: s.at, reverse=True):
        groups[signal.subject].append(signal)
    return {subject: known[: t.COST_SESSIONS] for subject, known in groups.items()}

"""What the step log says of a project in numbers, computed when asked.

Token cost of each module, planned against actual steps, files that sessions nearly always read, and
files that are read again and again. Nothing here is stored or told to agents: as memories these
numbers helped nobody. Signals of a session exist only once its work held up.
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
class ConfusingFile:
    """A file of which several sessions read the same part again and again and changed nothing."""

    path: str
    sessions: int
    reads: int


@record(kw_only=True)
class ProjectStatistics:
    """The numbers of a project."""

    costs: tuple[ContextCost, ...] = ()
    calibrations: tuple[TaskCalibration, ...] = ()
    prefetch: tuple[PrefetchPattern, ...] = ()
    confusing: tuple[ConfusingFile, ...] = ()


def project_statistics(store: Store, project: str, *, methodology: str) -> ProjectStatistics:
    """All of them; each needs a few sessions."""

    def of(kind: SignalKind) -> list[SessionSignal]:
        return store.signals(project=project, kinds=(kind,), limit=_MAX_SIGNALS)

    return ProjectStatistics(
        costs=context_costs(of(SignalKind.CONTEXT_COST)),
        calibrations=task_calibrations(of(SignalKind.CALIBRATION), methodology=methodology),
        prefetch=tuple(prefetch_patterns(of(SignalKind.FILE_ACCESS))),
        confusing=confusing_files(of(SignalKind.TIME_ANOMALY)),
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


def confusing_files(signals: Iterable[SessionSignal]) -> tuple[ConfusingFile, ...]:
    """Files read four times or more in each of three sessions and never edited."""
    found = [
        ConfusingFile(path, len(known), sum(s.number("reads") for s in known))
        for path, known in _latest(signals).items()
        if len(known) >= t.MIN_CONFUSED_SESSIONS
    ]
    return tuple(sorted(found, key=lambda one: (-one.reads, one.path)))


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

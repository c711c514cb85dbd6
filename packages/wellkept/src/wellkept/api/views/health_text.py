"""Health in words: for a terminal and for a model."""

from __future__ import annotations

from wellkept.api.views.health import HealthView
from wellkept.core.text import counted

_STEPS = {
    "drain": "Captured events were lost or set aside ({count}): run `wellkept status --spool`.",
    "install": "No coding client is connected: run `wellkept install`.",
    "review": "{count} memories wait for review: run `wellkept review`.",
    "refresh": "{count} memories name files that are gone: `admin maintain --only refresh`.",
    "reindex": "{count} memories cannot be found by meaning yet: run `wellkept admin reindex`.",
    "build_graph": "There is no code graph yet: run `wellkept graph build`.",
    "teach": "Nothing is known yet: run `wellkept remember` or `wellkept init`.",
    "nothing": "Nothing to do.",
}


def health_lines(view: HealthView) -> list[str]:
    """The view as a few lines, the answer first."""
    score, totals = view.health.score, view.totals
    lines = [
        f"{view.name}: health {'not measured' if score is None else f'{score} of 100'}",
        *(one.text for one in view.off),
        _STEPS[view.next.kind].format(count=view.next.count),
        f"{counted(totals.total, 'statement')}: {totals.active} active, {totals.needs_review}"
        f" waiting for review, {totals.stale} stale; {totals.records} records of sessions",
        _saved(view),
        f"methodology: {view.methodology.title}",
    ]
    for part in view.health.parts:
        value = "not measured" if part.value is None else f"{part.part} of {part.whole}"
        lines.append(f"  {part.name} (weight {part.weight}): {value}")
    lines += [
        f"  {one.folder} {one.covered} of {counted(one.files, 'file')} known,"
        f" {counted(one.memories, 'memory', 'memories')}"
        for one in (view.modules or ())[:10]
    ]
    return lines


def _saved(view: HealthView) -> str:
    saved = view.savings
    if saved.saved_tokens is None:
        return f"tokens saved: not measured ({counted(saved.lines, 'line')} given)"
    return f"tokens saved: {saved.saved_tokens:,} net. {saved.how}"

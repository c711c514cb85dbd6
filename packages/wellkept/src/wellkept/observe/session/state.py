"""The state of a session between events: its step log, and what tells events apart.

The only state of the reducer: any process can continue where another stopped. It is written in the
same transaction as what the events made. Everything in it comes from cleaned events and is bounded.
"""

from __future__ import annotations

from typing import cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.records import fields, record, replace
from wellkept.core.session.steps import SessionStep, with_step
from wellkept.observe.session.exchange import Exchange
from wellkept.text.events.prompt_rules import Intent

_LATEST_REPORTS = 3
_OLD_REPORT_CHARS = 300


@record
class SessionState:
    """The whole state of one session.

    `cwd` is where the main agent stood after the last event. `step` counts tool calls; `steps` is
    the step log. `calls` are the ids of the latest calls. `captured_from` is the time of the first
    event that a hook captured: a transcript is not imported from there on. `imported` when a
    transcript was imported.
    """

    roots: tuple[str, ...] = ()
    cwd: str | None = None
    next_seq: int = 0
    step: int = 0
    steps: tuple[SessionStep, ...] = ()
    calls: tuple[str, ...] = ()
    exchange: Exchange = Exchange()
    model_failures: int = 0
    captured_from: str | None = None
    imported: bool = False

    def logged(self, *entries: SessionStep) -> SessionState:
        """The state with more steps; of older reports only the beginning is kept, of older plans
        the item under way."""
        steps = self.steps
        for entry in entries:
            if entry.kind == "plan":
                steps = tuple(
                    replace(one, said="") if one.kind == "plan" and one.said else one
                    for one in steps
                )
            steps = with_step(steps, entry)
        if any(entry.kind == "report" for entry in entries):
            said = [one for one in steps if one.kind == "report" and one.said]
            latest = {id(one) for one in said[-_LATEST_REPORTS:]}
            steps = tuple(
                one
                if one.kind != "report" or id(one) in latest or len(one.said) <= _OLD_REPORT_CHARS
                else replace(one, said=one.said[:_OLD_REPORT_CHARS])
                for one in steps
            )
        return replace(self, steps=steps)

    def whats(self, kind: str) -> tuple[str, ...]:
        """What the steps of a kind are about, each once, in the order of their last mention."""
        found = [one.what for one in reversed(self.steps) if one.kind == kind and one.ok]
        return tuple(dict.fromkeys(found))[::-1]

    @property
    def requests(self) -> tuple[str, ...]:
        """What a person asked for, the first one first."""
        prompts = [one.what for one in self.steps if one.kind == "prompt"]
        return tuple(dict.fromkeys(prompts))

    @property
    def intent(self) -> Intent:
        """What the last prompt that tells of work is after."""
        found = [one.mark for one in self.steps if one.kind == "prompt" and one.mark]
        return cast("Intent", found[-1]) if found else "other"

    @property
    def reports(self) -> list[tuple[SessionStep, str]]:
        """The main agent's latest messages, each with the request that it answers."""
        asked, found = "", list[tuple[SessionStep, str]]()
        for one in self.steps:
            if one.kind == "prompt":
                asked = one.what
            elif one.kind == "report" and one.said and one.agent is None:
                found.append((one, asked))
        return found[-_LATEST_REPORTS:]

    @property
    def last_message(self) -> str | None:
        """What the agent said last."""
        reports = self.reports
        return reports[-1][0].said if reports else None

    @property
    def compaction(self) -> SessionStep | None:
        """The client's own summary."""
        found = [one for one in self.steps if one.kind == "compaction" and one.said]
        return found[-1] if found else None

    @property
    def files_modified(self) -> tuple[str, ...]:
        """Every file that was edited or committed, the last one last."""
        named = [
            path
            for one in reversed(self.steps)
            if one.is_edit or one.is_commit
            for path in ((one.what,) if one.is_edit else one.files[::-1])
        ]
        return tuple(dict.fromkeys(named))[::-1]

    @property
    def commits(self) -> tuple[SessionStep, ...]:
        """The commits that the session made."""
        return tuple(one for one in self.steps if one.is_commit)


def load_state(work: Json) -> SessionState:
    """The state from JSON; one that another version wrote begins anew in its place."""
    if not isinstance(work, dict):
        return SessionState()
    try:
        return record_from_json(SessionState, work)
    except UsageError:
        # Sequence numbers must go on, or observations would be sorted wrongly.
        seq = work.get("next_seq")
        return SessionState(next_seq=seq if isinstance(seq, int) else 0)


def dump_state(state: SessionState) -> Json:
    """The state as JSON; of the steps only what is not the default."""
    whole = record_to_json(replace(state, steps=()))
    whole["steps"] = [_dumped(one) for one in state.steps]
    return whole


_DEFAULTS = {one.name: getattr(SessionStep("read", ""), one.name) for one in fields(SessionStep)}


def _dumped(step: SessionStep) -> Json:
    told: dict[str, Json] = {"kind": step.kind, "what": step.what}
    for name, usual in _DEFAULTS.items():
        value: Json | tuple[str, ...] = getattr(step, name)
        if value != usual:
            told[name] = list(value) if isinstance(value, tuple) else value
    return told

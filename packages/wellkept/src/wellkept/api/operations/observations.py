"""Store an observation: a finished piece of work, or one raw tool call as a hook would send it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from wellkept.api.operations.inputs import Input, Texts
from wellkept.api.operations.memory import stored
from wellkept.api.operations.outputs import RememberOutput

if TYPE_CHECKING:
    from wellkept.api import Wellkept

_SYNONYMS = MappingProxyType(
    {
        "obs_type": "kind",
        "observation_type": "kind",
        "type": "kind",
        "tool_response": "tool_output",
        "discovery_tokens": "work_tokens",
    }
)


class ObservationInput(Input):
    """An observation that the caller made, or the tool call that one is to be made of."""

    synonyms: ClassVar[Mapping[str, str]] = _SYNONYMS

    kind: Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"] = "change"
    title: str = Field(default="", max_length=200)
    subtitle: str = ""
    facts: Texts = Field(default_factory=list)
    narrative: str = ""
    concepts: Texts = Field(default_factory=list)
    files_read: Texts = Field(default_factory=list)
    files_modified: Texts = Field(default_factory=list)
    work_tokens: int | None = Field(
        default=None, ge=0, description="What it took to find this out."
    )
    session: str = ""
    tool_name: str = Field(
        default="", max_length=200, description="Raw form: the tool that was called."
    )
    tool_input: Any = Field(default=None, description="Raw form: its arguments.")
    tool_output: Any = Field(default=None, description="Raw form: what it gave.")

    @model_validator(mode="after")
    def _has_one_form(self) -> ObservationInput:
        if self.tool_name.strip():
            if not self.session.strip():
                raise ValueError("a raw tool call needs session_id")
        elif not self.title.strip():
            raise ValueError("give kind and title, or session_id and tool_name of a raw tool call")
        return self


def store_observation(wk: Wellkept, request: ObservationInput) -> RememberOutput:
    """Keep something that happened, as the observer would."""
    return _capture(wk, request) if request.tool_name.strip() else _keep(wk, request)


def _keep(wk: Wellkept, request: ObservationInput) -> RememberOutput:
    from wellkept.core.payloads import Observation
    from wellkept.observe.session.drafts import observation_text

    seen = Observation(
        kind=request.kind,
        title=request.title,
        subtitle=request.subtitle or None,
        facts=tuple(request.facts),
        narrative=request.narrative or None,
        concepts=tuple(request.concepts),
        files_read=tuple(request.files_read),
        files_modified=tuple(request.files_modified),
    )
    result = wk.remember(
        observation_text(seen),
        type="observation",
        tags=(request.kind,),
        files=request.files_modified,
        session=request.session or None,
        work_tokens=request.work_tokens,
        payload=seen,
    )
    return stored(result)


def _capture(wk: Wellkept, request: ObservationInput) -> RememberOutput:
    event = wk.observer.capture(
        request.session,
        tool=request.tool_name,
        given=request.tool_input,
        output=request.tool_output,
    )
    reason = f"tool call of session {request.session}; read with the session's other events"
    return RememberOutput(id=event, outcome="captured", reason=reason)

"""Operations of the next session: what would be given, and a person's word about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from wellkept.api.operations.inputs import Input, Texts
from wellkept.api.operations.outputs import Output
from wellkept.api.operations.record_models import ViewOutput, output_model, view_model
from wellkept.context.preview import ContextPreview, JudgedSilence, Replayed

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class PreviewInput(Input):
    """The moment: what an agent would do or be asked."""

    moment: Literal["session", "prompt", "file", "failure", "plan"] = "session"
    text: str = Field(default="", max_length=20_000, description="A prompt, command or plan.")
    files: Texts = Field(default_factory=list, max_length=20)
    output: str = Field(default="", max_length=20_000, description="What the command printed.")
    client: str = Field(default="", description="Leaves out what this client loads itself.")
    budget_tokens: int | None = Field(default=None, ge=0, le=4_000)


class PreviewOutput(output_model(ContextPreview)):
    """What would be given, by section, and what was left out."""


def preview(wk: Wellkept, request: PreviewInput) -> PreviewOutput:
    """The pack that a hook would give now; nothing is logged or counted."""
    found = wk.preview(
        request.text,
        moment=request.moment,
        files=request.files,
        output=request.output,
        client=request.client,
        budget_tokens=request.budget_tokens,
    )
    return PreviewOutput.of(found, text=found.exact or "Nothing would be given.")


class ReplayInput(Input):
    """How many prompts."""

    limit: int = Field(default=12, ge=1, le=40)


class ReplayOutput(ViewOutput):
    """The latest prompts, and what each would be given now."""

    items: list[view_model(Replayed)]  # type: ignore[valid-type]


def replay(wk: Wellkept, request: ReplayInput) -> ReplayOutput:
    """What the latest prompts would be given now."""
    found = wk.replay_prompts(limit=request.limit)
    return ReplayOutput.of({"items": found}, text=f"{sum(bool(one.lines) for one in found)} given")


class JudgeInput(Input):
    """A prompt that was met with silence, and a person's word about that."""

    prompt: str = Field(min_length=1, max_length=20_000)
    should_give: str = Field(default="", description="The memory that should have been given.")
    probability: float | None = Field(default=None, ge=0, le=1)


class JudgeOutput(output_model(JudgedSilence)):
    """The example as it is kept."""


def judge(wk: Wellkept, request: JudgeInput) -> JudgeOutput:
    """Keep a person's word about silence as an example."""
    said = wk.judge_silence(
        request.prompt, should_give=request.should_give or None, probability=request.probability
    )
    return JudgeOutput.of(said, text="Kept as an example.")


class MuteInput(Input):
    """Which line, and whether it is muted."""

    id: str = Field(min_length=1, description="A memory or a line.")
    muted: bool = True


class MuteOutput(Output):
    """The line as it is now."""

    id: str
    muted: bool

    def text(self) -> str:
        return f"{self.id} is {'muted' if self.muted else 'told again'}."


def mute(wk: Wellkept, request: MuteInput) -> MuteOutput:
    """No longer give a line unasked, or give it again."""
    return MuteOutput(id=wk.mute(request.id, muted=request.muted), muted=request.muted)

"""The operation behind the first view of the page: a project at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input
from wellkept.api.operations.record_models import output_model
from wellkept.api.views.health import DEFAULT_DAYS, MAX_DAYS, RECENT, HealthView
from wellkept.api.views.health_text import health_lines

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class HealthInput(Input):
    """How much of the past to show."""

    days: int = Field(default=DEFAULT_DAYS, ge=1, le=MAX_DAYS, description="Of the series.")
    recent: int = Field(default=RECENT, ge=0, le=50, description="Sessions and observations.")
    offset_minutes: int = Field(
        default=0, ge=-1440, le=1440, description="Where days begin: minutes east of UTC."
    )


class HealthOutput(output_model(HealthView)):
    """A project at a glance. Null is what nobody measured."""


def health(wk: Wellkept, request: HealthInput) -> HealthOutput:
    """A project at a glance."""
    found = wk.health(
        days=request.days, recent=request.recent, offset_minutes=request.offset_minutes
    )
    return HealthOutput.of(found, text="\n".join(health_lines(found)))

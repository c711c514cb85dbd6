"""Inputs of operations: pydantic models that validate arguments and define the schemas.

Callers are models, so inputs are lenient: a string for a list, a list written as JSON, an empty
string for a missing value. Unknown fields are rejected.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema

from wellkept.app.wiring.keyword_types import FilterArgs

MAX_ROWS = 100
MAX_RECORDS = 50
MAX_DEPTH = 50


def _as_list(value: object) -> object:
    """One text as a list of one; a JSON array that was sent as text as that array."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return cast("object", json.loads(value))
        except ValueError:
            return [value]
    return [value] if value.strip() else []


Texts = Annotated[list[str], BeforeValidator(_as_list)]


class _BareSchema(GenerateJsonSchema):
    """Schemas without the titles that repeat each field's name: clients pay for every token."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


class Model(BaseModel):
    """What every input and output shares."""

    model_config = ConfigDict(extra="forbid")


def schema_of(model: type[Model]) -> dict[str, Any]:
    """The JSON schema that clients see."""
    schema = model.model_json_schema(schema_generator=_BareSchema)
    parts = [schema, *cast("dict[str, dict[str, Any]]", schema.get("$defs", {})).values()]
    for part in parts:
        # The names of classes and their docstrings are for readers of this code.
        part.pop("title", None)
        part.pop("description", None)
    return schema


class Input(Model):
    """What every operation can be told."""

    project: str = Field(
        default="", description="Another project: its name or its folder. Default: the one at hand."
    )


class FilteredInput(Input):
    """An input that says which memories are meant."""

    types: Texts = Field(default_factory=list, description="Only these types, e.g. gotcha.")
    tags: Texts = Field(
        default_factory=list,
        description="All of these tags; an observation's kind (bugfix, decision, ...) is one.",
    )
    files: Texts = Field(default_factory=list, description="Only tied to these files.")
    since: str = Field(default="", description="Not before: ISO date, or 7d, 12h.")
    until: str = Field(default="", description="Before: ISO date, or 7d, 12h.")

    def filters(self) -> FilterArgs:
        """The filters as library arguments."""
        return FilterArgs(
            types=self.types,
            tags=self.tags,
            files=self.files,
            since=self.since or None,
            until=self.until or None,
        )


class SearchInput(FilteredInput):
    """Layer one: index rows."""

    query: str = Field(default="", description="Words or a question. Empty: the newest.")
    limit: int = Field(default=20, ge=1, le=MAX_ROWS)
    cursor: str = Field(default="", description="next_cursor of the page before.")


class TimelineInput(FilteredInput):
    """Layer two: what stands around a memory in time."""

    anchor: str = Field(default="", description="Id to look around.")
    query: str = Field(default="", description="In place of an anchor: its best match is taken.")
    before: int = Field(default=5, ge=0, le=MAX_DEPTH)
    after: int = Field(default=5, ge=0, le=MAX_DEPTH)


class GetInput(Input):
    """Layer three: full records."""

    ids: Texts = Field(description="Ids or keys.", min_length=1, max_length=MAX_RECORDS)


class RecallInput(FilteredInput):
    """One question, answered with texts."""

    query: str = Field(min_length=1)
    limit: int = Field(default=5, ge=1, le=MAX_RECORDS)
    offset: int = Field(default=0, ge=0, le=10_000)


class RememberInput(Input):
    """Something to keep."""

    content: str = Field(min_length=1, description="One self-contained statement.")
    type: str = Field(
        default="fact",
        description="preference, convention, pattern, correction, fact, gotcha, decision, "
        "requirement, module_insight, workflow, ...",
    )
    key: str = Field(
        default="", description="A name; storing under it again replaces the old value."
    )
    tags: Texts = Field(default_factory=list)
    files: Texts = Field(default_factory=list, description="Files it is about.")
    importance: float | None = Field(default=None, ge=0, le=1)
    about_person: bool = Field(default=False, description="About the person, so for every project.")
    said_by_person: bool = Field(default=False, description="The person said so themselves.")
    session: str = Field(default="", description="The session it comes from.")


class ForgetInput(Input):
    """What is to be deleted."""

    ids: Texts = Field(description="Ids or keys.", min_length=1, max_length=MAX_RECORDS)
    confirm: bool = Field(default=False, description="Without it nothing is deleted, only shown.")
    keep_history: bool = Field(default=False, description="Only close them: no longer believed.")


class ContextInput(Input):
    """The moment that context is wanted for."""

    query: str = Field(
        default="", description="The prompt or task at hand; empty at a session's start."
    )
    files: Texts = Field(default_factory=list, description="Files at hand.")
    moment: Literal["", "session", "prompt", "file", "command", "plan"] = ""
    phase: str = Field(
        default="",
        description="define, implement, validate, refine, explore, reflect, or the methodology's.",
    )
    budget_tokens: int | None = Field(default=None, ge=50, le=20_000)
    session: str = ""
    session_limit: int | None = Field(
        default=None, ge=0, le=50, description="Sessions to tell of at a start."
    )
    observation_limit: int | None = Field(
        default=None, ge=0, le=200, description="Records of work to name at a start."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="How far back to look.")


class ObservationInput(Input):
    """An observation that the caller made."""

    kind: Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
    title: str = Field(min_length=1, max_length=200)
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


class StatsInput(FilteredInput):
    """What is to be counted."""

"""Inputs of operations: pydantic models that validate arguments and define the schemas.

Callers are models, so inputs are lenient: a string for a list, a list written as JSON, an empty
string for a missing value, other usual names of an argument. Unknown fields are
rejected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import GenerateJsonSchema

from wellkept.core.query import CONFIDENCE_BANDS, Validity
from wellkept.memory import arguments as names
from wellkept.memory.arguments import FilterArgs

MAX_ROWS = 100
MAX_RECORDS = 50
MAX_DEPTH = 50


def _as_list(value: object) -> object:
    """One text as a list of one; a JSON array that was sent as text as that array."""
    if isinstance(value, list):
        return [_as_text(one) for one in cast("list[object]", value)]
    value = _as_text(value)
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return cast("object", json.loads(value))
        except ValueError:
            return [value]
    return [value] if value.strip() else []


def _as_text(value: object) -> object:
    """A number as text: ids and dates may come as numbers."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


Texts = Annotated[list[str], BeforeValidator(_as_list)]
Name = Annotated[str, BeforeValidator(_as_text)]
When = Annotated[str, BeforeValidator(names.as_moment)]


class _BareSchema(GenerateJsonSchema):
    """Schemas without the titles that repeat each field's name: clients pay for every token."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


class Model(BaseModel):
    """What every input and output shares."""

    model_config = ConfigDict(extra="forbid")


def schema_of(model: type[Model]) -> dict[str, Any]:
    """The whole JSON schema of a model."""
    schema = model.model_json_schema(schema_generator=_BareSchema)
    parts = [schema, *cast("dict[str, dict[str, Any]]", schema.get("$defs", {})).values()]
    for part in parts:
        # The names of classes and their docstrings are for readers of this code.
        part.pop("title", None)
        part.pop("description", None)
    return schema


class Input(Model):
    """What every operation can be told."""

    synonyms: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Other names of arguments, in snake case; those in camel case are known by themselves."""
    unlisted: ClassVar[frozenset[str]] = frozenset()
    """Arguments that are taken but not shown to models, besides `project` and `session`."""

    project: str = Field(
        default="", description="Another project: its name or its folder. Default: the one at hand."
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        arguments = names.renamed(
            cast("Mapping[str, object]", given), known=cls.model_fields, synonyms=cls.synonyms
        )
        return cls.translated(arguments)

    @classmethod
    def translated(cls, arguments: dict[str, object]) -> dict[str, object]:
        """The arguments after renaming, with documented values turned into ours."""
        return arguments


class FilteredInput(Input):
    """An input that says which memories are meant."""

    synonyms: ClassVar[Mapping[str, str]] = names.FILTERS
    unlisted: ClassVar[frozenset[str]] = frozenset({"tags", "concepts"})
    usual_types: ClassVar[tuple[str, ...]] = ()
    """The types that are meant when none are named; empty means all."""

    types: Texts = Field(default_factory=list, description="Only these types, e.g. gotcha.")
    tags: Texts = Field(
        default_factory=list,
        description="All of these tags; an observation's kind (bugfix, decision, ...) is one.",
    )
    files: Texts = Field(default_factory=list, description="Only tied to these files.")
    since: When = Field(default="", description="Not before: ISO date, or 7d, 12h.")
    until: When = Field(default="", description="Before: ISO date, or 7d, 12h.")
    concepts: Texts = Field(default_factory=list, description="About one of these concepts.")

    @classmethod
    def translated(cls, arguments: dict[str, object]) -> dict[str, object]:
        return names.with_types(arguments)

    def filters(self) -> FilterArgs:
        """The filters as library arguments; `concepts` has no column and is checked on records."""
        return FilterArgs(
            types=self.types or self.usual_types,
            tags=self.tags,
            files=self.files,
            since=self.since or None,
            until=self.until or None,
        )


class ContextInput(Input):
    """The moment that context is wanted for."""

    synonyms: ClassVar[Mapping[str, str]] = names.CONTEXT
    unlisted: ClassVar[frozenset[str]] = frozenset(
        {
            *("moment", "phase", "complexity", "observation_types", "observation_limit"),
            *("session_limit", "days", "concepts"),
        }
    )

    query: str = Field(
        default="", description="The prompt or task at hand; empty at a session's start."
    )
    files: Texts = Field(default_factory=list, description="Files at hand.")
    moment: Literal["", "session", "prompt", "file", "command", "plan"] = ""
    phase: str = Field(
        default="",
        description="define, implement, validate, refine, explore, reflect, or the methodology's.",
    )
    complexity: Literal["", "trivial", "standard", "complex"] = Field(
        default="", description="A trivial task gets no recipes and no end-to-end observations."
    )
    budget_tokens: int | None = Field(default=None, ge=50, le=20_000)
    session: str = ""
    observation_types: Texts = Field(
        default_factory=list, description="Only observations of these kinds."
    )
    concepts: Texts = Field(default_factory=list, description="Only observations about these.")
    format: Literal["text", "table"] = Field(
        default="text", description="table: recent work by date, with what each record costs."
    )
    session_limit: int | None = Field(
        default=None, ge=0, le=50, description="Sessions to tell of at a start."
    )
    observation_limit: int | None = Field(
        default=None, ge=0, le=200, description="Records of work to name."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="How far back to look.")


class StatsInput(FilteredInput):
    """What is to be counted."""


class MemoryFilterInput(FilteredInput):
    """Every filter of memories, for people and programs that look at many."""

    unlisted: ClassVar[frozenset[str]] = frozenset()

    scopes: Texts = Field(default_factory=list, description="Only these scopes.")
    sources: Texts = Field(default_factory=list, description="Only from these sources.")
    modules: Texts = Field(default_factory=list, description="Only tied to these modules.")
    sessions: Texts = Field(default_factory=list, description="Only from these sessions.")
    authors: Texts = Field(default_factory=list, description="Only by these authors.")
    methodologies: Texts = Field(default_factory=list, description="Only of these.")
    bands: list[Annotated[int, Field(ge=1, le=CONFIDENCE_BANDS)]] = Field(
        default_factory=list[int], description="Dots of confidence: 1 is below 0.2, 5 from 0.8 on."
    )
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    min_importance: float = Field(default=0.0, ge=0, le=1)
    as_of: str = Field(default="", description="What was believed then: ISO date, or 7d, 12h.")
    validity: Validity = Field(
        default=Validity.OPEN, description="Still believed, no longer, or any."
    )
    stale: bool = Field(default=True, description="Also memories whose files are gone.")
    only_stale: bool = Field(default=False, description="Only memories whose files are gone.")
    archived: bool = Field(default=False, description="Archived ones instead.")
    needs_review: bool | None = None
    user_verified: bool | None = None
    pinned: bool | None = None
    all_projects: bool = Field(default=False, description="Look in every project.")

    def filters(self) -> FilterArgs:
        return {
            **super().filters(),
            "scopes": self.scopes,
            "sources": self.sources,
            "modules": self.modules,
            "sessions": self.sessions,
            "authors": self.authors,
            "methodologies": self.methodologies,
            "bands": self.bands,
            "min_confidence": self.min_confidence,
            "min_importance": self.min_importance,
            "as_of": self.as_of or None,
            "validity": self.validity.value,
            "include_stale": self.stale,
            "only_stale": self.only_stale,
            "archived": self.archived,
            "needs_review": self.needs_review,
            "user_verified": self.user_verified,
            "pinned": self.pinned,
            "all_projects": self.all_projects,
        }

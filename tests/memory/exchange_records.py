"""Any memory that may be stored, for property tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from wellkept.core import payloads
from wellkept.core.codec import Payload
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.text import clean
from wellkept.core.types import TYPE_RULES, EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.text.secrets.redaction import redact

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ids = st.uuids().map(str)
texts = st.text(max_size=30).map(lambda text: redact(clean(text)).text)
labels = texts.filter(lambda text: bool(text.strip()))
contents = texts.map(str.strip).filter(bool)
shares = st.floats(0, 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
moments = st.integers(0, 4_102_444_800_000).map(lambda ms: _EPOCH + timedelta(milliseconds=ms))


def some(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(strategy, max_size=3, unique=True).map(tuple)


relations = st.one_of(
    st.builds(
        Relation,
        st.sampled_from(RelationType),
        target_id=ids,
        confidence=shares,
        auto_extracted=st.booleans(),
    ),
    st.builds(Relation, st.sampled_from(RelationType), target_file=labels, confidence=shares),
)
evidence = st.builds(
    Evidence, st.sampled_from(EvidenceKind), texts, st.none() | texts, st.none() | moments
)
states = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
payload_kinds: dict[type[Payload], st.SearchStrategy[Payload]] = {
    payloads.KeptItem: st.builds(
        payloads.KeptItem,
        texts,
        texts,
        some(texts),
        st.dictionaries(texts, states, max_size=3),
        st.none() | moments,
    ),
    payloads.Decision: st.builds(payloads.Decision, st.none() | texts, some(texts)),
    payloads.ErrorPattern: st.builds(payloads.ErrorPattern, texts, st.none() | texts),
    payloads.WorkState: st.builds(payloads.WorkState, st.dictionaries(texts, states, max_size=3)),
    payloads.PrefetchPattern: st.builds(payloads.PrefetchPattern, texts, some(texts)),
    payloads.CausalDependency: st.builds(payloads.CausalDependency, texts, some(texts)),
    payloads.TaskCalibration: st.builds(
        payloads.TaskCalibration, texts, texts, numbers, numbers, numbers, st.integers(0, 99)
    ),
    payloads.E2EObservation: st.builds(
        payloads.E2EObservation, st.sampled_from(["precondition", "timing"]), st.none() | texts
    ),
    payloads.DeadEnd: st.builds(payloads.DeadEnd, texts, texts, st.none() | texts),
    payloads.WorkUnitOutcome: st.builds(payloads.WorkUnitOutcome, st.booleans(), some(texts)),
    payloads.WorkflowRecipe: st.builds(
        payloads.WorkflowRecipe,
        texts,
        st.lists(st.builds(payloads.RecipeStep, texts, st.none() | texts), max_size=3).map(tuple),
    ),
    payloads.ContextCost: st.builds(
        payloads.ContextCost, texts, numbers, numbers, st.integers(0, 99)
    ),
    payloads.Episode: st.builds(
        payloads.Episode, st.sampled_from(["success", "failure"]), st.none() | texts
    ),
    payloads.Observation: st.builds(
        payloads.Observation, st.sampled_from(["bugfix", "change"]), texts, facts=some(texts)
    ),
    payloads.Prompt: st.builds(payloads.Prompt, st.integers(0, 99)),
    payloads.SessionSummary: st.builds(payloads.SessionSummary, st.none() | texts),
}


@st.composite
def memories(draw: st.DrawFn, *, key: str | None = None) -> Memory:
    """A memory with anything in every field."""
    kind = draw(st.sampled_from(MemoryType))
    rule = TYPE_RULES[kind]
    payload = draw(payload_kinds[rule.payload]) if rule.payload else None
    if not rule.payload_required:
        payload = draw(st.none() | st.just(payload))
    begin = draw(moments)
    end = draw(st.none() | moments.map(lambda moment: max(moment, begin)))
    return Memory(
        id=draw(ids),
        project=draw(st.sampled_from(["git:example.org/a", "name:b"])),
        type=kind,
        content=draw(contents),
        created_at=draw(moments),
        updated_at=draw(moments),
        valid_from=begin,
        accessed_at=draw(moments),
        key=key,
        tags=draw(some(labels)),
        files=draw(some(labels)),
        modules=draw(some(labels)),
        importance=draw(shares),
        confidence=draw(shares),
        scope=draw(st.sampled_from(Scope)),
        source=draw(st.sampled_from(Source)),
        author=draw(st.none() | texts),
        session_id=draw(st.none() | texts),
        seq=draw(st.none() | st.integers(0, 2**40)),
        provenance_sessions=draw(some(texts)),
        commit_sha=draw(st.none() | texts),
        work_unit=draw(st.none() | st.builds(WorkUnitRef, texts, some(texts), texts)),
        relations=tuple(draw(st.lists(relations, max_size=3))),
        evidence=tuple(draw(st.lists(evidence, max_size=3))),
        graph_node=draw(st.none() | texts),
        half_life_days=draw(st.none() | st.floats(0.1, 1e6)),
        needs_review=draw(st.booleans()),
        user_verified=draw(st.booleans()),
        pinned=draw(st.booleans()),
        citation=draw(st.none() | texts),
        work_tokens=draw(st.none() | st.integers(0, 2**40)),
        payload=payload,
        valid_to=end,
        superseded_by=draw(st.none() | ids) if end else None,
        stale_at=draw(st.none() | moments),
        archived_at=draw(st.none() | moments),
        access_count=draw(st.integers(0, 2**40)),
    )


libraries = st.lists(memories(), max_size=8, unique_by=lambda memory: memory.id)

"""Records hold what `dataclasses` promises, at a fraction of its price."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.records import (
    MISSING,
    FrozenRecordError,
    field,
    fields,
    is_record,
    record,
    replace,
)

pytestmark = pytest.mark.feature("A1")

_Item = TypeVar("_Item")


@record
class Point:
    """A point."""

    LIMIT: ClassVar[int] = 3
    x: float
    y: float = 0.0
    tags: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list[int], compare=False, repr=False)


@record(kw_only=True)
class Named(Point):
    name: str
    y: float = 5.0


@record
class Box(Generic[_Item]):
    item: _Item


@record
class Nothing:
    pass


@record(frozen=False)
class Counter:
    count: int = 0
    parts: list[object] = field(default_factory=list[object])


@record
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(self.number)


@record(repr=False)
class Quiet:
    key: str


@record
class Cased:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cased) and other.name.lower() == self.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return f"<{self.name}>"


@cache
def twin(kind: type[Any]) -> type[Any]:
    """The same class as the standard module makes it."""
    said = [(f.name, f.type, _said(f)) for f in fields(kind)]
    made = dataclasses.make_dataclass(kind.__name__, said, frozen=True, slots=True)
    made.__qualname__ = kind.__qualname__
    return made


def _said(one: Any) -> Any:
    options = {"repr": one.repr, "compare": one.compare, "kw_only": one.kw_only}
    for name in ("default", "default_factory"):
        if getattr(one, name) is not MISSING:
            options[name] = getattr(one, name)
    return dataclasses.field(**options)


values = st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.tuples(st.text()))
points = st.fixed_dictionaries(
    {"x": values}, optional={"y": values, "tags": values, "seen": st.lists(st.integers())}
)


# -- Against the standard module ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Point, Named], ids=["plain", "derived"])
@given(one=points, other=points)
def test_records_are_made_shown_compared_and_hashed_as_dataclasses_are(
    kind: type[Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    more = _rest(kind)
    both: list[type[Any]] = [kind, twin(kind)]
    ours, theirs = ((k(**one, **more), k(**other, **more)) for k in both)
    assert repr(ours[0]) == repr(theirs[0])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert (ours[0] != ours[1]) == (theirs[0] != theirs[1])
    assert [getattr(ours[0], f.name) for f in fields(kind)] == [
        getattr(theirs[0], f.name) for f in fields(kind)
    ]
    assert hash(ours[0]) == hash(copy.copy(ours[0]))
    if ours[0] == ours[1]:
        assert hash(ours[0]) == hash(ours[1])


@pytest.mark.parametrize("kind", [Point, Named, Nothing, Even], ids=lambda kind: kind.__name__)
def test_fields_patterns_slots_and_signature_are_those_of_the_dataclass(kind: type[Any]) -> None:
    standard = twin(kind)
    assert kind.__match_args__ == standard.__match_args__
    assert [f.name for f in fields(kind)] == [f.name for f in dataclasses.fields(standard)]
    parameters = [inspect.signature(k).parameters.values() for k in (kind, standard)]
    ours, theirs = ([(p.name, p.kind) for p in several] for several in parameters)
    assert ours == theirs
    assert not hasattr(kind(*([2] if kind is not Nothing else []), **_rest(kind)), "__dict__")


def _rest(kind: type[Any]) -> dict[str, Any]:
    return {"name": "n"} if kind is Named else {}


@pytest.mark.parametrize(
    ("given_values", "named"),
    [((), {}), ((1, 2, (), None, 5), {}), ((1,), {"nope": 1}), ((1,), {"x": 2})],
    ids=["missing", "too many", "unknown", "twice"],
)
def test_wrong_arguments_are_refused_in_the_words_of_the_dataclass(
    given_values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    said: list[str] = []
    for kind in (Point, twin(Point)):
        with pytest.raises(TypeError) as refusal:
            kind(*given_values, **named)
        said.append(str(refusal.value))
    assert said[0] == said[1]


@given(one=points)
def test_copies_and_pickles_are_equal_and_as_frozen(one: dict[str, Any]) -> None:
    made = Named(**one, name="n")
    others: list[Any] = [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    for again in others:
        with pytest.raises(FrozenRecordError):
            again.x = 1
        assert type(again) is Named
        assert repr(again) == repr(made)


# -- On its own -----------------------------------------------------------------------------------


def test_the_copies_of_a_class_with_many_records_are_as_those_of_one_with_few() -> None:
    @record
    class Range:
        low: int
        high: int = 9
        steps: list[int] = field(default_factory=list[int])

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError(self.low)

    @record
    class Named(Range):
        name: str = ""

    for kind in (Range, Named):
        few = kind(1, steps=[3])
        while kind.__dict__["__record_copy__"] is None:
            kind(1)
        for old in (few, kind(1, steps=[3])):
            copied = replace(old, high=5)
            assert copied == kind(1, 5, [3])
            assert (type(copied), copied.steps, old.high) == (kind, old.steps, 9)
            assert replace(old) == old
        with pytest.raises(ValueError, match="8"):
            replace(few, low=8, high=7)
        with pytest.raises(TypeError, match="unknown"):
            replace(few, unknown=1)


def test_a_record_cannot_be_changed_but_replaced() -> None:
    made: Any = Point(1.0, tags=("a",))
    with pytest.raises(AttributeError, match=r"Point.x cannot be changed; use replace"):
        made.x = 2.0
    with pytest.raises(AttributeError, match=r"Point.x cannot be deleted"):
        del made.x
    with pytest.raises(AttributeError):
        made.unknown = 1
    assert replace(made, x=2.0) == Point(2.0, tags=("a",))
    assert made.x == 1.0
    with pytest.raises(TypeError, match="unknown"):
        replace(made, unknown=1)


def test_a_mutable_record_changes_and_is_no_key() -> None:
    made = Counter()
    made.count += 1
    assert made == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)
    made.parts.append(made)
    assert repr(made) == "Counter(count=1, parts=[...])"
    assert copy.copy(made).parts is made.parts


def test_each_record_gets_its_own_value_from_a_factory() -> None:
    assert Point(1).seen is not Point(1).seen


def test_a_default_that_all_records_would_share_is_refused() -> None:
    class Wrong:
        items: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match=r"Wrong\.items: .* use a factory"):
        record(Wrong)


def test_a_record_checks_itself_after_it_is_made() -> None:
    assert Even(2).number == 2
    with pytest.raises(ValueError, match="3"):
        Even(3)


def test_a_record_may_be_generic() -> None:
    assert Box[int](3) == Box(3)
    assert Box(3) != Box("3")
    match Box((1, 2)):
        case Box((one, _)):
            assert one == 1


def test_what_a_class_defines_itself_is_kept() -> None:
    assert Cased("A") == Cased("a")
    assert len({Cased("A"), Cased("a")}) == 1
    assert repr(Cased("A")) == "<A>"
    assert "secret" not in repr(Quiet("secret"))
    assert (Point.LIMIT, Point.__doc__, Point.__module__) == (3, "A point.", __name__)


def test_only_records_have_fields() -> None:
    assert is_record(Point)
    assert is_record(Point(1))
    assert not is_record(dict)
    assert [f.name for f in fields(Point) if f.required] == ["x"]
    with pytest.raises(TypeError, match="neither a record"):
        fields(3)


def test_the_standard_module_takes_a_record_for_its_own() -> None:
    made = Named(1.0, name="n")
    assert dataclasses.is_dataclass(Named)
    assert dataclasses.replace(made, y=2.0) == Named(1.0, y=2.0, name="n")
    assert dataclasses.asdict(made) == {"x": 1.0, "y": 5.0, "tags": (), "seen": [], "name": "n"}
    assert [f.name for f in dataclasses.fields(Box)] == ["item"]

    @dataclasses.dataclass(frozen=True, slots=True)
    class Derived(Point):
        more: int = 1

    assert Derived(1.0, more=2).more == 2


def test_defining_and_making_records_loads_neither_dataclasses_nor_inspect() -> None:
    script = (
        "import sys\n"
        "from wellkept.core.memory import Evidence\n"
        "from wellkept.core.types import EvidenceKind\n"
        "repr(Evidence(EvidenceKind.COMMIT, 'abc')) == hash(Evidence(EvidenceKind.COMMIT, 'abc'))\n"
        "print(sorted({'dataclasses', 'inspect', 'ast', 'dis'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

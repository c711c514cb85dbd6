"""The one checker of arguments, for library, HTTP and MCP. Names every problem at once.

`exact` is for Python: values must have their types. `read` is lenient, for models and queries: "3"
for 3, one text for a list, `filePath` for `file_path`, other usual names (`aka`), an empty text for
nothing. Only `read` loads msgspec.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final, Protocol, cast

from wellkept.api.verbs.params import Param, keywords_of, params_of, text_params
from wellkept.core.errors import UsageError
from wellkept.core.verbs import Verb
from wellkept.memory.arguments import as_moment, snake

_ALWAYS: Final = {"session_id": "session"}


class Checked(Protocol):
    """What has arguments to check: a verb, or a route that is none."""

    @property
    def function(self) -> Callable[..., Any]: ...

    @property
    def words(self) -> str: ...

    @property
    def reads(self) -> Callable[[dict[str, object]], dict[str, object]] | None: ...


# -- Python ---------------------------------------------------------------------------------------


def exact(verb: Verb, values: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Refuse values of another type; TypeError for a keyword that the verb does not take."""
    known = {one.name: one for one in params_of(verb.function)}
    places = [one for one in known.values() if one.positional]
    given = {one.name: value for one, value in zip(places, values, strict=False)} | dict(named)
    code = verb.function.__code__
    python_only = {
        *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount],
        *keywords_of(verb.function),
    }
    for name in given:
        if name not in known and name not in python_only:
            close = get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"It takes {', '.join(known)}."
            raise TypeError(f"{verb.name}() got an unexpected keyword argument {name!r}. {hint}")
    problems = [
        f"{name}: {problem}"
        for name, value in given.items()
        if name in known and (problem := _misfit(known[name], value))
    ]
    if problems:
        raise _refusal(verb, problems, known)


_PYTHON: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "text": ((str,), "a text"),
    "choice": ((str,), "a text"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "moment": ((str, datetime), "a date, a time or an age such as 7d"),
    "texts": ((str, Iterable), "texts"),
    "ints": ((Iterable,), "whole numbers"),
    "records": ((Iterable,), "a list"),
}


def _misfit(param: Param, value: object) -> str:
    """What is wrong with a value; empty when it fits."""
    kind = param.kind
    if value is None:
        return "" if kind.nullable or param.default is None else "expected a value, not None"
    if kind.form in ("object", "any"):
        return ""
    types, called = _PYTHON[kind.form]
    if not isinstance(value, types) or (isinstance(value, bool) and kind.form != "bool"):
        return f"expected {called}, not {type(value).__name__}"
    return _out_of_bounds(param, value)


def _out_of_bounds(param: Param, value: Any) -> str:
    low, high = param.arg.low, param.arg.high
    if param.kind.form == "choice" and value not in param.kind.of:
        return f"{value!r} is none of {', '.join(param.kind.of)}"
    if low is None and high is None:
        return ""
    sized = param.kind.form in ("text", "texts", "ints", "records")
    if sized and not hasattr(value, "__len__"):
        return ""
    size = len(value) if sized else value
    what = "" if not sized else " characters" if isinstance(value, str) else " of them"
    if low is not None and size < low:
        return "must not be empty" if sized and low == 1 else f"expected {low:g}{what} or more"
    return f"expected {high:g}{what} or less" if high is not None and size > high else ""


# -- Models and queries ---------------------------------------------------------------------------


def read(
    verb: Checked, given: Mapping[str, object], *, with_text: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of the verb and, `with_text`, those of its text, checked."""
    own = params_of(verb.function)
    texts = text_params(verb.function) if with_text else ()
    known = {one.name: one for one in (*own, *texts)}
    named = _renamed(given, known)
    if verb.reads is not None:
        named = verb.reads(named)
    problems: list[str] = []
    taken: dict[str, Any] = {}
    for name, value in named.items():
        if name not in known:
            close = get_close_matches(snake(name), known, n=1)
            problems.append(
                f"{name} is unknown" + (f" (did you mean {close[0]}?)" if close else "")
            )
        elif value is not None and not (value == "" and not known[name].required):
            try:
                taken[name] = _converted(known[name], value)
            except ValueError as error:
                problems.append(f"{name}: {error}")
    problems += [
        f"{name}: is missing"
        for name, one in known.items()
        if one.required and named.get(name) is None
    ]
    if problems:
        raise _refusal(verb, problems, known)
    of_text = {one.name for one in texts}
    return (
        {name: value for name, value in taken.items() if name not in of_text},
        {name: value for name, value in taken.items() if name in of_text},
    )


def _refusal(verb: Checked, problems: Sequence[str], known: Mapping[str, Param]) -> UsageError:
    listed = ", ".join(name for name, one in known.items() if not one.arg.hidden)
    return UsageError(
        f"{verb.words} cannot take this: {'; '.join(problems[:8])}.", hint=f"It takes: {listed}."
    )


def _renamed(given: Mapping[str, object], known: Mapping[str, Param]) -> dict[str, object]:
    """The arguments under our names; a parameter's own name wins over another."""
    also = {other: one.name for one in known.values() for other in one.arg.aka}
    found = {name: value for name, value in given.items() if name in known}
    for name, value in given.items():
        if name in known:
            continue
        plain = snake(name)
        if plain not in known:
            plain = also.get(plain) or _ALWAYS.get(plain, plain)
        if plain in known:
            found.setdefault(plain, value)
        elif value is not None:
            found.setdefault(name if plain == snake(name) else plain, value)
    return found


def converted(param: Param, value: Any) -> Any:
    """A value of the command line as its parameter takes it."""
    try:
        return _converted(param, value)
    except ValueError as error:
        raise UsageError(f"{param.name} cannot take this: {error}.") from None


def _converted(param: Param, value: Any) -> Any:
    """A value as its parameter takes it; ValueError says why it does not fit."""
    kind = param.kind
    match kind.form:
        case "any":
            return value
        case "texts":
            found: Any = tuple(str(one) for one in _listed(value))
        case "moment":
            found = _moment(value)
        case "text":
            found = _text(value, words=param.arg.words)
        case "object":
            found = _object(value, kind.of)
        case "records":
            found = tuple(_object(one, kind.of) for one in _listed(value))
        case "choice":
            found = _choice(_text(value), kind.of)
        case "ints":
            found = tuple(_number(one, int) for one in _listed(value))
        case _:
            found = _number(value, {"int": int, "float": float, "bool": bool}[kind.form])
    if problem := _out_of_bounds(param, found):
        raise ValueError(problem)
    return found


def _number(value: object, kind: type[Any]) -> Any:
    import msgspec

    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        name = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise ValueError(f"expected {name}, not {_shown(value)}") from None


def _choice(value: str, choices: tuple[str, ...]) -> str:
    plain = {snake(one): one for one in choices}
    return plain.get(snake(value.strip()), value)


def _text(value: object, *, words: bool = False) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not words:
        return str(value)
    raise ValueError(f"expected a text, not {_shown(value)}")


def _listed(value: object) -> list[Any]:
    """One value as a list of one; a JSON array that was sent as text as that array."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = cast("object", json.loads(value))
        except ValueError:
            return [value]
    if isinstance(value, (list, tuple)):
        return list(cast("Sequence[Any]", value))
    if isinstance(value, Mapping) and value:
        return [cast("Any", value)]
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return [value] if str(value).strip() else []
    raise ValueError(f"expected a list, not {_shown(cast('object', value))}")


def _object(value: object, kind: Any) -> Any:
    if isinstance(value, str):
        if not value.lstrip().startswith("{") and hasattr(kind, "from_text"):
            return kind.from_text(value)
        try:
            value = cast("object", json.loads(value))
        except (ValueError, RecursionError):
            raise ValueError("expected a JSON object") from None
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, not {_shown(value)}")
    if kind is None:
        return dict(cast("Mapping[str, Any]", value))
    from wellkept.core.codec import record_from_json

    try:
        return record_from_json(kind, cast("Mapping[str, Any]", value), where="")
    except UsageError as error:
        raise ValueError(error.message.rstrip(".")) from None


def _moment(value: Any) -> Any:
    """A Unix time in seconds or milliseconds as an ISO date; texts and datetimes as they are."""
    found = as_moment(value)
    if isinstance(found, (str, datetime)):
        return found
    raise ValueError(f"expected a date, a time or an age such as 7d, not {_shown(value)}")


def _shown(value: object) -> str:
    return repr(value)[:40] if isinstance(value, (str, int, float)) else type(value).__name__

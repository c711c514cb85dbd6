"""Intraprocedural data flow: from parameters, call results and fields of one function to call
arguments, fields and the return value.

Statements are visited in order. A variable carries its last assignment, all branches count, loops
run twice. Transformations (operators, containers, formatting) are not distinguished. Does not know
other functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from wellkept.core.records import record
from wellkept.graph.parse.language import Language
from wellkept.graph.query import dataflow_syntax as syntax

if TYPE_CHECKING:
    from tree_sitter import Node

RECEIVER = "."
SELF = "self"


class ValueOrigin(NamedTuple):
    """Where a value comes from. A result is named by the number of its call; a local is the watched
    variable."""

    kind: Literal["parameter", "result", "field", "variable", "local"]
    name: str
    is_part: bool = False
    """Only a member of it. Used while a function is visited, never in its flow."""


class ValueSink(NamedTuple):
    """Where a value goes. An argument is named by position or keyword, with its call."""

    kind: Literal["argument", "return", "field", "variable"]
    name: str = ""
    call: int = -1


class _CallSite(NamedTuple):
    """One call as written."""

    callee: str
    line: int


class ValueMove(NamedTuple):
    """A value, or a part of it, moves to a sink in a line."""

    sink: ValueSink
    line: int
    is_part: bool = False


@record(kw_only=True)
class FunctionFlow:
    """Data flow of one function."""

    parameters: tuple[tuple[str, ...], ...]
    """Names of each parameter, without `self`. Destructuring gives several."""
    returns_value: bool
    """Whether it returns anything."""
    call_sites: tuple[_CallSite, ...]
    moves: Mapping[ValueOrigin, tuple[ValueMove, ...]]

    def parameter(self, key: str) -> str | None:
        """The parameter that receives an argument."""
        named = next((n for names in self.parameters for n in names if n == key), None)
        if named is not None or not self.parameters:
            return named
        if not key.isdigit():
            return self.parameters[-1][0]
        return self.parameters[min(int(key), len(self.parameters) - 1)][0]

    def aliases(self, name: str) -> tuple[str, ...]:
        """All names of the parameter that has this one."""
        return next((names for names in self.parameters if name in names), (name,))


_Origins = frozenset[ValueOrigin]
_NONE: _Origins = frozenset()
_Env = dict[str, _Origins]


def read_flow(
    function: Node,
    *,
    language: Language,
    calls: Mapping[int, str],
    globals_: frozenset[str] = frozenset(),
    watched: str = "",
) -> FunctionFlow:
    """The flow of a function, or of a file's top level if that is the node.

    `calls` are the callees as written, by node id as in `ParsedSyntax`. Values of the variable
    `watched` get an origin of their own.
    """
    walk = _Walk(language, calls, globals_, watched)
    walk.enter(syntax.function_node(function))
    moves: dict[ValueOrigin, list[ValueMove]] = {}
    for (origin, sink), line in walk.moves.items():
        whole = origin._replace(is_part=False)
        if not origin.is_part or (whole, sink) not in walk.moves:
            moves.setdefault(whole, []).append(ValueMove(sink, line, origin.is_part))
    return FunctionFlow(
        parameters=tuple(walk.parameters),
        returns_value=walk.returns_value,
        call_sites=tuple(walk.call_sites),
        moves={origin: tuple(found) for origin, found in moves.items()},
    )


class _Walk:
    """Visits one function and records the moves."""

    def __init__(
        self, language: Language, calls: Mapping[int, str], globals_: frozenset[str], watched: str
    ) -> None:
        self._language = language
        self._calls = calls
        self._call_types = syntax.CALLS | language.call_fields.keys()
        self._globals = globals_
        self._watched = watched
        self._selves = set(language.self_names)
        self._env: _Env = {}
        self._closures: list[set[ValueOrigin]] = []
        """Return values of the enclosing closures, innermost last."""
        self._closure_arguments: _Origins = _NONE
        """Values that a closure passed as argument may be called with."""
        self._matched: _Origins = _NONE
        self._numbers: dict[int, int] = {}
        self._is_file = False
        self._rules = self._rules_by_type()
        self.returns_value = False
        self.parameters: list[tuple[str, ...]] = []
        self.call_sites: list[_CallSite] = []
        self.moves: dict[tuple[ValueOrigin, ValueSink], int] = {}

    def _rules_by_type(self) -> dict[str, Callable[[Node], _Origins]]:
        rules = (
            (syntax.MEMBERS, self._member),
            (syntax.ASSIGNMENTS | syntax.AUGMENTED_ASSIGNMENTS, self._assigned),
            (syntax.BRANCHES, self._branch),
            (syntax.LOOPS, self._loop),
            (syntax.RETURNS, self._return),
            (syntax.CLOSURES | syntax.NESTED, self._closure),
            (syntax.ELEMENTS, self._element),
            (syntax.COMPREHENSIONS, self._comprehension),
            (syntax.PATTERNS, self._pattern),
            (syntax.OPERATIONS, self._operation),
        )
        return {kind: rule for kinds, rule in rules for kind in kinds}

    def enter(self, function: Node) -> None:
        """Visit the whole function or file."""
        self._is_file = function.parent is None
        receiver = function.child_by_field_name("receiver")
        if receiver is not None:  # Go: the receiver has a name of its own
            self._selves.update(n for c in receiver.named_children for n in syntax.bound_names(c))
        for names in [] if self._is_file else syntax.parameters(function):
            if names[0] in self._selves and not self.parameters:
                continue
            self.parameters.append(names)
            for name in names:
                self._bind(name, frozenset({ValueOrigin("parameter", name)}))
        body = function if self._is_file else function.child_by_field_name("body")
        if body is None:
            return
        if self._is_file:
            for child in body.named_children:
                if child.type not in syntax.NESTED:
                    self._value(child)
            return
        given = self._value(body)
        if (
            body.type not in ("statement_block", "compound_statement")
            and self._returns_last_expression()
        ):
            self.returns_value = self._language.name != "rust" or bool(syntax.return_type(function))
            self._emit(given, ValueSink("return"), body.end_point.row + 1)

    def _returns_last_expression(self) -> bool:
        """Whether a function returns its last expression."""
        return self._language.name in ("rust", "ruby", "javascript", "typescript", "tsx")

    def _emit(self, origins: Iterable[ValueOrigin], sink: ValueSink, line: int) -> None:
        for origin in origins:
            if (origin.kind, origin.name) != (sink.kind, sink.name):
                self.moves[(origin, sink)] = min(self.moves.get((origin, sink), line), line)

    def _bind(self, name: str, origins: _Origins, *, keeps_old: bool = False) -> None:
        if name == self._watched:
            origins |= {ValueOrigin("local", name)}
        self._env[name] = origins | (self._env.get(name, _NONE) if keeps_old else _NONE)

    # -- Values -----------------------------------------------------------------------------------

    def _value(self, node: Node | None) -> _Origins:
        """Origins of an expression's value. Statements are visited for their effects."""
        if node is None or node.type in syntax.NO_VALUES:
            return _NONE
        kind = node.type
        if kind in syntax.NAMES or kind in syntax.SELVES or kind == "instance_variable":
            return self._named(node)
        callee = self._callee(node) if kind in self._call_types else None
        if callee is not None:
            return self._call(node, callee)
        rule = self._rules.get(kind)
        if rule is not None:
            return rule(node)
        found = self._all(node.named_children, last=kind in syntax.BODIES)
        return _NONE if kind == "expression_statement" else found

    def _all(self, nodes: Iterable[Node], *, last: bool = False) -> _Origins:
        """Origins of all nodes, or of the last one only."""
        found: _Origins = _NONE
        for node in nodes:
            value = self._value(node)
            found = value if last else found | value
        return found

    def _named(self, node: Node) -> _Origins:
        name = syntax.text_of(node)
        if node.type == "instance_variable":
            return self._field(name.lstrip("@"))
        if name in self._selves:
            return frozenset({ValueOrigin("parameter", SELF)})
        if name in self._env:
            return self._env[name]
        if name in self._globals:
            return frozenset({ValueOrigin("variable", name)})
        if self._language.implicit_self and node.type == "identifier":
            return self._field(name)
        return _NONE

    def _field(self, name: str) -> _Origins:
        return frozenset({ValueOrigin("field", name)}) | self._env.get(f"{SELF}.{name}", _NONE)

    def _member(self, node: Node) -> _Origins:
        owner, name = syntax.member(node)
        if owner is None:
            return _NONE
        if self._is_self(owner):
            return self._field(name) | {ValueOrigin("parameter", SELF)}
        return frozenset(origin._replace(is_part=True) for origin in self._value(owner))

    def _is_self(self, node: Node) -> bool:
        return node.type in syntax.SELVES or syntax.text_of(node) in self._selves

    def _element(self, node: Node) -> _Origins:
        children = node.named_children
        self._all(children[1:])
        return self._value(children[0]) if children else _NONE

    def _operation(self, node: Node) -> _Origins:
        found = self._all(node.named_children)
        operator = node.child_by_field_name("operator") or node.child_by_field_name("operators")
        compares = operator is not None and syntax.text_of(operator) in syntax.COMPARISONS
        return _NONE if compares or node.type == "comparison_operator" else found

    # -- Assignments ------------------------------------------------------------------------------

    def _assigned(self, node: Node) -> _Origins:
        target, source = syntax.assignment_sides(node)
        value = self._value(source)
        if target is not None and source is not None:
            self._assign(target, source, value, keeps_old=node.type in syntax.AUGMENTED_ASSIGNMENTS)
        elif target is not None and not self._is_file:  # declared without a value
            for name in syntax.bound_names(target):
                self._bind(name, _NONE)
        return value

    def _assign(self, target: Node, source: Node, value: _Origins, *, keeps_old: bool) -> None:
        """Assign a value to a target, item by item if both sides have equally many."""
        left, right = target.named_children, source.named_children
        if len(left) == len(right) > 1 and _is_list(target) and _is_list(source):
            for one, other in zip(left, right, strict=True):
                self._assign(one, other, self._value(other), keeps_old=keeps_old)
            return
        if _is_list(target):
            for one in left:
                self._assign(one, source, value, keeps_old=keeps_old)
            return
        self._store(target, value, keeps_old=keeps_old)

    def _store(self, target: Node, value: _Origins, *, keeps_old: bool) -> None:
        line = target.start_point.row + 1
        if target.type == "instance_variable":
            self._store_field(syntax.text_of(target).lstrip("@"), value, line)
        elif target.type in syntax.MEMBERS:
            owner, name = syntax.member(target)
            if owner is not None and self._is_self(owner):
                self._store_field(name, value, line)
            elif owner is not None:
                self._store(owner, value, keeps_old=True)
        elif target.type in syntax.ELEMENTS and target.named_child_count:
            first = target.named_child(0)
            if first is not None:
                self._store(first, value, keeps_old=True)
        elif target.type in syntax.NAMES and self._is_member_here(target):
            self._store_field(syntax.text_of(target), value, line)
        else:
            for name in syntax.bound_names(target):
                self._bind(name, value, keeps_old=keeps_old)
                if self._is_file or (name in self._globals and keeps_old):
                    self._emit(value, ValueSink("variable", name), line)

    def _is_member_here(self, target: Node) -> bool:
        """Whether a bare name on the left is a field, because nothing declares it here."""
        declares = target.parent is not None and target.parent.type != "assignment_expression"
        plain = self._language.implicit_self and self._language.name != "ruby"
        return plain and not declares and syntax.text_of(target) not in self._env

    def _store_field(self, name: str, value: _Origins, line: int) -> None:
        key = f"{SELF}.{name}"
        self._env[key] = value | ({ValueOrigin("local", name)} if name == self._watched else _NONE)
        self._emit(self._env[key], ValueSink("field", name), line)

    # -- Control flow -----------------------------------------------------------------------------

    def _branch(self, node: Node) -> _Origins:
        """Each alternative starts from the same state; afterwards the states are merged."""
        matched = self._matched
        found: _Origins = _NONE
        after: list[_Env] = []
        condition = syntax.condition(node)
        for child in node.named_children:
            before = dict(self._env)
            value = self._value(child)
            if node.type in syntax.MATCHES and not after and child.type not in syntax.ALTERNATIVES:
                self._matched = value
                alias = node.child_by_field_name("alias")
                for name in syntax.bound_names(alias) if alias is not None else ():
                    self._bind(name, value)
            elif child != condition:
                found |= value
            if child.type in syntax.ALTERNATIVES:
                after.append(self._env)
                self._env = before
        for env in after:
            self._merge(env)
        self._matched = matched
        return found

    def _merge(self, env: _Env) -> None:
        for name, origins in env.items():
            self._env[name] = self._env.get(name, _NONE) | origins

    def _loop(self, node: Node) -> _Origins:
        target, source = (
            syntax.assignment_sides(node) if node.type in syntax.ITERATIONS else (None, None)
        )
        body = node.child_by_field_name("body")
        iterates = target is not None and source is not None and body not in (target, source)
        before = dict(self._env)
        for _ in range(2):
            if iterates and target is not None and source is not None:
                self._assign(target, source, self._value(source), keeps_old=False)
                self._value(body)
            else:
                self._all(node.named_children)
        self._merge(before)
        return _NONE

    def _pattern(self, node: Node) -> _Origins:
        for name in syntax.bound_names(node):
            self._bind(name, self._matched)
        return _NONE

    def _comprehension(self, node: Node) -> _Origins:
        """The clauses come after the element, but bind its variables."""
        before = dict(self._env)
        clauses = [c for c in node.named_children if c.type in ("for_in_clause", "if_clause")]
        self._all(clauses)
        value = self._value(node.child_by_field_name("body"))
        self._env = before
        return value

    def _return(self, node: Node) -> _Origins:
        value = self._all(node.named_children)
        if self._closures:
            self._closures[-1].update(value)
        else:
            self.returns_value = self.returns_value or node.named_child_count > 0
            self._emit(value, ValueSink("return"), node.start_point.row + 1)
        return value if node.type.startswith("yield") else _NONE

    def _closure(self, node: Node) -> _Origins:
        """A nested function sees the enclosing variables. Its value is what it returns."""
        before, closure_arguments = dict(self._env), self._closure_arguments
        self._closure_arguments = _NONE
        for names in syntax.parameters(node):
            for name in names:
                self._bind(name, closure_arguments)
        self._closures.append(set())
        last = self._value(node.child_by_field_name("body"))
        given = frozenset(self._closures.pop())
        self._env, self._closure_arguments = before, closure_arguments
        name = node.child_by_field_name("name")
        if node.type in syntax.NESTED and name is not None:
            self._bind(syntax.text_of(name), given)
            return _NONE
        return given | (
            last if self._returns_last_expression() or node.type.startswith("lambda") else _NONE
        )

    # -- Calls ------------------------------------------------------------------------------------

    def _callee(self, node: Node) -> str | None:
        """The callee as written; None if it has no name."""
        if node.type not in self._language.call_fields:
            called = syntax.callee(node)
            return self._calls.get(called.id) if called is not None else None
        return self._calls.get(node.id)

    def _call(self, node: Node, callee: str) -> _Origins:
        line = node.start_point.row + 1
        if node.id not in self._numbers:
            self._numbers[node.id] = len(self.call_sites)
            self.call_sites.append(_CallSite(callee, line))
        number = self._numbers[node.id]
        receiver = self._receiver(node)
        self._emit(receiver, ValueSink("argument", RECEIVER, number), line)
        given = self._arguments(node, number, receiver)
        holder, _, verb = callee.rpartition(".")
        if verb.lower() in _STORING_METHODS and holder in self._env:
            self._bind(holder, given, keeps_old=True)
        return frozenset({ValueOrigin("result", str(number))})

    def _receiver(self, node: Node) -> _Origins:
        function = syntax.first_field(node, ("function", "receiver", "object"))
        if function is None or function.type in syntax.NAMES:
            named = function is not None and node.type in ("call", "method_invocation")
            is_owner = named and node.child_by_field_name("function") is None
            return self._object(function) if is_owner or "member" in node.type else _NONE
        if function.type == "generic_function":
            function = syntax.first_field(function, ("function",)) or function
        if function.type in syntax.MEMBERS:
            function = syntax.member(function)[0]
        return self._object(function)

    def _object(self, node: Node | None) -> _Origins:
        """The receiver of a method call; a call on `self` moves nothing."""
        return _NONE if node is None or self._is_self(node) else self._value(node)

    def _arguments(self, node: Node, number: int, receiver: _Origins) -> _Origins:
        """Record the moves into the arguments. Returns their origins."""
        closure_arguments = self._closure_arguments
        given: _Origins = _NONE
        self._closure_arguments = receiver
        waiting: list[tuple[str, Node]] = []
        for position, (key, value) in enumerate(syntax.arguments(node)):
            if value.type in syntax.CLOSURES or value.type == "block":
                waiting.append((key or str(position), value))
                continue
            origins = self._value(value)
            self._closure_arguments |= origins
            given |= origins
            self._emit(origins, ValueSink("argument", key or str(position), number), _line(value))
        for key, value in waiting:
            closure = self._closure(value)
            self._emit(closure, ValueSink("argument", key, number), _line(value))
        self._closure_arguments = closure_arguments
        return given


_LISTS = frozenset(
    "pattern_list tuple_pattern expression_list tuple list left_assignment_list"
    " right_assignment_list array_pattern list_pattern tuple_expression array".split()
)
_STORING_METHODS = frozenset(
    "append add push extend update insert put set write unshift push_back push_str emplace_back"
    " addall addrange setdefault enqueue prepend".split()
)
"""Container methods that store their arguments."""


def _is_list(node: Node) -> bool:
    return node.type in _LISTS


def _line(node: Node) -> int:
    return node.start_point.row + 1

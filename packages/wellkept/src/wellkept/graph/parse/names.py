"""Reads names and types as written: dotted names, variables, return types.

Works on one file. A type is its first name that is not a wrapper (`Optional[Cart]` is a `Cart`).
The type of a call result is the called name; it is resolved when edges are built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wellkept.graph.parse.file_facts import UNKNOWN
from wellkept.graph.parse.language import Language

if TYPE_CHECKING:
    from tree_sitter import Node

_DOTTED = re.compile(r"[\w$@]+(?:\.[\w$@]+)*")
_PLAIN = re.compile(r"\w+(?:\.\w+)*")
_LAST = re.compile(r"\.([\w$]+)$")
_TYPE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_LIFETIME = re.compile(r"&\s*'\w+\s")
_CALLS = frozenset(
    "call call_expression new_expression object_creation_expression method_invocation"
    " invocation_expression composite_literal struct_expression member_call_expression"
    " scoped_call_expression function_call_expression".split()
)
_CALLED = ("function", "constructor", "type")
_TRANSPARENT = frozenset(
    "await await_expression try_expression parenthesized_expression expression_list"
    " unary_expression reference_expression".split()
)
"""Nodes whose type is that of the inner node."""
_INFERRED = frozenset({"var", "auto", "let", "val"})
_BUILTIN_TYPES = frozenset(
    "None str int bool float bytes dict list tuple set object Any void string number boolean error"
    " usize byte char long double unknown any never null undefined true false".split()
)
"""Types without members in the source tree."""
_MAX_NAME, _MAX_TYPE = 300, 200
_USUAL_FIELDS = ("name", ["type"])


class NameReader:
    """Reads names and types from the nodes of one file."""

    def __init__(self, source: bytes, language: Language) -> None:
        self._source = source
        self._language = language
        self._call_fields = language.call_fields
        self._binding_fields = {
            kind: (name, types.split("|"))
            for kind, (name, types) in language.binding_fields.items()
        }
        self._dotted: dict[bytes, str] = {}

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def dotted(self, node: Node) -> str:
        """A dotted name; `?.last` if the receiver is an expression."""
        fields = self._call_fields.get(node.type) if self._call_fields else None
        if fields is not None:
            return self._called(*(node.child_by_field_name(f) for f in fields))
        start, end = node.start_byte, node.end_byte
        if end - start > _MAX_NAME:
            text = self._source[end - _MAX_NAME : end]
            return dotted("[]" + text.decode("utf-8", "ignore"), self._language)
        written = self._source[start:end]
        name = self._dotted.get(written)
        if name is None:  # most names occur more than once
            name = dotted(written.decode("utf-8", "replace"), self._language)
            self._dotted[written] = name
        return name

    def _called(self, receiver: Node | None, name: Node | None) -> str:
        """A call whose receiver and name are separate nodes; `Cart.new` calls `Cart`."""
        if name is None:
            return ""
        if receiver is None:
            return dotted(self.text(name), self._language)
        before, last = self.dotted(receiver), self.text(name)
        return before if before and last == "new" else f"{before or UNKNOWN}.{last}"

    def variable(self, node: Node) -> tuple[str, str]:
        """The name of a variable, and its type as written or the call that created it."""
        name_field, type_fields = self._binding_fields.get(node.type, _USUAL_FIELDS)
        holder = _child(node, name_field)
        if holder is None:
            return "", ""
        if holder.type == "expression_list":  # of several variables, the first
            holder = holder.named_child(0) or holder
        type_ = ""
        for type_field in type_fields:
            type_node = _child(node, type_field)
            if type_node is not None:
                type_ = self.type(type_node)
                break
        if type_ in _INFERRED:
            # The type of a declarator's initial value.
            value = holder.child_by_field_name("value")
            if value is None and holder.named_child_count > 1:
                value = holder.named_child(holder.named_child_count - 1)
            type_ = self.type(value) if value is not None else ""
        named = holder.child_by_field_name("name") or holder
        return dotted(self.text(named), self._language), type_

    def returned(self, function: Node) -> str:
        """The declared return type of a function."""
        field = self._language.return_field
        type_node = function.child_by_field_name(field) if field else None
        return self.type(type_node) if type_node is not None else ""

    def type(self, node: Node) -> str:
        """The type in a node, or the name it calls."""
        while node.type in _TRANSPARENT and node.named_child_count:
            node = node.named_child(0) or node
        if node.type in _CALLS:
            return self._constructor(node)
        text = self._source[node.start_byte : min(node.end_byte, node.start_byte + _MAX_TYPE)]
        wrappers = self._language.type_wrappers
        for found in _TYPE.finditer(_LIFETIME.sub("&", text.decode("utf-8", "replace"))):
            name = dotted(found.group(), self._language)
            if name.rpartition(".")[2] not in wrappers:
                return "" if name in _BUILTIN_TYPES else name
        return ""

    def _constructor(self, call: Node) -> str:
        if call.type in self._language.call_fields:
            name = self.dotted(call)
        else:
            called = next((c for f in _CALLED if (c := call.child_by_field_name(f))), None)
            name = self.dotted(called or call.named_child(0) or call)
        return "" if name.startswith(UNKNOWN) else name


def _child(node: Node, name: str) -> Node | None:
    """A child by field name or number; -1 is the last."""
    if name[-1] in "0123456789":
        index = int(name)
        return node.named_child(index if index >= 0 else node.named_child_count + index)
    return node.child_by_field_name(name)


def dotted(text: str, language: Language) -> str:
    """A written name as a dotted name; `?.last` if it does not start with a name.

    Calls are dropped: `take().run` is `take.run`.
    """
    if text.isidentifier():
        return text
    if _PLAIN.fullmatch(text):
        return text
    for pattern, replacement in language.rewrites:
        text = pattern.sub(replacement, text)
    while "(" in text[1:] and (shorter := _ARGUMENTS.sub("", text)) != text:
        text = shorter
    if _DOTTED.fullmatch(text):
        return text
    last = _LAST.search(text)
    return f"{UNKNOWN}.{last.group(1)}" if last else ""

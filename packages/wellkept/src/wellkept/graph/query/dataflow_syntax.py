"""Syntax node types that matter for data flow, and accessors for them.

Grammars use similar names, so one table serves all languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

NAMES: Final = frozenset(
    "identifier variable_name shorthand_property_identifier shorthand_property_identifier_pattern"
    " constant".split()
)
SELVES: Final = frozenset({"this", "self"})
MEMBERS: Final = frozenset(
    "attribute member_expression selector_expression field_expression field_access"
    " member_access_expression nullsafe_member_access_expression".split()
)
ELEMENTS: Final = frozenset(
    "subscript subscript_expression index_expression element_access_expression array_access"
    " element_reference".split()
)
ASSIGNMENTS: Final = frozenset(
    "assignment assignment_expression assignment_statement named_expression variable_declarator"
    " short_var_declaration var_spec const_spec let_declaration let_condition init_declarator"
    " range_clause as_pattern for_in_clause".split()
)
AUGMENTED_ASSIGNMENTS: Final = frozenset(
    "augmented_assignment augmented_assignment_expression compound_assignment_expr"
    " operator_assignment".split()
)
"""Assignments that keep the old value."""
ITERATIONS: Final = frozenset(
    "for_statement for_in_statement enhanced_for_statement foreach_statement for_range_loop"
    " for_expression for".split()
)
LOOPS: Final = ITERATIONS | frozenset(
    "while_statement do_statement while_expression loop_expression while until".split()
)
ALTERNATIVES: Final = frozenset(
    "block statement_block compound_statement elif_clause else_clause case_clause switch_case"
    " switch_default match_arm except_clause catch_clause finally_clause then else elsif when"
    " rescue ensure expression_case default_case type_case communication_case switch_section"
    " switch_block_statement_group switch_rule in_clause".split()
)
"""Parts of a branch, of which not all run."""
BODIES: Final = ALTERNATIVES | {"body_statement", "block_body"}
"""Sequences of statements. If they have a value, it is that of the last statement."""
BRANCHES: Final = frozenset(
    "if_statement if_expression elif_clause else_clause switch_statement switch_expression"
    " switch_body switch_block match_statement match_expression match_block try_statement"
    " conditional_expression ternary_expression expression_switch_statement"
    " type_switch_statement select_statement if unless case begin conditional elsif".split()
)
MATCHES: Final = frozenset({"match_statement", "match_expression", "type_switch_statement", "case"})
RETURNS: Final = frozenset(
    "return_statement return_expression return yield yield_expression yield_statement".split()
)
CLOSURES: Final = frozenset(
    "lambda arrow_function function_expression function closure_expression func_literal"
    " lambda_expression anonymous_method_expression anonymous_function"
    " anonymous_function_creation_expression do_block generator_function".split()
)
NESTED: Final = frozenset(
    "function_definition function_declaration generator_function_declaration function_item"
    " local_function_statement".split()
)
CALLS: Final = frozenset(
    "call call_expression new_expression invocation_expression object_creation_expression"
    " composite_literal struct_expression function_call_expression jsx_opening_element"
    " jsx_self_closing_element".split()
)
COMPREHENSIONS: Final = frozenset(
    "list_comprehension set_comprehension dictionary_comprehension generator_expression".split()
)
PATTERNS: Final = frozenset({"match_pattern", "case_pattern"})
NO_VALUES: Final = frozenset(
    "type type_annotation type_arguments type_parameters comment line_comment block_comment"
    " generic_type type_identifier primitive_type decorator string_content type_list"
    " jsx_closing_element".split()
)
"""Nodes without values; skipped."""
OPERATIONS: Final = frozenset({"comparison_operator", "binary_expression", "binary"})
COMPARISONS: Final = frozenset(
    {"==", "!=", "<", ">", "<=", ">=", "===", "!==", "instanceof", "in", "not in", "is", "is not"}
)
"""The result of a comparison does not carry the compared values."""

SPREAD: Final = "*"
"""Name of an argument that may be passed to any parameter."""
_KEYED = frozenset(
    "keyword_argument pair jsx_attribute field_initializer keyed_element named_argument".split()
)
_SPREAD = frozenset("list_splat dictionary_splat spread_element splat_argument".split())
_TARGETS = ("left", "pattern", "name", "declarator", "alias")
_SOURCES = ("right", "value")
_OWNERS = ("object", "operand", "value", "argument", "expression")
_MEMBER_NAMES = ("attribute", "property", "field", "name")


def first_field(node: Node, fields: tuple[str, ...]) -> Node | None:
    """The child in the first of these fields that exists."""
    return next((c for f in fields if (c := node.child_by_field_name(f)) is not None), None)


def callee(call: Node) -> Node | None:
    """The called expression. Searched downwards: `Node.parent` costs time proportional to depth."""
    found = first_field(call, ("function", "constructor", "type", "name")) or call.named_child(0)
    if found is not None and found.type == "generic_function":
        return found.child_by_field_name("function")
    return found


def assignment_sides(node: Node) -> tuple[Node | None, Node | None]:
    """Target and source of an assignment."""
    target, source = first_field(node, _TARGETS), first_field(node, _SOURCES)
    if source is None and node.named_child_count > 1:
        # `expression as name` has its value first, a C# declaration last.
        source = node.named_child(0 if node.type == "as_pattern" else node.named_child_count - 1)
    if target is None and node.type == "foreach_statement" and node.named_child_count > 1:
        return node.named_child(1), node.named_child(0)
    return target, source if source != target else None


def condition(branch: Node) -> Node | None:
    """The condition of a branch; in the middle of Python's `this if condition else that`."""
    if branch.type == "conditional_expression" and branch.child_by_field_name("condition") is None:
        return branch.named_child(1)
    return branch.child_by_field_name("condition")


def member(node: Node) -> tuple[Node | None, str]:
    """The owner and the name of a member."""
    owner, name = first_field(node, _OWNERS), first_field(node, _MEMBER_NAMES)
    if owner is None and node.child_count:
        owner = node.child(0)
    return owner, text_of(name) if name is not None else ""


def text_of(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace").lstrip("$")


def bound_names(node: Node) -> Iterator[str]:
    """The variables that a pattern binds."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.type in NAMES:
            yield text_of(part)
        elif part.type not in NO_VALUES and part.type not in MEMBERS:
            fields = ("type", "key", "value") if "parameter" in part.type else ("type", "key")
            skip = {c.id for field in fields for c in part.children_by_field_name(field)}
            waiting.extend(c for c in reversed(part.named_children) if c.id not in skip)


def function_node(node: Node) -> Node:
    """The function node itself, if the node is a variable or field holding it."""
    if node.child_by_field_name("parameters") is None:
        value = first_field(node, ("value", "right"))
        if value is not None and value.type in CLOSURES:
            return value
    return node


def return_type(function: Node) -> str:
    """The declared return type, as written; empty if there is none."""
    found = first_field(function_node(function), ("return_type", "result", "returns", "type"))
    return text_of(found) if found is not None else ""


def parameter_list(function: Node) -> Node | None:
    """The parameter list of a function."""
    found = first_field(function, ("parameters", "parameter"))
    declarator = function.child_by_field_name("declarator")
    while found is None and declarator is not None:
        found = declarator.child_by_field_name("parameters")
        declarator = declarator.child_by_field_name("declarator")
    return found


def parameters(function: Node) -> list[tuple[str, ...]]:
    """Names of each parameter; several if it is destructured."""
    listed = parameter_list(function)
    if listed is None:
        return []
    if listed.type in NAMES:
        return [(text_of(listed),)]
    found: list[tuple[str, ...]] = []
    for child in listed.named_children:
        several = child.children_by_field_name("name")
        if len(several) > 1:  # a, b int
            found.extend((text_of(one),) for one in several)
            continue
        holder = first_field(child, ("name", "pattern", "declarator")) or child
        names = ("self",) if child.type == "self_parameter" else tuple(bound_names(holder))
        if names:
            found.append(names)
    return found


def arguments(call: Node) -> Iterator[tuple[str, Node]]:
    """The arguments of a call: the keyword, if any, and the value."""
    listed = first_field(call, ("arguments", "body")) or next(
        (child for child in call.named_children if child.type == "arguments"), None
    )
    children = listed.named_children if listed is not None else call.children_by_field_name(
        "attribute"
    )  # fmt: skip
    for child in children:
        yield _argument(child)
    block = call.child_by_field_name("block")
    if block is not None:
        yield "", block


def _argument(node: Node) -> tuple[str, Node]:
    if node.type in _SPREAD or (node.type == "jsx_expression" and node.named_child_count):
        return SPREAD, node
    if node.type == "shorthand_field_initializer":
        return text_of(node), node.named_children[0]
    if node.type in _KEYED and node.named_child_count > 1:
        return text_of(node.named_children[0]).strip(":"), node.named_children[-1]
    if node.type == "argument" and node.named_child_count:
        name = node.child_by_field_name("name")
        return (text_of(name) if name is not None else ""), node.named_children[-1]
    return "", node

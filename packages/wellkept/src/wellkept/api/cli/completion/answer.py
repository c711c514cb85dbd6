"""What a shell offers at a Tab: commands, options, choices, ids and names.

The shell passes the line up to the cursor. Printed is one suggestion a line, with a tab and its
description where the shell shows one; `:file` and `:dir` tell the shell to complete paths itself.
"""

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SHELL_VARIABLE = "_WELLKEPT_COMPLETE"
LINE_VARIABLE = "_WELLKEPT_LINE"
TABLE = os.path.join(os.path.dirname(__file__), "table.json")
PATHS = ("file", "dir")
# bash parts words at these, and expects only what follows the last of them.
_BASH_BREAKS = ":="
_MAX_HELP_CHARS = 80
_UNKNOWN: "dict[str, Any]" = {"options": {}, "arguments": [], "more": False}

Suggestion = tuple[str, str]


def main(environment: "Mapping[str, str]") -> None:
    """Print the suggestions for a line; nothing at all when anything goes wrong."""
    try:
        shell, line = environment[SHELL_VARIABLE], environment.get(LINE_VARIABLE, "")
        words, current = split_line(line)
        found = suggestions(words, current, environment)
        text = "".join(f"{_formatted(shell, current, one)}\n" for one in found)
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except Exception:
        if "WELLKEPT_DEBUG" in environment:
            raise


def split_line(line: str) -> tuple[list[str], str]:
    """The finished words after the program's name, and the word at the cursor.

    Quotes and backslashes count as in a shell; an open quote belongs to the last word.
    """
    words, word, quote, is_open = list[str](), "", "", False
    characters = iter(line)
    for character in characters:
        if character == "\\" and quote != "'":
            word, is_open = word + next(characters, ""), True
        elif quote:
            quote = "" if character == quote else quote
            word += character if quote else ""
        elif character in "'\"":
            quote, is_open = character, True
        elif character.isspace():
            if is_open:
                words.append(word)
            word, is_open = "", False
        else:
            word, is_open = word + character, True
    return words[1:], word if words else ""


def suggestions(
    words: list[str], current: str, environment: "Mapping[str, str]"
) -> list[Suggestion]:
    """What may stand at the cursor."""
    node, option, place = _position(words)
    options: dict[str, dict[str, Any]] = node["options"]
    if option is not None:
        return _values(options[option].get("value"), current, environment)
    name, equals, value = current.partition("=")
    if equals and name in options:
        found = _values(options[name].get("value"), value, environment)
        return [(one if one[:1] == ":" else f"{name}={one}", text) for one, text in found]
    if current.startswith("-") and "--" not in words:
        named = ((one, known.get("help", "")) for one, known in options.items())
        return [one for one in named if _is_offered(one[0], current) and one[0] not in words]
    if node.get("commands"):
        inner: dict[str, dict[str, Any]] = node["commands"]
        commands = ((one, str(known["help"])) for one, known in inner.items())
        return [one for one in commands if one[0].startswith(current)]
    kinds: list[Any] = node["arguments"]
    if place >= len(kinds) and not (kinds and node["more"]):
        return []
    return _values(kinds[min(place, len(kinds) - 1)], current, environment)


def _position(words: list[str]) -> "tuple[dict[str, Any], str | None, int]":
    """The command that a line has come to, the option that waits for its value, and how many
    arguments the command has."""
    with open(TABLE, encoding="utf-8") as file:
        node: dict[str, Any] = json.load(file)
    option: str | None = None
    place, only_arguments = 0, False
    for word in words:
        if option is not None:
            option = None
        elif word == "--":
            only_arguments = True
        elif word.startswith("-") and not only_arguments:
            options: dict[str, dict[str, Any]] = node["options"]
            option = word if "value" in options.get(word, {}) else None
        elif node.get("commands"):
            inner: dict[str, dict[str, Any]] = node["commands"]
            node = inner.get(word, _UNKNOWN)
        else:
            place += 1
    return node, option, place


def _is_offered(option: str, current: str) -> bool:
    """Short options are offered to somebody who typed one dash, never instead of the long ones."""
    return option.startswith(current) and (option.startswith("--") or current == "-")


def _values(
    kind: "str | list[str] | None", current: str, environment: "Mapping[str, str]"
) -> list[Suggestion]:
    if isinstance(kind, list):
        return [(one, "") for one in kind if one.startswith(current)]
    if kind in PATHS:
        return [(f":{kind}", "")]
    if not kind:
        return []
    from wellkept.api.views.completion_names import names

    return names(kind, current, environment)


def _formatted(shell: str, current: str, suggestion: Suggestion) -> str:
    value, text = suggestion
    if value[:1] == ":":
        return value
    text = " ".join(text.split())[:_MAX_HELP_CHARS]
    if shell == "bash":
        return value[max(current.rfind(mark) for mark in _BASH_BREAKS) + 1 :]
    if shell == "zsh":
        return f"{value.replace(':', chr(92) + ':')}:{text}"
    return f"{value}\t{text}" if text else value

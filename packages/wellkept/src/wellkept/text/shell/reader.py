"""Parse shell command lines: the simple commands of a line, and what each is for.

Parsing is done by tree-sitter-bash; nothing is run or expanded. Each simple command keeps its exact
source text, so nothing of a line is lost. Parsing never fails: text that has no usable syntax tree,
or would take too long to parse, becomes one command. What is not recognised is `Purpose.OTHER`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from wellkept.core.records import record
from wellkept.text.shell.purpose import Purpose, purpose_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_PARSED_CHARS = 16_000
# The parser takes quadratic time on many of these, above all where they make no sense.
_SLOW_SYNTAX = ("|", "=(", "${", "[", "@", "?", "<", ">", ":", ")", "`")
_MAX_SLOW_SYNTAX = 1_000
_MAX_IN_HEREDOCS = 3_000
_MAX_DEPTH = 60
_MAX_COMMANDS = 200

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(?P<end>\w+)\1")
_FIRST_WORD = re.compile(r"\s*(\w+)")
_INTERPRETER = re.compile(r"(?:python|node|ruby|bash|sh|php|perl|deno|bun|tsx|ts-node)[\d.]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_QUOTING = re.compile(
    r"'(?P<raw>[^']*)'|\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)|(?P<plain>[^'\"\\]+|.)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\([\"\\$`\n])")
_NOT_ASCII = re.compile(r"[^\x01-\x7f]")
_TOOL_FOLDER = re.compile(r"/(?:bin|node_modules|\.venv)/")
_REDIRECTION = re.compile(r"\d*[<>]+&?\d*\S*")
_UNKNOWN_FOLDER = re.compile(r"[$`*?]|^[-~]")
_STRICT = re.compile(r"\bset\s+-\w*e")
_WRAPPERS = frozenset("sudo env time nohup command exec xargs nice timeout stdbuf".split())
_RUNNERS = frozenset("npx bunx pnpx uvx pipx".split())
_RUN_PREFIXES = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"),
    ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("bundle", "exec"), ("rye", "run"),
    ("docker", "compose", "exec"),
)  # fmt: skip
_RUN_OPTIONS_WITH_VALUE = frozenset(
    "--extra --with --group --python -p --project --directory --env-file --package".split()
)
_PRINTING = frozenset("cat head tail less sed nl".split())


_COMMIT_LINE = re.compile(
    r"^\[(?P<branch>[^\s\]]+)(?: \([^)]*\))? (?P<sha>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M
)
_MADE_BY_COMMIT = re.compile(r"^ (?:create|delete) mode \d+ (?P<path>.+)$", re.M)
_MESSAGE_OPTION = re.compile(r"(?:-\w*m|--message)(?P<value>=.*)?", re.DOTALL)


@record(kw_only=True)
class ShellCommand:
    """One simple command of a command line.

    `text` is its exact source, with redirections and heredocs. `words` are the unquoted words after
    environment assignments and wrappers, the program without its tool folder. `environment` has
    also what the line set before it: `A=1 && make`, `export A=1; make`. `program` is the
    program as written. `folder` is the folder set by `cd`, `pushd` or `git -C`, relative to where
    the line starts; None when it cannot be known. `redirects` are (operator, target).
    `exit_counts` tells whether the whole line fails when this command does.
    """

    text: str
    words: tuple[str, ...]
    purpose: Purpose
    program: str
    environment: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    folder: str | None = ""
    redirects: tuple[tuple[str, str], ...] = ()
    heredoc: str | None = None
    exit_counts: bool = True

    @property
    def call(self) -> str:
        """The words on one line, for comparison and display."""
        return " ".join(self.words)

    @property
    def subject(self) -> str:
        """The program, with its subcommand if there is one; "tests" for every test run."""
        if self.purpose is Purpose.TEST:
            return "tests"
        plain = [word for word in self.words if not word.startswith("-")]
        has_subcommand = len(plain) > 1 and (
            re.fullmatch(r"[A-Za-z][\w:-]*", plain[1]) or _INTERPRETER.match(plain[0])
        )
        return " ".join(plain[:2]) if has_subcommand else self.words[0]


@record
class ParsedCommit:
    """A commit as git reported it."""

    subject: str
    branch: str | None
    sha: str | None
    body: str
    files: tuple[str, ...]


@lru_cache(maxsize=1024)
def parse_command(text: str) -> tuple[ShellCommand, ...]:
    """The simple commands of a command line, in source order. Never raises."""
    source = text[:MAX_PARSED_CHARS]
    if not source.strip():
        return ()
    found = () if _is_slow(source) else _parsed(source)
    return found or _as_one_command(source)


def main_command(commands: Sequence[ShellCommand]) -> ShellCommand | None:
    """The command that a line is about: the last one that does more than look."""
    doing = [command for command in commands if command.purpose is not Purpose.LOOK]
    return doing[-1] if doing else None


def files_shown(commands: Sequence[ShellCommand]) -> list[str]:
    """Files that a line prints, as seen from where the line starts."""
    return [
        _in_folder(command, word)
        for command in commands
        if command.words[0] in _PRINTING
        for word in command.words[1:]
        if re.fullmatch(r"[\w./@~-]*[\w-]\.\w{1,8}", word)
    ]


def files_written(commands: Sequence[ShellCommand]) -> list[tuple[str, str]]:
    """Files that a line writes from its own heredocs: (path, text)."""
    written: list[tuple[str, str]] = []
    for command in commands:
        if command.heredoc is None or command.words[0] not in ("cat", "tee"):
            continue
        targets = [target for operator, target in command.redirects if operator in (">", ">|")]
        if command.words[0] == "tee" and "-a" not in command.words:
            targets = [word for word in command.words[1:] if not word.startswith("-")]
        written += [(_in_folder(command, target), command.heredoc) for target in targets[:1]]
    return written


def read_commit(commands: Sequence[ShellCommand], output: str) -> ParsedCommit | None:
    """The last commit that a line made, from git's output or else from the message given."""
    lines = list(_COMMIT_LINE.finditer(output))
    message = _commit_message(commands)
    subject = lines[-1]["subject"].strip() if lines else message.split("\n", 1)[0].strip()
    if not subject:
        return None
    return ParsedCommit(
        subject=subject,
        branch=lines[-1]["branch"] if lines else None,
        sha=lines[-1]["sha"] if lines else None,
        body=message.partition("\n")[2].strip(),
        files=tuple(match["path"].strip() for match in _MADE_BY_COMMIT.finditer(output)),
    )


def _commit_message(commands: Sequence[ShellCommand]) -> str:
    made = [command for command in commands if command.purpose is Purpose.COMMIT]
    if not made:
        return ""
    commit, parts = made[-1], list[str]()
    words = iter(commit.words)
    for word in words:
        if option := _MESSAGE_OPTION.fullmatch(word):
            parts.append(option["value"][1:] if option["value"] else next(words, ""))
    return "\n\n".join(parts).strip() or (commit.heredoc or "").strip()


def _in_folder(command: ShellCommand, path: str) -> str:
    return posixpath.join(command.folder, path) if command.folder else path


# -- Reading the syntax tree ----------------------------------------------------------------------


@cache
def _parser() -> Parser:
    """Imported on first use: the hook process and most CLI commands read no command lines."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _parsed(source: str) -> tuple[ShellCommand, ...]:
    try:
        return tuple(_TreeReader(source).commands())
    except ImportError:
        # The hook process runs without site-packages; a line is read as one command there.
        return ()


def _is_slow(source: str) -> bool:
    marks = sum(map(source.count, _SLOW_SYNTAX))
    if marks <= _MAX_SLOW_SYNTAX or marks > _MAX_IN_HEREDOCS:
        return marks > _MAX_SLOW_SYNTAX
    return sum(map(_outside_heredocs(source).count, _SLOW_SYNTAX)) > _MAX_SLOW_SYNTAX


def _outside_heredocs(source: str) -> str:
    """The lines that are no heredoc; all of them when a heredoc does not end."""
    kept: list[str] = []
    end = ""
    for line in source.split("\n"):
        if not end:
            kept.append(line)
            end = found["end"] if (found := _HEREDOC.search(line)) else ""
        elif (word := _FIRST_WORD.match(line)) and word[1] == end:
            end = ""
    return source if end else "\n".join(kept)


class _TreeReader:
    """Reads the commands of one syntax tree in order, following `cd` on the way."""

    def __init__(self, source: str) -> None:
        self._text = source
        self._folder: str | None = ""
        self._folders: list[str | None] = []
        self._set: tuple[str, ...] = ()
        self._attached: dict[int, tuple[Node, Sequence[Node]]] = {}
        self._stops_on_error = _STRICT.search(source) is not None
        self._pipefail = "pipefail" in source

    def commands(self) -> list[ShellCommand]:
        # The grammar reads beyond its tables on letters outside ASCII, which ends the process.
        # With one byte for each of them, byte positions are also positions in the text.
        root = _parser().parse(_NOT_ASCII.sub("x", self._text).encode("ascii")).root_node
        found: list[ShellCommand] = []
        for command in self._walk(root, counts=True, depth=0):
            found.append(command)
            if len(found) >= _MAX_COMMANDS:
                break
        # A broken command is only kept whole as the text that it is.
        return found if len(found) > 1 or not root.has_error else []

    def _walk(self, node: Node, *, counts: bool, depth: int) -> Iterator[ShellCommand]:
        kind = node.type
        if depth > _MAX_DEPTH:
            return
        if kind in ("command", "declaration_command", "unset_command"):
            yield from self._simple(node, counts=counts)
        elif kind in ("variable_assignment", "variable_assignments"):
            named = node.named_children if kind == "variable_assignments" else [node]
            self._set += tuple(self._source(one) for one in named)
            yield from self._sequence(node, counts=counts, depth=depth)
        elif kind == "redirected_statement":
            yield from self._redirected(node, counts=counts, depth=depth)
        elif kind == "pipeline":
            parts = node.named_children
            for number, part in enumerate(parts):
                is_last = number == len(parts) - 1
                yield from self._walk(
                    part, counts=counts and (is_last or self._pipefail), depth=depth + 1
                )
        elif kind == "list":
            yield from self._list(node, counts=counts, depth=depth)
        elif kind == "subshell":
            outside = self._folder
            yield from self._sequence(node, counts=counts, depth=depth)
            self._folder = outside
        elif kind in ("test_command", "comment", "heredoc_body", "word", "string", "raw_string"):
            return
        else:
            yield from self._sequence(node, counts=counts, depth=depth)

    def _sequence(self, node: Node, *, counts: bool, depth: int) -> Iterator[ShellCommand]:
        """Commands one after the other: only the last one decides, unless errors stop the line."""
        children = node.children
        statements = [n for n, child in enumerate(children) if child.is_named]
        for n in statements:
            in_background = n + 1 < len(children) and children[n + 1].type == "&"
            decides = self._stops_on_error or n == statements[-1] or node.type == "ERROR"
            yield from self._walk(
                children[n], counts=counts and decides and not in_background, depth=depth + 1
            )

    def _list(self, node: Node, *, counts: bool, depth: int) -> Iterator[ShellCommand]:
        """`a && b` and `a || b`: what stands left of `||` may fail."""
        is_or = any(child.type == "||" for child in node.children)
        first, *rest = node.named_children
        yield from self._walk(first, counts=counts and not is_or, depth=depth + 1)
        for part in rest:
            yield from self._walk(part, counts=counts, depth=depth + 1)

    def _redirected(self, node: Node, *, counts: bool, depth: int) -> Iterator[ShellCommand]:
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        behind = {child.type for redirect in redirects for child in redirect.children}
        is_ignored = "||" in behind or ("pipeline" in behind and not self._pipefail)
        if body is not None:
            last = _last_command(body)
            self._attached[last.id] = (node, redirects)
            yield from self._walk(body, counts=counts and not is_ignored, depth=depth + 1)
        # The rest of a line after `<<EOF` is part of the heredoc node.
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                for part in redirect.named_children:
                    yield from self._walk(part, counts=counts, depth=depth + 1)

    def _simple(self, node: Node, *, counts: bool) -> Iterator[ShellCommand]:
        whole, redirects = self._attached.get(node.id, (node, ()))
        environment: list[str] = []
        words: list[str] = []
        targets: list[tuple[str, str]] = []
        heredoc: str | None = None
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment" and not words:
                environment.append(self._source(child))
            elif kind == "file_redirect":
                targets.append(self._target(child))
            elif kind != "herestring_redirect":
                words.append(self._word(child))
        for redirect in redirects:
            if redirect.type == "file_redirect":
                targets.append(self._target(redirect))
                words += [self._word(extra) for extra in redirect.named_children[2:]]
            elif redirect.type == "heredoc_redirect":
                heredoc = self._heredoc(redirect)
                extra = redirect.children_by_field_name("argument")
                words += [self._word(argument) for argument in extra]
                targets += [
                    self._target(part)
                    for part in redirect.named_children
                    if part.type == "file_redirect"
                ]
        plain, wrappers, program = _unwrapped(words)
        if not plain or not plain[0]:
            return
        yield ShellCommand(
            text=self._source(node, end=whole.end_byte).rstrip("\n"),
            words=plain,
            purpose=purpose_of(plain),
            program=program,
            environment=(*self._set, *environment),
            wrappers=wrappers,
            folder=self._folder_of(plain),
            redirects=tuple(targets),
            heredoc=heredoc,
            exit_counts=counts,
        )
        self._change_folder(plain)
        if plain[0] == "export":
            self._set += tuple(one for one in plain[1:] if _ASSIGNMENT.match(one))

    def _source(self, node: Node, *, end: int | None = None) -> str:
        return self._text[node.start_byte : node.end_byte if end is None else end]

    def _word(self, node: Node) -> str:
        text = self._source(node)
        if "<<" in text and (body := _descendant(node, "heredoc_body")) is not None:
            # `"$(cat <<EOF … EOF)"` stands for the text of the heredoc.
            return self._source(body).strip()
        return unquoted(text)

    def _target(self, node: Node) -> tuple[str, str]:
        operator = next((c.type for c in node.children if not c.is_named), ">")
        target = node.child_by_field_name("destination")
        return operator, self._word(target) if target is not None else ""

    def _heredoc(self, node: Node) -> str | None:
        body = next((c for c in node.children if c.type == "heredoc_body"), None)
        return self._source(body) if body is not None else ""

    def _folder_of(self, words: Sequence[str]) -> str | None:
        if words[0] == "git" and words[1:2] == ("-C",) and len(words) > 2:
            return self._joined(words[2])
        return self._folder

    def _joined(self, target: str) -> str | None:
        if self._folder is None and not target.startswith("/"):
            return None
        if not target or _UNKNOWN_FOLDER.search(target):
            return None
        return posixpath.normpath(posixpath.join(self._folder or "", target))

    def _change_folder(self, words: Sequence[str]) -> None:
        if words[0] == "popd":
            self._folder = self._folders.pop() if self._folders else None
        elif words[0] in ("cd", "pushd"):
            if words[0] == "pushd":
                self._folders.append(self._folder)
            named = [word for word in words[1:] if word not in ("-P", "-L", "--")]
            self._folder = self._joined(named[0]) if named else None


def unquoted(text: str) -> str:
    """A word without its quotes and escapes; expansions stay as written."""
    if "'" not in text and '"' not in text and "\\" not in text:
        return text
    parts: list[str] = []
    for match in _QUOTING.finditer(text):
        if (quoted := match["quoted"]) is not None:
            parts.append(_ESCAPE.sub(r"\1", quoted))
        else:
            parts.append(match["raw"] or match["escaped"] or match["plain"] or "")
    return "".join(parts)


def _last_command(node: Node) -> Node:
    """The command that redirections behind a list or pipeline belong to."""
    while node.type in ("list", "pipeline", "negated_command") and node.named_children:
        node = node.named_children[-1]
    return node


def _descendant(node: Node, kind: str) -> Node | None:
    rest = [(node, 0)]
    while rest:
        one, depth = rest.pop()
        if one.type == kind:
            return one
        if depth < _MAX_DEPTH:
            rest += [(child, depth + 1) for child in reversed(one.children)]
    return None


def _as_one_command(source: str) -> tuple[ShellCommand, ...]:
    words = [word for word in source.split() if not _REDIRECTION.fullmatch(word)]
    plain, wrappers, program = _unwrapped(words)
    if not plain or plain[0].startswith("#") or all(map(_ASSIGNMENT.match, plain)):
        return ()
    return (
        ShellCommand(
            text=source.strip(),
            words=plain,
            purpose=purpose_of(plain),
            program=program,
            wrappers=wrappers,
        ),
    )


def _unwrapped(given: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The words after assignments, wrappers and runners; these wrappers; the program as written."""
    words = list(given)
    wrappers: list[str] = []
    while words:
        count = _wrapper_length(words)
        if not count:
            break
        wrappers.append(" ".join(words[:count]))
        words = words[count:]
    program = words[0] if words else ""
    if "/" in program and _TOOL_FOLDER.search(program):
        words = [program.rsplit("/", 1)[-1], *words[1:]]
    return tuple(words), tuple(wrappers), program


def _wrapper_length(words: Sequence[str]) -> int:
    """How many words in front only say how the rest is run."""
    count = 1
    if _ASSIGNMENT.match(words[0]):
        return count
    if words[0] in _WRAPPERS:
        while count < len(words) and (
            words[count].startswith("-") or re.fullmatch(r"\d+[smh]?", words[count])
        ):
            count += 1
        return count
    if words[0] in _RUNNERS and len(words) > 1:
        return 2 if words[1].startswith("-") else 1
    prefix = next((p for p in _RUN_PREFIXES if tuple(words[: len(p)]) == p), None)
    if prefix is None:
        return 0
    count = len(prefix)
    while count < len(words) and words[count].startswith("-"):
        count += 2 if words[count] in _RUN_OPTIONS_WITH_VALUE else 1
    return count

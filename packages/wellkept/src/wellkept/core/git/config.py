"""Parses a git configuration file without git; the address of a remote as `host/path`.

Covers quoted and dotted subsections, quotes, escapes, comments and continued lines. Includes are
not followed: when `GitConfig.has_includes`, ask git itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wellkept.core.records import record

MAX_CONFIG_BYTES = 1_048_576

_SECTION = re.compile(
    r'\s*\[\s*(?P<name>[A-Za-z0-9.-]+)\s*+(?:"(?P<sub>(?:[^"\\]|\\.)*)")?\s*\](?P<rest>.*)',
    re.DOTALL,
)
_ENTRY = re.compile(r"\s*(?P<name>[A-Za-z][A-Za-z0-9-]*)\s*(?:=(?P<value>.*))?", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@record
class GitConfig:
    """Entries in file order as (section, subsection, name, value)."""

    entries: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def has_includes(self) -> bool:
        """Whether other files are included."""
        return any(section in {"include", "includeif"} for section, *_ in self.entries)

    def core(self, name: str) -> str:
        """The last `core` value of a name; empty without one."""
        values = [value for section, sub, entry, value in self.entries
                  if section == "core" and not sub and entry == name]  # fmt: skip
        return values[-1] if values else ""

    def remote_urls(self) -> dict[str, str]:
        """The fetch address of each remote: the first of its urls."""
        found: dict[str, str] = {}
        for section, subsection, name, value in self.entries:
            if section == "remote" and subsection and name == "url" and value:
                found.setdefault(subsection, value)
        return found


def read_config(path: Path) -> GitConfig:
    """The entries of a file; an unreadable or missing one has none."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_CONFIG_BYTES)
    except OSError:
        return GitConfig()
    return parse_config(raw.decode("utf-8", errors="replace"))


def parse_config(text: str) -> GitConfig:
    """The entries of a text; invalid lines are skipped."""
    entries: list[tuple[str, str, str, str]] = []
    section, subsection = "", ""
    for line in _logical_lines(text.removeprefix("\ufeff")):
        rest = line
        if match := _SECTION.match(line):
            section, subsection = _section(match)
            rest = match["rest"]
        entry = _ENTRY.match(rest)
        if section and entry:
            value = "true" if entry["value"] is None else _value(entry["value"])
            entries.append((section, subsection, entry["name"].lower(), value))
    return GitConfig(tuple(entries))


def _section(match: re.Match[str]) -> tuple[str, str]:
    name: str = match["name"]
    if match["sub"] is not None:
        return name.lower(), re.sub(r"\\(.)", r"\1", match["sub"])
    # The old form [remote.origin] folds the case of the subsection.
    head, _, tail = name.lower().partition(".")
    return head, tail


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with those that end in a backslash joined to the next."""
    pending = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _value(raw: str) -> str:
    """A value without quotes, escapes and comment; space at its ends goes, quoted space stays."""
    kept: list[str] = []
    solid = 0  # up to here the text must not be trimmed
    quoted = False
    characters = iter(raw.lstrip())
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            kept.append(_ESCAPES.get(following, following))
            solid = len(kept)
        elif character == '"':
            quoted = not quoted
            solid = len(kept)
        elif character in "#;" and not quoted:
            break
        else:
            kept.append(character)
            solid = len(kept) if quoted or not character.isspace() else solid
    return "".join(kept[:solid])


_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_SCP = re.compile(r"(?:(?P<user>[^/]*)@)?(?P<host>\[[^\]/]+\]|[^/:@\[\]]+):(?P<path>.*)", re.DOTALL)
_HELPER = re.compile(r"[A-Za-z0-9]+::(?P<address>.+)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:([\\/]|$)")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SCHEMES = frozenset("https http ssh git git+ssh ssh+git git+https git+http ftp ftps rsync".split())

# Second host names, for ssh through a firewall.
_SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
# Hosts whose paths are not case-sensitive.
_CASELESS = frozenset(
    "github.com gitlab.com bitbucket.org codeberg.org dev.azure.com git.sr.ht".split()
)


@record
class RemoteName:
    """`slug` names the repository for comparing ("host/owner/repo"); `title` is for people."""

    slug: str
    title: str


def read_remote(url: str) -> RemoteName | None:
    """The repository that a remote address names; None for a local path or nonsense."""
    url = url.strip()
    if _HIDDEN.search(url):
        return None
    if helper := _HELPER.fullmatch(url):
        return None if url.lower().startswith("ext::") else read_remote(helper["address"])
    found = _split(url)
    if found is None:
        return None
    host, path = found
    parts = _path_parts(path)
    if parts is None or not host:
        return None
    host = _SAME_HOST.get(host, host)
    parts = _azure_parts(parts) if host == "dev.azure.com" else parts
    if not parts:
        return None
    slug = "/".join(parts)
    return RemoteName(f"{host}/{slug.lower() if host in _CASELESS else slug}", parts[-1])


def is_shorthand(url: str) -> bool:
    """Whether an address looks like an abbreviation ("gh:owner/repo") that only git can expand."""
    if _URL.match(url) or _DRIVE.match(url) or (match := _SCP.fullmatch(url)) is None:
        return False
    return match["user"] is None and "." not in match["host"] and not match["host"].startswith("[")


def _split(url: str) -> tuple[str, str] | None:
    """Host and path of an address that leads to another machine."""
    if match := _URL.fullmatch(url):
        if match["scheme"].lower() not in _SCHEMES:
            return None
        authority, _, path = match["rest"].partition("/")
        path = re.split(r"[?#]", path, maxsplit=1)[0]
        return _host(authority.rpartition("@")[2]), path
    if _DRIVE.match(url) or "\\" in url:
        return None
    match = _SCP.fullmatch(url)
    return (_host(match["host"]), match["path"]) if match else None


def _host(text: str) -> str:
    """A host name without port, in lower case and without the root dot."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    return text.partition(":")[0].lower().rstrip(".")


def _path_parts(path: str) -> list[str] | None:
    """The steps of a path, decoded, without `.git`; None when it climbs out or hides something."""
    if "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    if _HIDDEN.search(path):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return None
    parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    # `owner/repo/.git` is the git folder of a plain checkout on a server.
    return parts[:-1] if parts[-1] == ".git" else parts


def _azure_parts(parts: list[str]) -> list[str]:
    """Azure writes v3/org/project/repo for ssh and org/project/_git/repo for https."""
    return [part for part in (parts[1:] if parts[0] == "v3" else parts) if part != "_git"]

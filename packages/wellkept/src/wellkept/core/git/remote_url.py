"""Normalizes the address of a git remote to `host/path`.

Invariant: all addresses of one repository (https, ssh, scp-like, with or without port, user,
password, `.git`, trailing slash) give the same name, without the user part. Pure string parsing.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from wellkept.core.records import record

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
    decoded = unquote(path)
    if _HIDDEN.search(decoded):
        return None
    parts = [part for part in decoded.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return None
    parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    # `owner/repo/.git` is the git folder of a plain checkout on a server.
    return parts[:-1] if parts[-1] == ".git" else parts


def _azure_parts(parts: list[str]) -> list[str]:
    """Azure writes v3/org/project/repo for ssh and org/project/_git/repo for https."""
    return [part for part in (parts[1:] if parts[0] == "v3" else parts) if part != "_git"]

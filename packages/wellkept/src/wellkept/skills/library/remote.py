"""Remote skills: fetched for inspection, and stored once the user accepted them.

Only `fetch` uses the network, and only the accepted document is used.
"""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.request
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from wellkept.core.errors import ConflictError, ProviderError, UsageError
from wellkept.core.records import record
from wellkept.core.skills import Skill, SkillFormat
from wellkept.skills.documents.fields import usable_name
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.sources.remote_copies import Pin, RemoteCopies

if TYPE_CHECKING:
    from wellkept.core.ports.skills import SkillFetcher


@record(kw_only=True)
class FetchedSkill:
    """A fetched document before it is accepted."""

    url: str
    sha256: str
    skill: Skill
    agreed_sha256: str | None
    """The hash that was accepted before for this URL, if any."""
    data: bytes

    @property
    def is_known(self) -> bool:
        """Whether exactly this document was accepted already."""
        return self.agreed_sha256 == self.sha256


class RemoteSkills:
    """Documents at URLs, and the copies of accepted ones."""

    def __init__(self, copies: RemoteCopies, fetcher: SkillFetcher | None = None) -> None:
        self._copies = copies
        self._fetcher = fetcher

    def fetch(self, url: str) -> FetchedSkill:
        """Fetch a document for inspection; nothing is stored."""
        require_safe(url)
        fetcher = self._fetcher or UrlFetcher()
        data = fetcher.fetch(url, limit_bytes=MAX_DOCUMENT_BYTES)
        accepted = self._copies.pins().get(url)
        source = self._copies.source
        skill = read_skill(data, source=source, format=SkillFormat.FULL, name=_name_of(url))
        return FetchedSkill(
            url=url,
            sha256=sha256_of(data).hexdigest(),
            skill=skill,
            agreed_sha256=accepted.sha256 if accepted else None,
            data=data,
        )

    def accept(self, offer: FetchedSkill, *, sha256: str | None, update: bool) -> None:
        """Store a fetched document; one that is not the expected one is refused."""
        if sha256 is not None and sha256.lower() != offer.sha256:
            raise ConflictError(
                f"{offer.url} has the hash {offer.sha256}, not {sha256}.",
                hint="The document changed; inspect it before you accept it.",
            )
        if offer.agreed_sha256 is not None and not offer.is_known and not update:
            raise ConflictError(
                f"{offer.url} differs from the accepted document.",
                hint="Inspect it, then accept it with --update.",
            )
        if not offer.skill.body:
            raise UsageError(f"{offer.url} is empty.")
        self._copies.keep(
            Pin(url=offer.url, sha256=offer.sha256, name=offer.skill.name), offer.data
        )

    def drop(self, skill: Skill, *, dry_run: bool) -> list[Path]:
        """Remove the copies of a skill; returns the files that were (or would be) removed."""
        pins = [pin for pin in self._copies.pins().values() if pin.name == skill.name]
        paths = [self._copies.path(pin) for pin in pins]
        for pin in pins if not dry_run else ():
            self._copies.drop(pin.url)
        return paths


def _name_of(url: str) -> str:
    """The name of a document at a URL: the folder of SKILL.md, or the file."""
    parts = [part for part in url.partition("://")[2].partition("?")[0].split("/") if part]
    last = parts[-1].removesuffix(".md") if parts else ""
    is_plain = last.lower() == "skill" and len(parts) > 1
    return usable_name(parts[-2] if is_plain else last) or "remote"


# -- The network ----------------------------------------------------------------------------------


TIMEOUT_S: Final = 30.0


class UrlFetcher:
    """HTTP(S) access for skills."""

    def __init__(self, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._opener = urllib.request.build_opener(SafeRedirectHandler)

    def fetch(self, url: str, *, limit_bytes: int) -> bytes:
        """The document at a URL."""
        require_safe(url)
        request = urllib.request.Request(url, headers={"User-Agent": "wellkept"})
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                data: bytes = answer.read(limit_bytes + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ProviderError(
                f"{url} could not be fetched: {_reason(error)}.", hint="Check the URL."
            ) from None
        if len(data) > limit_bytes:
            raise ProviderError(
                f"{url} is larger than {limit_bytes:,} bytes.",
                hint="Name the SKILL.md file itself.",
            )
        return data


class SafeRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to a URL that would be accepted directly."""

    def redirect_request(  # noqa: PLR0917 - the signature is urllib's
        self,
        req: urllib.request.Request,
        fp: object,
        code: int,
        msg: str,
        headers: object,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            require_safe(newurl)
            if req.type == "https" and not newurl.lower().startswith("https:"):
                raise UsageError("It leaves https.")  # to a service of this machine, say
        except UsageError as error:
            raise ValueError(f"it redirects to {newurl[:200]}. {error.message}") from None
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def require_safe(url: str) -> None:
    """Refuse anything but a plain https URL (or http to this machine)."""
    try:
        parts = urlsplit(url)
        host, user = parts.hostname or "", parts.username
    except ValueError:
        host, user, parts = "", None, None
    if parts is None or not host or user or any(ord(c) <= 32 for c in url):
        raise UsageError(f"{url[:200]!r} is not a document URL.", hint="Use https://host/SKILL.md.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise UsageError(f"{url[:200]!r} is not https.", hint="Use the https URL.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason).rstrip(".") or type(error).__name__

"""Speaks with a team's server: push, pull, what waits, decide. One request each, no retries.

A failure is a `ProviderError` with the status; `sync.py` says what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast
from urllib.parse import quote, urlsplit

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import record
from wellkept.core.team.records import TeamPolicy, policy_from_json
from wellkept.models.http import NO_RETRIES, Endpoint, get_json, post_json
from wellkept_team.sharing.team_entry import Pulled, PushItem, PushResult, TeamChange

TIMEOUT_S = 20.0
_NOT_FOUND = 404
_MAX_SKILLS = 500
_Record = TypeVar("_Record")


@record(kw_only=True)
class PushAnswer:
    """What became of a batch."""

    results: tuple[PushResult, ...]
    head: int
    log: str


@record(kw_only=True)
class PullAnswer:
    """One page of changes, and who the server takes this laptop for."""

    page: Pulled
    person: str
    role: str
    policy: TeamPolicy | None


class TeamConnection:
    """A connection to one project of a server."""

    def __init__(
        self, url: str, token: str, *, project: str, person: str, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._person = person
        self._endpoint = Endpoint(
            base_url=url,
            api_key=token,
            timeout_s=timeout_s,
            retries=NO_RETRIES,
            headers={"Wellkept-Project": quote(project, safe=":/@.-_")},
        )

    def pull(self, *, after: int, limit: int) -> PullAnswer:
        """What changed after a number."""
        answer = self._ask("pull", {"after": after, "limit": limit, "person": self._person})
        person, role = answer.pop("person", ""), answer.pop("role", "")
        policy = answer.pop("policy", None)
        return PullAnswer(
            page=_read(Pulled, answer),
            person=str(person),
            role=str(role),
            policy=policy_from_json(policy) if isinstance(policy, dict) else None,
        )

    def push(self, items: Sequence[PushItem]) -> PushAnswer:
        """Push a batch."""
        sent = [record_to_json(item) for item in items]
        answer = self._ask("push", {"items": sent, "person": self._person})
        read = _read(PushAnswer, answer)
        if [one.id for one in read.results] != [item.id for item in items]:
            raise _unusable("its results do not fit the batch")
        return read

    def waiting(self) -> tuple[TeamChange, ...]:
        """What waits for a decision."""
        answer = self._ask("waiting", {"person": self._person})
        found = answer.get("items")
        if not isinstance(found, list):
            raise _unusable("no list")
        return tuple(_read(TeamChange, cast("dict[str, Json]", one)) for one in found)

    def decide(self, ids: Sequence[str], *, holds: bool) -> tuple[PushResult, ...]:
        """A reviewer's yes or no."""
        body = {"ids": list(ids), "holds": holds, "person": self._person}
        found = self._ask("decide", body).get("results")
        if not isinstance(found, list):
            raise _unusable("no list")
        return tuple(_read(PushResult, cast("dict[str, Json]", one)) for one in found)

    def handoffs(self) -> dict[str, str]:
        """The hand-overs of branches."""
        found = self._ask("handoffs", {"person": self._person}).get("items")
        if not isinstance(found, dict):
            raise _unusable("no object")
        return {branch: str(text) for branch, text in found.items()}

    def managed_skills(self) -> dict[str, str]:
        """The skills that the organisation gives to everybody; none on a server of one person."""
        try:
            answer = _plainly(lambda: get_json(self._endpoint, "/api/team/skills"))
        except ProviderError as error:
            if error.status == _NOT_FOUND:
                return {}
            raise
        items = cast("dict[str, Json]", answer).get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise _unusable("no list")
        found = [one for one in items[:_MAX_SKILLS] if isinstance(one, dict)]
        return {str(one.get("name", "")): str(one.get("text", "")) for one in found}

    def rotate_token(self) -> str:
        """Exchange the token that is asked with for a new one; the old one ends at once."""
        answer = _plainly(lambda: post_json(self._endpoint, "/api/team/tokens/rotate", {}))
        token = cast("dict[str, Json]", answer).get("token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise _unusable("no token")
        return token

    def hand_over(self, text: str) -> None:
        """Send a hand-over."""
        self._ask("handoff", {"text": text, "person": self._person})

    def _ask(self, what: str, body: Mapping[str, object]) -> dict[str, Json]:
        answer = _plainly(lambda: post_json(self._endpoint, f"/api/sync/{what}", body))
        if not isinstance(answer, dict):
            raise _unusable("no object")
        return cast("dict[str, Json]", answer)


def checked_url(given: str) -> str:
    """The address of a server as it is kept: without a path, a password or a query."""
    parts = urlsplit(given.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise UsageError(
            f"{given!r} is not the address of a server.",
            hint="For example https://wellkept.example.com",
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _plainly(ask: Callable[[], object]) -> object:
    """The answer. The hint of a failure is about a team's server and not about a model's."""
    try:
        return ask()
    except ProviderError as error:
        raise ProviderError(
            error.message,
            hint=_hint(error.status),
            cause=error.cause,
            status=error.status,
            retry_after_s=error.retry_after_s,
        ) from error


def _hint(status: int | None) -> str:
    match status:
        case None:
            return "Check the address, and that the server is running."
        case 401:
            return "Use a token of yours that is valid; an administrator issues one."
        case 403:
            return "Ask an administrator for a role that suffices."
        case 404:
            return "Check that this is the address of a Wellkept server."
        case 429:
            return "The server asks to wait."
        case _:
            return "The server's log tells more."


def _read(kind: type[_Record], data: dict[str, Json]) -> _Record:
    try:
        return record_from_json(kind, data)
    except UsageError as error:
        raise _unusable(str(error)) from None


def _unusable(why: str) -> ProviderError:
    return ProviderError(
        f"The server's answer cannot be used: {why}.",
        hint="Check that it is a Wellkept server of a fitting version.",
        cause="answer",
    )

"""Runs the hooks of skills for an event.

A hook runs when its skill is in use in the session, the user trusts exactly this skill in this
folder, and its matcher fits the tool; a once-only hook runs once per session. Invariants: nothing
of an untrusted skill runs, not even its matcher; a hook that fails, hangs or floods is reported and
breaks nothing. Exit code 2, or a JSON answer, blocks, as in Claude Code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final, cast

from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.skills import HookRunLog, HookTrust
from wellkept.core.records import record
from wellkept.core.skills import HookEvent, Skill, SkillHook, SkillIndex
from wellkept.core.text import shorten
from wellkept.skills.hooks.process import HookRun, filtered_environment, run_command
from wellkept.skills.hooks.trust import fingerprint

TIMEOUT_S: Final = 60.0
MAX_TIMEOUT_S: Final = 600.0
MAX_STDIN_BYTES: Final = 1 << 20
MAX_TOOL_CHARS: Final = 200
MAX_SESSIONS: Final = 1_000
"""Sessions whose skills in use are remembered; the least recently used one is dropped first."""
BLOCKING_EXIT_CODE: Final = 2
_REASON_CHARS: Final = 2_000


class HookState(StrEnum):
    """Whether a hook may run."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    """Trusted earlier, but the skill changed since."""
    NEW = "new"
    UNREADABLE = "unreadable"
    """Its files are too many, too large or unreadable, so it cannot be trusted."""


class HookStatus(StrEnum):
    """The result of a hook."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    NOT_TRUSTED = "not_trusted"


@record
class ListedHook:
    """A hook as listed for the user."""

    skill: Skill
    hook: SkillHook
    state: HookState
    fingerprint: str | None
    """Pass it to `trust`, so that a later change is not trusted."""


@record(kw_only=True)
class _HookResult:
    """The result of one hook; `message` is for display."""

    skill: str
    hook: SkillHook
    status: HookStatus
    message: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    is_cut: bool = False


@record
class HookReport:
    """The results of an event. Blocked means: before a tool, do not run it; after one, tell the
    model; at a stop, continue."""

    results: tuple[_HookResult, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether any hook blocked."""
        return any(one.status is HookStatus.BLOCKED for one in self.results)

    @property
    def reason(self) -> str:
        """Why it is blocked; empty when it is not."""
        return "\n".join(one.message for one in self.results if one.status is HookStatus.BLOCKED)

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages for the user: hooks that failed or are not trusted."""
        fine = (HookStatus.DONE, HookStatus.BLOCKED)
        return tuple(one.message for one in self.results if one.status not in fine)


@record(kw_only=True)
class _HookCall:
    """One event, as passed to hooks."""

    event: HookEvent
    tool: str
    tool_input: Json
    tool_response: Json
    session: str


class SkillHooks:
    """The hooks of a project's skills."""

    def __init__(
        self,
        *,
        index: Callable[[], SkillIndex],
        root: Path,
        trust: HookTrust,
        ran: HookRunLog,
        environment: Mapping[str, str],
    ) -> None:
        self._index = index
        self._root = root
        self._trust = trust
        self._ran = ran
        self._environment = environment
        self._in_use: dict[str, dict[str, None]] = {}
        self._using = Lock()

    # -- Trust ------------------------------------------------------------------------------------

    def list(self) -> list[ListedHook]:
        """Every hook of the skills here, with whether it may run."""
        agreed = self._trust.trusted(self._root)
        prints = {skill.key: fingerprint(skill) for skill in self._index() if skill.hooks}
        return [
            ListedHook(
                skill, hook, _state(prints[skill.key], agreed.get(skill.key)), prints[skill.key]
            )
            for skill in self._index()
            for hook in skill.hooks
        ]

    def trust(self, *names: str, seen: Iterable[ListedHook] | None = None) -> list[Skill]:
        """Trust the hooks of these skills as they are now; without names, of all skills.

        With `seen`, a skill that changed since it was listed raises ConflictError.
        """
        chosen = self._with_hooks(names)
        prints = {skill.key: fingerprint(skill) for skill in chosen}
        listed = None if seen is None else {one.skill.key: one.fingerprint for one in seen}
        for skill in chosen:
            _require_same(skill, prints[skill.key], listed)
        for skill in chosen:
            self._trust.trust(self._root, skill.key, prints[skill.key])
        return chosen

    def untrust(self, *names: str) -> list[Skill]:
        """Remove trust; without names, all of this folder."""
        chosen = self._with_hooks(names) if names else []
        keys = [skill.key for skill in chosen] or [*self._trust.trusted(self._root)]
        for key in keys:
            self._trust.trust(self._root, key, None)
        return chosen

    def _with_hooks(self, names: Sequence[str]) -> list[Skill]:
        index = self._index()
        if not names:
            return [skill for skill in index if skill.hooks]
        found = [(name, index.get(name)) for name in names]
        for name, skill in found:
            if skill is None or not skill.hooks:
                raise UsageError(
                    f"No skill {name!r} with hooks.", hint="See `wellkept skill trust --dry-run`."
                )
        return [skill for _, skill in found if skill is not None]

    # -- Use --------------------------------------------------------------------------------------

    def use(self, name: str, *, session: str) -> None:
        """Activate the hooks of a skill in a session; running the skill does this."""
        with self._using:
            known = self._in_use.pop(session, {})
            self._in_use[session] = {**known, name: None}  # now the latest
            while len(self._in_use) > MAX_SESSIONS:
                del self._in_use[next(iter(self._in_use))]

    def in_use(self, session: str) -> tuple[str, ...]:
        """The skills that were run in a session, in order."""
        with self._using:
            return tuple(self._in_use.get(session, ()))

    def end(self, session: str) -> None:
        """The session ended."""
        with self._using:
            self._in_use.pop(session, None)

    def run(
        self,
        event: str,
        *,
        tool: str = "",
        tool_input: Json = None,
        tool_response: Json = None,
        session: str = "",
        skills: Iterable[str] | None = None,
    ) -> HookReport:
        """Run the hooks of an event, one after the other, in the project's folder.

        `skills` are the skills in use; None means those that were run in the session.
        """
        call = _HookCall(
            event=_event(event),
            tool=tool[:MAX_TOOL_CHARS],
            tool_input=tool_input,
            tool_response=tool_response,
            session=session,
        )
        names = self.in_use(session) if skills is None else tuple(skills)
        return HookReport(tuple(self._results(names, call)))

    def _results(self, names: Sequence[str], call: _HookCall) -> Iterator[_HookResult]:
        if not names:
            return
        index, agreed = self._index(), self._trust.trusted(self._root)
        for skill in filter(None, map(index.get, dict.fromkeys(names))):
            hooks = [hook for hook in skill.hooks if hook.event is call.event]
            if not (hooks and skill.enabled):
                continue
            state = _state(fingerprint(skill), agreed.get(skill.key))
            if state is not HookState.TRUSTED:
                yield _refused(skill, hooks[0], state)
                continue
            yield from self._run_all(skill, hooks, call)

    def _run_all(
        self, skill: Skill, hooks: Sequence[SkillHook], call: _HookCall
    ) -> Iterator[_HookResult]:
        for hook in hooks:
            if not _fits(hook, call):
                continue
            if hook.once and not self._ran.claim(call.session, _hook_id(skill, hook)):
                continue
            yield _result(skill, hook, self._run_one(skill, hook, call))

    def _run_one(self, skill: Skill, hook: SkillHook, call: _HookCall) -> HookRun:
        about = {
            "SKILL_NAME": skill.name,
            "SKILL_HOOK_EVENT": call.event.value,
            "SKILL_TOOL_NAME": call.tool.replace("\0", ""),
            "CLAUDE_PROJECT_DIR": str(self._root),
        }
        if skill.base_dir is not None:
            about["SKILL_DIR"] = about["CLAUDE_SKILL_DIR"] = str(skill.base_dir)
        return run_command(
            hook.command,
            cwd=self._root,
            environment=filtered_environment(self._environment) | about,
            stdin=_stdin(skill, call, self._root),
            timeout_s=min(hook.timeout_s or TIMEOUT_S, MAX_TIMEOUT_S),
        )


def _event(name: str) -> HookEvent:
    """The event with that name, in any spelling."""
    known = {event.value.lower(): event for event in HookEvent}
    found = known.get(name.replace("_", "").replace("-", "").lower())
    if found is None:
        raise UsageError(
            f"Unknown hook event {name[:40]!r}.", hint=f"One of: {', '.join(HookEvent)}."
        )
    return found


def _require_same(skill: Skill, now: str | None, listed: Mapping[str, str | None] | None) -> None:
    if now is None:
        raise UsageError(
            f"The files of {skill.name!r} cannot be read.",
            hint="A skill with hooks has at most 2,000 readable files and 64 MiB.",
        )
    if listed is not None and listed.get(skill.key) != now:
        raise ConflictError(
            f"The skill {skill.name!r} changed after it was listed.", hint="List the hooks again."
        )


def _state(now: str | None, known: str | None) -> HookState:
    if now is None:
        return HookState.UNREADABLE
    if known is None:
        return HookState.NEW
    return HookState.TRUSTED if known == now else HookState.CHANGED


def _fits(hook: SkillHook, call: _HookCall) -> bool:
    """Called for trusted skills only: a hostile pattern may never end."""
    if call.event is HookEvent.STOP or not hook.matcher:
        return True
    return re.fullmatch(hook.matcher, call.tool) is not None


def _hook_id(skill: Skill, hook: SkillHook) -> str:
    identity = "\0".join((skill.key, hook.event.value, hook.matcher, hook.command))
    return sha256(identity.encode("utf-8", "replace")).hexdigest()[:24]


def _stdin(skill: Skill, call: _HookCall, root: Path) -> bytes:
    """The event as JSON, in the format of Claude Code hooks."""
    payload: dict[str, Json] = {
        "session_id": call.session,
        "hook_event_name": call.event.value,
        "cwd": str(root),
        "skill": skill.name,
    }
    if call.event is not HookEvent.STOP:
        payload |= {"tool_name": call.tool, "tool_input": call.tool_input}
    if call.event is HookEvent.POST_TOOL_USE:
        payload["tool_response"] = call.tool_response
    data = json.dumps(payload).encode()
    if len(data) > MAX_STDIN_BYTES:
        shorter = {k: v for k, v in payload.items() if k not in ("tool_input", "tool_response")}
        data = json.dumps({**shorter, "is_cut": True}).encode()
    return data


# -- Results -------------------------------------------------------------------------------------


def _refused(skill: Skill, hook: SkillHook, state: HookState) -> _HookResult:
    why = {
        HookState.CHANGED: "changed since its hooks were trusted",
        HookState.UNREADABLE: "has files that cannot be read",
    }.get(state, "has hooks that are not trusted")
    return _HookResult(
        skill=skill.name,
        hook=hook,
        status=HookStatus.NOT_TRUSTED,
        message=f"The skill {skill.name} {why}: list them with `wellkept skill trust --dry-run`, "
        f"and allow them here with `wellkept skill trust {skill.name}`.",
    )


def _result(skill: Skill, hook: SkillHook, run: HookRun) -> _HookResult:
    status, message = _judged(run)
    if status not in (HookStatus.DONE, HookStatus.BLOCKED):
        message = f"The {hook.event.value} hook of the skill {skill.name} failed: {message}"
    return _HookResult(
        skill=skill.name,
        hook=hook,
        status=status,
        message=message,
        exit_code=run.exit_code,
        stdout=run.stdout,
        stderr=run.stderr,
        is_cut=run.is_cut,
    )


def _judged(run: HookRun) -> tuple[HookStatus, str]:
    """The status of a finished command, and the reason."""
    if run.problem is not None:
        return HookStatus.FAILED, run.problem
    if run.timed_out:
        return HookStatus.TIMED_OUT, "it timed out and was stopped."
    stderr = run.stderr.strip()
    if run.exit_code == BLOCKING_EXIT_CODE:
        return HookStatus.BLOCKED, shorten(stderr, limit=_REASON_CHARS) or "blocked by a hook"
    if run.exit_code:
        return HookStatus.FAILED, f"exit code {run.exit_code}. {shorten(stderr, limit=300)}".strip()
    reason = _refusal(run.stdout)
    if reason is not None:
        return HookStatus.BLOCKED, shorten(reason, limit=_REASON_CHARS) or "blocked by a hook"
    return HookStatus.DONE, ""


def _refusal(stdout: str) -> str | None:
    """The reason in a JSON answer that blocks; None for any other answer."""
    if not stdout.lstrip().startswith("{"):
        return None
    try:
        answer = cast("dict[str, Json]", json.loads(stdout))
    except (ValueError, RecursionError):
        return None
    if answer.get("decision") == "block":
        return str(answer.get("reason") or "")
    own = answer.get("hookSpecificOutput")
    if isinstance(own, dict) and own.get("permissionDecision") == "deny":
        return str(own.get("permissionDecisionReason") or "")
    return None

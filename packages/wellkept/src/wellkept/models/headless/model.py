"""One question to the user's own client, from a private folder, within a time limit.

The prompt goes to standard input. A zero-width space after `@` and `$` keeps clients from reading
files and skills into it, and a fixed first line from taking it for a command of theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from shutil import which

from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import ChatAnswer
from wellkept.core.records import replace
from wellkept.models.chat.text import SYSTEM_TEXT
from wellkept.models.headless.clients import HeadlessCall, HeadlessClient
from wellkept.models.headless.process import MAX_OUTPUT_BYTES, PrivateFolder, run_limited

SELF_VARIABLE = "WELLKEPT_SELF"
FIRST_LINE = "Answer the request below.\n\n"
TIME_LIMIT_S = 60.0
_CHECK_LIMIT_S = 10.0
_ZERO_WIDTH = "\u200b"
# What a client tells the programs it starts about itself; a client inside would act on it.
_NOT_PASSED_ON = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR"),
    *("CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI"),
    *("GEMINI_SESSION_ID", "OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "AGENT"),
)


class HeadlessModel:
    """A `ChatModel` that starts a client for each question."""

    def __init__(
        self,
        client: HeadlessClient,
        *,
        folder: Path,
        environment: Mapping[str, str],
        command: str | None = None,
        model: str | None = None,
        limit_s: float = TIME_LIMIT_S,
        max_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self._client = client
        self._folder = PrivateFolder(folder)
        self._environment = environment
        self._command = command
        self._model = model or client.usual_model(environment)
        self._limit_s = limit_s
        self._max_bytes = max_bytes
        self._is_logged_in = False

    @property
    def model_id(self) -> str:
        return f"{self._client.name}/{self._model or 'no model'}"

    @property
    def login(self) -> str:
        """A mark of the login files' times and sizes, and of keys in the environment."""
        marks = [f"{path}:{_file_mark(path)}" for path in self._files()]
        keys = sorted(item for item in self._environment.items() if item[0].endswith("_API_KEY"))
        return sha256(repr((marks, keys)).encode("utf-8", "replace")).hexdigest()[:16]

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        """The client's answer. ProviderError when it is missing, not logged in or fails."""
        self._refuse_inside_own_call()
        if self._model is None:
            raise ProviderError(
                f"{self._client.name} has no model to ask.",
                hint="Name one with `wellkept config set text_model.name`.",
            )
        program = self._program()
        self._folder.prepare()
        call = HeadlessCall(
            model=self._model,
            system=SYSTEM_TEXT,
            max_tokens=max_tokens,
            limit_s=self._limit_s,
            folder=self._folder,
            environment=self._environment,
        )
        self._check_login(program)
        line = self._client.command_line(call)
        with self._folder.empty_folder() as folder:
            try:
                done = run_limited(
                    (program, *line.arguments),
                    environment=self._child_environment() | dict(line.variables),
                    folder=folder,
                    given=as_input(prompt),
                    limit_s=self._limit_s,
                    max_bytes=self._max_bytes,
                    stop_after=self._client.is_done,
                )
            finally:
                self._client.clean_up(self._folder)
        if done.timed_out:
            raise self._failed(f"gave no answer within {self._limit_s:g} s", busy=True)
        if done.too_long:
            raise self._failed(f"printed more than {self._max_bytes:,} bytes", busy=False)
        answer = self._client.read(done)
        return replace(answer, text=answer.text.replace(_ZERO_WIDTH, ""))

    def check(self) -> None:
        """Check that the program is there and logged in; ProviderError when it is not."""
        self._check_login(self._program())

    def _refuse_inside_own_call(self) -> None:
        if self._environment.get(SELF_VARIABLE) or os.environ.get(SELF_VARIABLE):
            raise ProviderError(
                f"{SELF_VARIABLE} is set: a client that Wellkept started asks no further one.",
                cause="wait",
            )

    def _program(self) -> str:
        named = self._command or self._client.program
        found = which(named, path=self._environment.get("PATH"))
        if found is None:
            raise ProviderError(
                f"The program {named!r} was not found.",
                hint="Install the client, or name its program with `wellkept config set"
                " text_model.command`.",
            )
        return found

    def _check_login(self, program: str) -> None:
        if self._is_logged_in or not self._client.login_check:
            return
        self._folder.prepare()
        with self._folder.empty_folder() as folder:
            done = run_limited(
                (program, *self._client.login_check),
                environment=self._child_environment(),
                folder=folder,
                limit_s=_CHECK_LIMIT_S,
            )
        if done.timed_out:
            raise self._failed("did not say whether it is logged in", busy=True)
        if done.code != 0:
            raise ProviderError(
                f"{self._client.name} is not logged in.",
                hint=f"Start {self._client.program} and log in.",
                cause="login",
            )
        self._is_logged_in = True

    def _child_environment(self) -> dict[str, str]:
        kept = {name: v for name, v in self._environment.items() if name not in _NOT_PASSED_ON}
        return kept | {SELF_VARIABLE: "1"}

    def _files(self) -> tuple[Path, ...]:
        return self._client.login_files(self._environment)

    def _failed(self, what: str, *, busy: bool) -> ProviderError:
        return ProviderError(f"{self.model_id} {what}.", cause="busy" if busy else "answer")


def as_input(prompt: str) -> bytes:
    """The prompt as a client may read it."""
    text = prompt.replace("@", f"@{_ZERO_WIDTH}").replace("$", f"${_ZERO_WIDTH}")
    return (FIRST_LINE + text).encode("utf-8", "replace")


def _file_mark(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return f"{found.st_mtime_ns}-{found.st_size}"

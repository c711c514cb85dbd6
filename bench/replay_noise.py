"""What real sessions are full of and what says nothing: the distractors of a made-up history.

How often each happens was counted in 445 sessions of four public projects (Go, TypeScript, Rust,
Python; five people and more): the means for a session are written beside each rate. Nothing here
was chosen by what memory does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.replay_writer import Writer

_WORDS = ("alpha", "beta", "gamma", "delta", "sigma", "omega", "kappa", "lambda", "theta", "zeta")
_EMPTY_FAILURES = (
    ("npm run lint", 'error: script "lint" exited with code 1'),
    ("mise run lint", "[lint] ERROR task failed"),
    ("golangci-lint run", "* wrapcheck: 3"),
    ("make check", "make: *** [check] Error 1"),
)
_TYPE_ERRORS = (
    ("tsc --noEmit", "error TS2322: Type 'string' is not assignable to type 'number'."),
    ("mypy src", "error: Incompatible return value type"),
    ("go vet ./...", "declared and not used: result"),
)
_GIT_MOMENTS = (
    ("git merge origin/main", "Automatic merge failed; fix conflicts and then commit the result."),
    ("git push", "error: failed to push some refs to 'origin'"),
    ("git rebase origin/main", "CONFLICT (content): Merge conflict in a file"),
    ('git commit -m "wip"', "husky - pre-commit script failed (code 1)"),
)
_STOPS = (
    "The user doesn't want to proceed with this tool use. The user said: no wait, look first",
    "[Request interrupted by user for tool use]",
    "<tool_use_error>Sibling tool call errored</tool_use_error>",
    "<tool_use_error>File has not been read yet.</tool_use_error>",
)
_SMALL_TALK = ("yes", "continue", "what do you think?", "never mind, later", "looks good, go on",
               "why is that always empty?", "do the first one", "can you check again?")  # fmt: skip


class Noise:
    """Distractors around the work of one session on some files."""

    def __init__(self, writer: Writer, files: Sequence[str], hubs: Sequence[str]) -> None:
        self._w = writer
        self._random = writer.random
        self._files = list(files)
        self._hubs = list(hubs)

    def parts(self) -> list[Callable[[], None]]:
        """What happens in one session, each as often as it does in real ones."""
        rates: tuple[tuple[Callable[[], None], float], ...] = (
            (self._page, 3.0),  # 14.6 reads, 60 % of them parts of a file
            (self._loop, 3.0),  # 13.6 edits in 4.4 files, 7 of them again within 5 steps
            (self._hub, 1.0),
            (self._empty_failure, 0.4),
            (self._type_error, 0.4),
            (self._test_loop, 0.5),
            (self._git_moment, 0.16),
            (self._stopped, 1.4),
            (self._stash, 0.07),
            (self._debug_line, 0.1),
            (self._typo, 0.3),
            (self._talk, 4.0),
            (self._plan, 0.6),
            (self._compaction, 0.23),
            (self._refactor, 0.08),
            (self._struggle, 0.05),
            (self._look, 3.0),
        )
        chosen = [part for part, rate in rates for _ in range(self._times(rate))]
        self._random.shuffle(chosen)
        return chosen

    def _times(self, rate: float) -> int:
        """How often something with a rate happens: its whole part, and the rest by chance."""
        low = int(rate)
        spread = self._random.choice((-1, 0, 0, 1)) if low > 1 else 0
        return low + spread + (self._random.random() < rate - low)

    def _file(self) -> str:
        return self._random.choice(self._files)

    def _word(self) -> str:
        return f"{self._random.choice(_WORDS)}_{self._random.randrange(400)}"

    # -- Reading and editing ----------------------------------------------------------------------

    def _page(self) -> None:
        """A long file, part by part; some of it twice."""
        name = self._file()
        for part in range(0, self._random.randrange(1, 6) * 120, 120):
            self._w.read(name, part=part)
        if self._random.random() < 0.3:
            self._w.read(name, part=0)

    def _loop(self) -> None:
        """Edit, look, edit again: often the same lines, since a thought came."""
        name, line = self._file(), f"value = {self._word()}"
        self._w.edit(name, after=line)
        for _ in range(self._random.randrange(0, 3)):
            self._w.read(self._file(), part=self._random.randrange(9) * 120)
        if self._random.random() < 0.5:
            self._w.edit(self._file())
        self._w.edit(name, before=line, after=f"value = {self._word()}")

    def _hub(self) -> None:
        """Files that nearly every session opens, whatever it is about."""
        name = self._random.choice(self._hubs)
        self._w.read(name)
        if self._random.random() < 0.4:
            self._w.edit(name)
        self._w.edit(self._file())

    def _debug_line(self) -> None:
        """A line to look at something, taken out again much later."""
        name, line = self._file(), f"print('{self._word()}')"
        self._w.edit(name, before="run()", after=line)
        for _ in range(22):
            self._w.run("rg -n thing", "a:1: x")
        self._w.edit(name, before=line, after="run()")

    def _refactor(self) -> None:
        """One change through many files, and through all of them again."""
        for _ in range(2):
            for name in self._files:
                self._w.edit(name)

    # -- Failures ---------------------------------------------------------------------------------

    def _empty_failure(self) -> None:
        command, line = self._random.choice(_EMPTY_FAILURES)
        self._w.run(command, line, error="Exit code 1")
        self._w.edit(self._file())
        self._w.run(command)

    def _type_error(self) -> None:
        """The same words in many sessions, and another place to mend each time."""
        command, line = self._random.choice(_TYPE_ERRORS)
        for _ in range(self._random.randrange(1, 3)):
            self._w.run(command, line, error="Exit code 2")
            self._w.edit(self._file())
        self._w.run(command)

    def _test_loop(self) -> None:
        name, test = self._file(), f"test_{self._word()}"
        failed = f"FAILED tests/t.py::{test} - AssertionError: assert 1 == 2"
        for _ in range(self._random.randrange(1, 5)):
            self._w.run("pytest -q", f"{failed}\n===== 1 failed in 0.2s =====", error="Exit code 1")
            self._w.edit(name)
        self._w.run("pytest -q", "===== 9 passed in 0.40s =====")

    def _git_moment(self) -> None:
        command, line = self._random.choice(_GIT_MOMENTS)
        self._w.run(command, line, error="Exit code 1")

    def _stopped(self) -> None:
        command = self._random.choice(("npm run deploy", "mise run test:ci", "rm -r build"))
        self._w.run(command, error=self._random.choice(_STOPS))

    def _stash(self) -> None:
        """To see whether a failure is older."""
        if self._random.random() < 0.5:
            self._w.run("git stash && pytest -q; git stash pop", "1 failed")
        else:
            self._w.run("git stash")
            self._w.run("pytest -q", "===== 1 failed in 0.2s =====", error="Exit code 1")
            self._w.run("git stash pop")

    def _typo(self) -> None:
        command = self._random.choice(("gti status", "pyhton run.py", "npm rnu build", "mkae"))
        self._w.run(command, f"bash: {command.split()[0]}: command not found", error="Exit 127")

    def _struggle(self) -> None:
        """An outage of the day: four times, and then it works by itself."""
        line = f"Error: cannot reach {self._random.choice(_WORDS)}.example.org: connection refused"
        for _ in range(4):
            self._w.run("deploy preview", error=f"Exit code 1\n{line}")
        self._w.run("deploy preview", "ok")

    # -- Words ------------------------------------------------------------------------------------

    def _talk(self) -> None:
        self._w.say(self._random.choice(_SMALL_TALK))

    def _plan(self) -> None:
        """A plan that was pasted in: it asks for much, all of it for this work only."""
        wanted = (
            "Never change the public names in this step.",
            "Always keep the old path working until the last step.",
            "All handlers must return early when the flag is off.",
        )
        body = "\n".join(f"{n}. {self._random.choice(wanted)}" for n in range(40))
        self._w.say(f"Implement the following plan:\n\n# Plan: {self._word()}\n\n{body}")

    def _compaction(self) -> None:
        self._w.compact()
        for _ in range(3):
            self._w.read(self._file())

    def _look(self) -> None:
        """Steps that touch nothing."""
        command = self._random.choice(("ls", "git status", "git diff", "rg -n thing"))
        self._w.run(command, "x")

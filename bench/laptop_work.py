"""Random work of a team on its laptops, and coming to rest afterwards."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from bench.laptops import Laptop


class Simulation:
    """Random work on laptops, with what was said and ended on purpose written down."""

    def __init__(self, laptops: list[Laptop], *, seed: int) -> None:
        self.laptops = laptops
        self.random = random.Random(seed)
        self.said: dict[str, str] = {}
        self.ended: set[str] = set()
        self._number = 0

    def round(self) -> None:
        """Everybody works; half of them are online. Some stay away for a week."""
        for laptop in self.laptops:
            laptop.clock.advance(hours=self.random.uniform(1, 30))
            for _ in range(self.random.randrange(3)):
                self.act(laptop)
        online = [one for one in self.laptops if self.random.random() < 0.5]
        self.random.shuffle(online)
        together = online[: len(online) // 3]
        with ThreadPoolExecutor(4) as pool:  # several at the same moment
            list(pool.map(Laptop.sync, together))
        for laptop in online[len(together) :]:
            laptop.sync()

    def act(self, laptop: Laptop) -> None:
        """One thing that a person does."""
        known = sorted(laptop.open(), key=lambda one: one.id)
        what = self.random.choice(("new", "new", "common", "correct", "end", "erase", "label"))
        if what == "new" or not known:
            self._number += 1
            made = laptop.teach(f"Rule {self._number} of {laptop.name} holds here.")
        elif what == "common":
            made = laptop.teach(f"Everybody says sentence {self.random.randrange(6)} of ours.")
        else:
            one = self.random.choice(known)
            self._change(laptop, one.id, what)
            return
        self.said[made.id] = made.content

    def _change(self, laptop: Laptop, memory_id: str, what: str) -> None:
        if what == "correct":
            self._number += 1
            made = laptop.correct(memory_id, f"Correction {self._number} by {laptop.name}.")
            self.said[made.id] = made.content
            self.ended.add(memory_id)
        elif what == "end":
            laptop.wk.forget(memory_id, keep_history=True)
            self.ended.add(memory_id)
        elif what == "erase":
            laptop.wk.forget(memory_id)
            self.ended.add(memory_id)
        else:
            tags = (f"t{self.random.randrange(5)}", laptop.name)
            laptop.wk.edit(memory_id, tags=tags)


def settle(laptops: list[Laptop], reviewer: Laptop) -> None:
    """Everybody is online again, and a reviewer says yes to all that waits."""
    for _ in range(12):
        moved = False
        for laptop in laptops:
            report = laptop.sync()
            what = (report.problem, report.pushed, report.new, report.changed, report.closed)
            moved |= any(what)
        waiting = [one.id for one in reviewer.wk.remote.waiting()]
        if waiting:
            reviewer.wk.remote.decide(waiting, holds=True)
        elif not moved:
            return
    told = [(one.name, one.wk.remote.state()) for one in laptops]
    raise AssertionError(f"The laptops never came to rest: {told}")

"""Questions with known answers to learn the ranking from, each as what recall sees of it.

Only texts whose licence allows any use; every source says so (`SOURCES`). LoCoMo is not among
them: its licence is non-commercial, it is for measuring only. Every source goes through the
shipped `remember` and the shipped retrievers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.locomo_data import Conversation, Question, Turn
from bench.longmemeval_standin import Written
from bench.notes_data import (
    DEVELOPMENT,
    ELSEWHERE,
    ELSEWHERE_PARTS,
    EVERYDAY,
    UNANSWERABLE,
    WORK,
    NoteQuestion,
    NoteSet,
    load_distractors,
    load_elsewhere,
    load_notes,
    prompt_sets,
)
from bench.report import say
from wellkept import open as open_memory
from wellkept.api import Wellkept
from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.text import content_words
from wellkept.core.types import MemoryType
from wellkept.memory.recall import ranking as answers
from wellkept.memory.recall.features import READ_CHARS, Feature, FeatureTable, Form
from wellkept.memory.recall.ranking import READ_FIRST, READ_TEXTS, best_of
from wellkept.memory.recall.retrievers import (
    RETRIEVER_CAP,
    gather,
    plan_query,
    vector_of,
)

SOURCES = {
    "longmemeval": ("LongMemEval-S, 31 questions of its development part", "MIT"),
    "qmsum": ("QMSum, questions about meetings with the turns that answer them", "MIT"),
    "friendsqa": ("FriendsQA, development and test part", "Apache-2.0"),
    "molweni": ("Molweni, questions about chats on Ubuntu, test part", "Apache-2.0"),
    "written": ("bench/data/longmemeval: chats written for this purpose", "Apache-2.0"),
    "notes": ("bench/data/notes: development part, written for this purpose", "Apache-2.0"),
    "prompts": ("bench/data/notes: prompts and questions to other notes, likewise", "Apache-2.0"),
}
_MEETINGS, _EPISODES = 6, 4
_MOST_EVIDENCE = 12
_FROM_EACH_EPISODES = 70
_CHATS, _FROM_EACH_CHAT, _CHATS_A_WEEK = 25, 3, 5
_SMALL_STORES, _SMALL = 24, 3
_MIXED, _ASKED_IN_MIXED = 6, 40
_LARGE, _SPREAD = 3_000, 12
_FAR = 0.5  # questions from elsewhere, as a share of the others that nothing answers
_FIRST_DAY = datetime(2023, 1, 1, 12, tzinfo=UTC)
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Forms = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Example:
    """One question: the features and the support of its candidates, and which of them answer.

    `words` are those of the texts that were read. `group` is what is left out together. `wanted`
    memories answer it, of which `targets` were found; 0 when nothing in the store answers.
    """

    source: str
    group: str
    kind: str
    rows: Numbers
    support: Numbers
    words: tuple[frozenset[str] | None, ...]
    forms: Forms
    targets: tuple[int, ...]
    wanted: int
    sessions: tuple[str, ...]

    @property
    def notes(self) -> Flags:
        """Which candidates are notes."""
        return self.forms == Form.NOTE

    @property
    def chats(self) -> Flags:
        """Which candidates are turns of a chat with an assistant."""
        return self.forms == Form.CHAT


def collect(
    memory: Wellkept,
    query: str,
    wanted: frozenset[str],
    *,
    source: str,
    group: str,
    kind: str = "",
    unasked: bool = False,
) -> Example:
    """What recall sees of a question that the memories of the ids `wanted` answer."""
    engine = memory.engine
    embedder = engine.embedder()
    if embedder is None:
        raise SystemExit("Training needs an embedder.")

    where = Filter(project=memory.project)
    plan = plan_query(query, now=engine.clock())
    plan, pool = gather(
        engine.store, plan, where=where, embed=partial(vector_of, embedder), cap=RETRIEVER_CAP
    )
    table = FeatureTable(pool, plan)
    read = best_of(table.weighed(READ_FIRST), READ_TEXTS)
    texts = engine.store.contents(read)
    table.read_texts(texts)
    ids = [candidate.id for candidate in pool.candidates]
    rows = np.array([table[each] for each in ids]).reshape(-1, len(Feature))
    near = engine.thresholds().duplicate
    asked = answers.Question.of(plan, pool, near=near, unasked=unasked)
    support = np.zeros((len(ids), len(answers.SUPPORT)))
    words: list[frozenset[str] | None] = [None] * len(ids)
    place = {each: number for number, each in enumerate(ids)}
    for one in engine.store.get(read):
        number = place[one.id]
        support[number] = asked.support(one, margin=1.0)
        words[number] = frozenset(content_words(one.content[:READ_CHARS]))
    return Example(
        source,
        group,
        kind,
        rows,
        support,
        tuple(words),
        np.array([table.form(each) for each in ids], dtype=np.int8),
        tuple(number for number, each in enumerate(ids) if each in wanted),
        len(wanted),
        tuple(candidate.session_id or candidate.id for candidate in pool.candidates),
    )


def _opened(folder: str, *, now: datetime | None = None) -> Wellkept:
    path = Path(folder) / "memory.db"
    if now is None:
        return open_memory(path, project="train", embedder="static")
    return open_memory(path, project="train", embedder="static", clock=lambda: now)


def _kept(memory: Wellkept, drafts: Sequence[MemoryDraft]) -> list[str]:
    return [one.memory.id for one in memory.remember_many(drafts, merge_similar=False)]


# -- LongMemEval -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Haystack:
    question: str
    asked_at: datetime
    drafts: tuple[MemoryDraft, ...]
    evidence: frozenset[int]


def _haystacks(path: Path) -> list[_Haystack]:
    entries: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return [_haystack(each) for each in entries if not each["question_id"].endswith("_abs")]


def _haystack(entry: dict[str, Any]) -> _Haystack:
    drafts: list[MemoryDraft] = []
    evidence: set[int] = set()
    sessions = zip(entry["haystack_dates"], entry["haystack_sessions"], strict=True)
    for number, (date, turns) in enumerate(sessions):
        for seq, turn in enumerate(turns):
            if not turn["content"].strip():
                continue
            if turn.get("has_answer"):
                evidence.add(len(drafts))
            drafts.append(_turn(turn, f"s{number:03d}", seq, _moment(date)))
    return _Haystack(
        entry["question"], _moment(entry["question_date"]), tuple(drafts), frozenset(evidence)
    )


def _turn(turn: dict[str, Any], session: str, seq: int, at: datetime) -> MemoryDraft:
    return MemoryDraft(
        content=turn["content"],
        type=MemoryType.EPISODE,
        author=turn["role"],
        session_id=session,
        seq=seq,
        valid_from=at,
    )


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


def from_longmemeval(path: Path) -> Iterator[Example]:
    """Each question in its haystack; and the next one, which this haystack does not answer. Some
    haystacks also hold the notes, so that turns and notes can be weighed against each other."""
    haystacks = [each for each in _haystacks(path) if each.evidence]
    notes = load_notes(DEVELOPMENT)
    for number, haystack in enumerate(haystacks):
        group = f"longmemeval {number}"
        with TemporaryDirectory() as folder, _opened(folder, now=haystack.asked_at) as memory:
            ids = _kept(memory, haystack.drafts)
            wanted = frozenset(ids[place] for place in haystack.evidence)
            yield collect(memory, haystack.question, wanted, source="longmemeval", group=group)
            other = haystacks[(number + 1) % len(haystacks)].question
            yield collect(memory, other, frozenset(), source="longmemeval", group=group)
            if number < _MIXED:
                yield from _with_notes(memory, haystack, wanted, notes, group=group)


def from_written() -> Iterator[Example]:
    """Questions asked in the words of the evidence and in others, in haystacks of like sessions."""
    entries = list(Written([]).entries())
    for number in range(0, len(entries), 2):
        haystack = _haystack(entries[number])
        with TemporaryDirectory() as folder, _opened(folder, now=haystack.asked_at) as memory:
            ids = _kept(memory, haystack.drafts)
            wanted = frozenset(ids[place] for place in haystack.evidence)
            for entry in entries[number : number + 2]:  # the same haystack
                yield collect(
                    memory, entry["question"], wanted, source="written", group=f"written {number}"
                )


def _with_notes(
    memory: Wellkept, haystack: _Haystack, wanted: frozenset[str], notes: NoteSet, *, group: str
) -> Iterator[Example]:
    note_ids = dict(
        zip((text for _, text in notes.notes), _kept(memory, notes.drafts()), strict=True)
    )
    yield collect(memory, haystack.question, wanted, source="mixed", group=group)
    answerable = [each for each in notes.questions if each.note]
    for each in Random(group).sample(answerable, _ASKED_IN_MIXED):
        right = frozenset({note_ids[each.note or ""]})
        yield collect(memory, each.text, right, source="mixed", group=each.project)


# -- Meetings, scenes and chats --------------------------------------------------------------------


def from_qmsum(folder: Path) -> Iterator[Example]:
    """Questions about one of six meetings; those with long evidence are summaries, left out."""
    files = sorted(folder.glob("*.json"))
    Random(1).shuffle(files)
    meetings = [json.loads(file.read_text("utf-8")) for file in files]
    for start in range(0, len(meetings) - _MEETINGS + 1, _MEETINGS):
        yield from _conversation("qmsum", _meetings(meetings[start : start + _MEETINGS], start))


def _meetings(meetings: Sequence[dict[str, Any]], start: int) -> Conversation:
    turns: list[Turn] = []
    questions: list[Question] = []
    for week, meeting in enumerate(meetings):
        said = {
            seq: Turn(
                f"{week}/{seq}", f"m{week}", seq, turn["speaker"], turn["content"], _day(week)
            )
            for seq, turn in enumerate(meeting["meeting_transcripts"])
            if turn["content"].strip()
        }
        turns += said.values()
        for asked in meeting["specific_query_list"]:
            spans = [range(int(a), int(b) + 1) for a, b in asked["relevant_text_span"]]
            evidence = frozenset(said[seq].id for span in spans for seq in span if seq in said)
            if 0 < len(evidence) <= _MOST_EVIDENCE:
                questions.append(Question(asked["query"], evidence, 0))
    return Conversation(f"meetings {start}", tuple(turns), tuple(questions))


def from_friendsqa(folder: Path) -> Iterator[Example]:
    """Questions about the scenes of four episodes at a time."""
    episodes: dict[str, list[dict[str, Any]]] = {}
    for name in ("friendsqa_dev.json", "friendsqa_tst.json"):
        for scene in json.loads((folder / name).read_text("utf-8"))["data"]:
            episodes.setdefault(scene["title"].rpartition("_")[0], []).append(scene)
    names = sorted(episodes)
    for start in range(0, len(names) - _EPISODES + 1, _EPISODES):
        chosen = [episodes[name] for name in names[start : start + _EPISODES]]
        yield from _conversation("friendsqa", _episodes(chosen, start))


def _episodes(episodes: Sequence[Sequence[dict[str, Any]]], start: int) -> Conversation:
    turns: list[Turn] = []
    questions: list[Question] = []
    for week, scenes in enumerate(episodes):
        for scene in scenes:
            paragraph = scene["paragraphs"][0]
            said = {
                one["uid"]: Turn(
                    f"{scene['title']}/{one['uid']}",
                    scene["title"],
                    seq,
                    (" ".join(one["speakers"]) or "scene").split()[0],
                    one["utterance"],
                    _day(week),
                )
                for seq, one in enumerate(paragraph["utterances:"])
                if one["utterance"].strip()
            }
            turns += said.values()
            for asked in paragraph["qas"]:
                places = [a["utterance_id"] for a in asked["answers"] if not a["is_speaker"]]
                evidence = frozenset(said[place].id for place in places if place in said)
                if evidence:
                    questions.append(Question(asked["question"], evidence, 0))
    Random(start).shuffle(questions)
    return Conversation(f"episodes {start}", tuple(turns), tuple(questions[:_FROM_EACH_EPISODES]))


def from_molweni(path: Path) -> Iterator[Example]:
    """Questions about one of 25 chats on Ubuntu."""
    chats: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["data"]["dialogues"]
    Random(3).shuffle(chats)
    for start in range(0, len(chats) - _CHATS + 1, _CHATS):
        yield from _conversation("molweni", _chats(chats[start : start + _CHATS], start))


def _chats(chats: Sequence[dict[str, Any]], start: int) -> Conversation:
    turns: list[Turn] = []
    questions: list[Question] = []
    for number, chat in enumerate(chats):
        ends: list[tuple[int, str]] = []  # where each turn ends in the text that answers quote
        length = 0
        for seq, said in enumerate(chat["edus"]):
            length += len(f"{said['speaker']}: {said['text']} ")
            turn = Turn(
                f"{number}/{seq}",
                f"c{number}",
                seq,
                said["speaker"],
                said["text"],
                _day(number // _CHATS_A_WEEK),
            )
            ends.append((length, turn.id))
            turns.append(turn)
        asked = [each for each in chat["qas"] if each["answers"]]
        Random(number).shuffle(asked)
        for each in asked[:_FROM_EACH_CHAT]:
            places = [answer["answer_start"] for answer in each["answers"]]
            found = [next((t for end, t in ends if place < end), None) for place in places]
            evidence = frozenset(turn for turn in found if turn)
            if evidence:
                questions.append(Question(each["question"], evidence, 0))
    return Conversation(f"chats {start}", tuple(turns), tuple(questions))


def _day(week: int) -> datetime:
    return _FIRST_DAY + timedelta(days=7 * week)


def _conversation(source: str, conversation: Conversation) -> Iterator[Example]:
    with TemporaryDirectory() as folder, _opened(folder, now=conversation.ends_at) as memory:
        ids = _kept(memory, [turn.draft() for turn in conversation.turns])
        id_of = {turn.id: one for turn, one in zip(conversation.turns, ids, strict=True)}
        for question in conversation.questions:
            wanted = frozenset(id_of[each] for each in question.evidence)
            yield collect(memory, question.text, wanted, source=source, group=conversation.name)


# -- Notes -----------------------------------------------------------------------------------------


def from_notes(path: Path = DEVELOPMENT) -> Iterator[Example]:
    """Notes in stores of every size: all together, one project alone, and three notes."""
    every = load_notes(path)
    far = [
        NoteQuestion(ELSEWHERE, text, None, ELSEWHERE)
        for text in load_elsewhere(ELSEWHERE_PARTS[path])
    ]
    stores = [[text for _, text in every.notes]]
    projects = list(dict.fromkeys(project for project, _ in every.notes))
    stores += [[text for of, text in every.notes if of == project] for project in projects]
    for number, texts in enumerate(stores):
        yield from _ask_notes(every, texts, far, most_others=60, random=Random(number))
    for number in range(_SMALL_STORES):
        random = Random(number)
        texts = random.sample([text for _, text in every.notes], _SMALL)
        yield from _ask_notes(every, texts, far, most_others=12, random=random)


def _ask_notes(
    every: NoteSet,
    texts: Sequence[str],
    far: Sequence[NoteQuestion],
    *,
    most_others: int,
    random: Random,
) -> Iterator[Example]:
    """The questions that these notes answer, about as many that they do not, and some that no notes
    of a project do."""
    held = set(texts)
    right = [each for each in every.questions if each.note in held]
    others = [each for each in every.questions if each.note not in held]
    random.shuffle(others)
    wrong = [*others[:most_others], *random.sample(far, round(_FAR * most_others))]
    with TemporaryDirectory() as folder, _opened(folder) as memory:
        ids = dict(zip(texts, _kept(memory, [MemoryDraft(content=t) for t in texts]), strict=True))
        for each in (*right, *wrong):
            wanted = frozenset({ids[each.note]}) if each.note in ids else frozenset[str]()
            kind = each.kind if wanted or each.kind == ELSEWHERE else UNANSWERABLE
            yield collect(memory, each.text, wanted, source="notes", group=each.project, kind=kind)


def from_prompts() -> Iterator[Example]:
    """What is typed at prompts, in a store of the notes it is about and among many others: work,
    questions, everyday prompts and nonsense. Questions are asked of recall, too."""
    for notes, size in product(prompt_sets("development"), (0, _LARGE)):
        texts = [text for _, text in notes.notes]
        drafts = [MemoryDraft(content=text) for text in (*texts, *load_distractors(size))]
        with TemporaryDirectory() as folder, _opened(folder) as memory:
            ids = dict(zip(texts, _kept(memory, drafts), strict=False))
            for (number, each), unasked in product(enumerate(notes.questions), (True, False)):
                if not unasked and each.kind in (WORK, EVERYDAY):
                    continue
                yield collect(
                    memory,
                    each.text,
                    frozenset({ids[each.note]}) if each.note else frozenset[str](),
                    source="prompts" if unasked else "questions",
                    group=each.project or f"prompts {number % _SPREAD}",
                    kind=each.kind,
                    unasked=unasked,
                )


def gathered(sources: Iterable[tuple[str, Callable[[], Iterator[Example]]]]) -> list[Example]:
    """All examples of some sources."""
    found: list[Example] = []
    for name, read in sources:
        own = list(read())
        say(f"{name}: {len(own)} questions")
        found += own
    return found

"""Which words of a prompt are the person's own: the one mask for every reader of speech.

Clients put notices, hook output and messages of other agents into prompts (`own_words` removes
them). People paste: fences, quotations, diffs, traces, logs, mails, tickets, articles, roles to
play, text for a document (`mask_quotations` covers them). Of what is left, questions and
suppositions are no statements (`Sentence.asks`, `Sentence.supposes`).

Invariants: the masked text has the length of the message, so offsets agree; time grows linearly
with the length of any input. Knows nothing of what the words mean.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from wellkept.core.records import record

MASK = "\ue000"
DOCUMENT_CHARS = 1500
"""A message with more unquoted characters is a pasted document."""
_EDGE_PARAGRAPH_CHARS = 400

# -- What clients put into prompts ----------------------------------------------------------------

_MADE_BY_CLIENT = re.compile(
    r"\s*(?:\[Request interrupted|Caveat: The messages below|(?:Stop|\w+) hook feedback:"
    r"|Base directory for this skill:|This session is being continued from a previous"
    r"|Another Claude session sent a message|A message from (?:agent|teammate)\b"
    r"|\[(?:Auto|SYSTEM|System)[ -]|Read the output file to retrieve the result:)"
)
_NOTICE = re.compile(r"^Read the output file to retrieve the result: .*$", re.MULTILINE)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*+)(?P<rest>[^<>]*+)>")
_CLIENT_TAG = re.compile(r"[a-z]+(?:[-_][a-z]+)+")
"""Tags of clients have a hyphen or underscore in their name; a person's markup hardly ever."""
_MAY_LACK_END = (
    "ide_",
    "system-reminder",
    "teammate-message",
    "task-notification",
    "local-command",
    "bash-",
)
"""Of the others `<skill-name>` can be a placeholder."""
_TYPED_BY_PERSON = frozenset({"user_query", "command-args", "user-prompt", "user_prompt"})
_OF_AN_AGENT = frozenset({"teammate-message", "agent-message", "subagent-task", "subagent_task"})
_SUBJECT = re.compile(r"\"(?:subject|title)\"\s*:\s*\"(?P<subject>[^\"\\]+)")
_ROLE = re.compile(
    r"\AYou(?:'re| are) (?:the |a |an )?[^.\n]{2,100}\.\s+"
    r"(?:(?:Your (?:task|job|role) is to|You(?:r task)?:?)\s+)?"
)
_SUMMARY = re.compile(r"\bsummary=\"(?P<summary>[^\"]+)\"")
_ATTACHMENT = re.compile(r"\[(?:Image|Pasted text|File|Attachment)[^\]\n]{0,120}\]")

# -- What people quote and paste ------------------------------------------------------------------

_FENCE = re.compile(r"\s{0,3}(?:`{3,}|~{3,})")
_DIFF_MARK = re.compile(r"^(?:@@ |diff --git |\+\+\+ |--- [ab]/)", re.MULTILINE)
_DIFF_LINE = re.compile(r"[-+@ ]|diff |index ")
_PASTED_LINE = re.compile(
    r"\s*(?:>|//|/\*|\*/|#|<!--|--\s)"  # quotations and comments
    r"|\s+\*(?:\s|/)"
    r"|(?:\t| {4,})(?!\s{0,40}(?:[-*•+]|\d{1,2}[.)])\s)"  # indented code
    r"|\s*(?:Traceback \(|File \"|at \S+[\s(][^\n]*:\d|Caused by:|E {2,}"
    r"|[\w.]*(?:Error|Exception)\b:?|npm (?:ERR!|WARN)"
    r"|\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[\d{1,2}:\d\d\] |\$ \S|❯|PS [A-Z]:"
    r"|(?:FAIL(?:ED)?|PASS(?:ED)?|[✓✗✕×●]) +\S"
    r"|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|error|warning)\b[\]:(\[]"
    r"|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE) )"
)
_MAIL_HEADER = re.compile(r"(?:From|Von|De|To|An|Subject|Betreff|Objet|Asunto): \S")
_HEADER = re.compile(r"[A-Z][\w-]{0,40}: ")
_SIGNATURE = re.compile(r"-- ?$")
_GREETING = re.compile(r"(?:Hi|Hello|Dear|Hey|Hallo|Bonjour|Hola)\b[^.!?\n]{0,40},\s*$")
_FAREWELL = re.compile(
    r"(?:Best|Kind regards|Best regards|Regards|Cheers|Sincerely|Thanks|Viele Grüße|Cordialement"
    r"|Saludos)[,!.]?\s*$"
)
# The head of a ticket; its body follows.
_TICKET = re.compile(
    r"(?:issue|ticket|bug|story|epic|pr|pull request)?\s?(?:#\d+|[A-Z]{2,8}-\d+)\s?[:–—-]\s"
    r"|\**(?:steps(?: to reproduce)?|expected(?: behaviou?r)?|actual(?: behaviou?r)?"
    r"|acceptance criteria|description|user story|reproduction)\**\s?:?\**\s?:?\s*$"
    r"|as an? [^,\n]{2,40}, i (?:want|would like|need)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"`[^`\n]{1,400}`"
    r"|\"[^\"\n]{1,400}\""
    r"|“[^“”\n]{1,400}”|‘[^‘’\n]{1,400}’|«[^«»\n]{1,400}»|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』"
    r"|(?<![^\s(])'[^'\n]{2,400}'(?![^\s.,;:!?)])"
    r"|<!--[^\n]{0,400}?-->"
    r"|(?<=\s)//\s[^\n]{1,400}"
)
# From here to the end of its sentence it is text for a document, or a role to play.
_FOR_A_DOCUMENT = re.compile(
    r"\b(?:write|add|put|insert|append|draft|include|mention|state|document)\b[^.!?\n]{0,120}?"
    r"\b(?:saying|that says|stating|that states|which says|explaining that"
    r"|telling (?:users?|people|readers?))\b"
    r"|\b(?:readme|changelog|docs?|documentation|wiki|release notes?|blog post|article|slide"
    r"|e-?mail|tweet|announcement|guide|handbook|commit message|pr description)"
    r"\b(?:[^.!?\n]{0,12}\bthat|[^.!?\n]{0,40}\b(?:saying|says|explain\w*|to say|:))\s",
    re.IGNORECASE,
)
_PLAYED_ROLE = re.compile(
    r"(?:(?:please|now|ok(?:ay)?|for a moment),? )*(?:pretend|role-?play|act (?:as|like)"
    r"|imagine you|you are (?:now )?(?:a|an|the) \w|stell dir vor|tu es une? "
    r"|actúa como|扮演|あなたは)",
    re.IGNORECASE,
)
_TRANSFORMED = re.compile(
    r"\s*(?:(?:ok(?:ay)?|please|can you|could you|now|and|then|bitte|por favor)[,!]?\s+)*"
    r"(?:translate|paraphrase|proofread|rephrase|rewrite|summari[sz]e|spell-?check|reword|review"
    r"|implement|explain|analy[sz]e|traduis|résume|corrige|übersetze|fasse|traduce|resume"
    r"|翻译|翻譯|总结|總結|翻訳|要約)\b[^:：\n]{0,120}(?:[:：]|$)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_BREAK = re.compile(r"(?<=[.!?])\){0,8}(?=\s)|(?<=[。！？])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|z\.B|p\.ex)\.$", re.IGNORECASE)
_SUPPOSES = re.compile(
    r"\b(?:what if|suppose|imagine|maybe|perhaps|could we|should we|shall we|would it|might|i doubt"
    r"|i wonder|wondering|i guess|not sure|do you think|correct me|thoughts on|how about|what about"
    r"|vielleicht|eventuell|peut-être|quizás|tal vez|talvez|forse|может быть|наверное)\b"
    r"|\bif (?:we|i|you|they) (?:used|had|were|would|could|did|switched|moved|went)\b"
    r"|\b(?:would be (?:way |much )?(?:better|faster|nicer|easier|good|great)|could be|seems? like"
    r"|feels?|thinking of|starting to|looks like)\b"
    r"|也许|可能|如果|かもしれ|でしょうか|もし",
    re.IGNORECASE,
)
_OPENS_QUESTION = re.compile(
    r"(?:(?:and|but|so|ok(?:ay)?|hm+|well|hey|wait)[,!]?\s+)*(?:why|how (?:do|does|did|is"
    r"|are|can|come|should|would|much|many|about)"
    r"|what (?:is|are|does|do|did|was|if|about|would|should)"
    r"|what's|which (?:one|of)|where (?:is|are|do|does)|when (?:do|does|did|is)"
    r"|who (?:is|does|did)"
    r"|is (?:it|this|that|there)|are (?:we|you|there|these|those)|does (?:it|this|that|the)"
    r"|do (?:we|you|i)|did (?:we|you|i|it)|can (?:we|you|i)|could (?:we|you|i)|should (?:we|i)"
    r"|would (?:you|it|that)|will (?:it|this|that|you)|warum|wieso|wie |pourquoi|por qué)\b",
    re.IGNORECASE,
)


@record
class Sentence:
    """One sentence of a message: its offsets and masked text."""

    start: int
    end: int
    masked: str
    paragraph: int
    bullet: bool

    @property
    def asks(self) -> bool:
        """Whether it has a question mark."""
        return self.masked.rstrip(" )").endswith(("?", "？")) or self.masked.startswith("¿")

    @property
    def supposes(self) -> bool:
        """Whether it weighs something, or asks without a question mark."""
        return bool(_SUPPOSES.search(self.masked) or _OPENS_QUESTION.match(self.masked))


def own_words(prompt: str) -> str:
    """What a person typed of a prompt; "" when a client made all of it."""
    if _MADE_BY_CLIENT.match(prompt):
        return ""
    if "<" not in prompt:
        return _ATTACHMENT.sub("", prompt).strip() if "[" in prompt else prompt.strip()
    arguments = _command_part(prompt, "command-args")
    if arguments is not None:
        return arguments
    left = _NOTICE.sub("", _without_client_tags(prompt))
    return _ATTACHMENT.sub("", left).strip()


def slash_command(prompt: str) -> str | None:
    """The slash command of a prompt with its arguments, as the person typed it."""
    name = _command_part(prompt, "command-name")
    if not name or len(name) > 80:
        return None
    return f"/{name.lstrip('/')} {own_words(prompt)}".strip()


def agent_task(prompt: str) -> str | None:
    """The task that another agent sent as a prompt; None when the prompt is no such message."""
    tag = _TAG.match(prompt.lstrip())
    if tag is None or tag["end"] or tag["name"] not in _OF_AN_AGENT:
        return None
    inside = prompt.lstrip()[tag.end() :].partition(f"</{tag['name']}")[0].strip()
    if inside.startswith("{"):
        subject = _SUBJECT.search(inside)
        return subject["subject"] if subject else None
    summary = _SUMMARY.search(tag["rest"])
    return (summary["summary"] if summary else _ROLE.sub("", inside)) or None


def mask_quotations(message: str) -> str:
    """The message, of the same length, with everything quoted or pasted masked."""
    spans = [(start, end) for start, end, _ in _tagged(message)]
    lines = _mask_lines(_covered(message, spans))
    return _INLINE.sub(_hidden, lines)


def sentences(masked: str) -> list[Sentence]:
    """The sentences of a masked text in order; lines that are wholly masked give none."""
    found: list[Sentence] = []
    paragraph = offset = 0
    blank = False
    for line in masked.split("\n"):
        if not line.strip():
            blank = True
        else:
            paragraph += blank
            blank = False
            found.extend(_line_sentences(line, offset=offset, paragraph=paragraph))
        offset += len(line) + 1
    return found


def written_sentences(message: str) -> list[Sentence]:
    """The sentences that the person wrote: no quotations, and of a pasted document only a short
    first and last paragraph."""
    said = sentences(mask_quotations(message))
    if sum(len(s.masked) for s in said) <= DOCUMENT_CHARS:
        return said
    sizes: dict[int, int] = defaultdict(int)
    for one in said:
        sizes[one.paragraph] += len(one.masked)
    edges = {said[0].paragraph, said[-1].paragraph}
    return [s for s in said if s.paragraph in edges and sizes[s.paragraph] <= _EDGE_PARAGRAPH_CHARS]


def own_sentences(message: str) -> list[Sentence]:
    """The written sentences that the person means: without a role to play, text for a document,
    and what a line such as "Implement this plan:" introduces."""
    said: list[Sentence] = []
    written = written_sentences(message)
    for place, one in enumerate(written):
        if _TRANSFORMED.match(one.masked) and (":" in one.masked or "：" in one.masked):
            break
        if _PLAYED_ROLE.match(one.masked):
            break
        spoken = _without_document(one)
        if spoken is not None:
            said.append(spoken)
        if one.masked.endswith((":", "：")) and not _goes_on(written, place):
            break
    return said


def _goes_on(written: Sequence[Sentence], place: int) -> bool:
    """Whether what a colon announces stands on the same line, or is a quotation below it."""
    if place + 1 == len(written):
        return False
    here, following = written[place], written[place + 1]
    return following.start - here.end <= 1 or following.paragraph > here.paragraph + 1


def _without_document(sentence: Sentence) -> Sentence | None:
    found = _FOR_A_DOCUMENT.search(sentence.masked)
    if found is None:
        return sentence
    text = sentence.masked[: found.start()].rstrip(" ,;")
    if len(text.split()) < 3:
        return None
    return Sentence(
        sentence.start, sentence.start + len(text), text, sentence.paragraph, sentence.bullet
    )


# -- Tags -----------------------------------------------------------------------------------------


def _tagged(text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """The outermost elements with an end, in one pass over the tags."""
    tags = list(_TAG.finditer(text)) if "<" in text else []
    ends: dict[str, list[int]] = defaultdict(list)
    closing: dict[int, re.Match[str]] = {}
    for tag in tags:
        if tag["end"]:
            ends[tag["name"]].append(tag.start())
            closing[tag.start()] = tag
    reached = 0
    for tag in tags:
        is_markup = tag.start() == 0 or not (
            text[tag.start() - 1].isalnum() or text[tag.start() - 1] == "_"
        )
        if tag["end"] or tag.start() < reached or not is_markup:
            continue
        later = ends[tag["name"]]
        place = bisect_left(later, tag.end())
        if place < len(later):
            reached = closing[later[place]].end()
            yield tag.start(), reached, tag


def _without_client_tags(text: str) -> str:
    kept: list[str] = []
    at = 0
    for start, end, tag in _tagged(text):
        if not _CLIENT_TAG.fullmatch(tag["name"]):
            continue
        kept.append(text[at:start])
        if tag["name"] in _TYPED_BY_PERSON:
            kept.append(text[tag.end() : end].rpartition("</")[0])
        at = end
    left = "".join((*kept, text[at:]))
    for tag in _TAG.finditer(left):
        if tag["end"] or not tag["name"].startswith(_MAY_LACK_END):
            continue
        left = left[: tag.start()]
        break
    return _TAG.sub(_without_empty, left)


def _without_empty(tag: re.Match[str]) -> str:
    is_empty = tag["rest"].endswith("/") and _CLIENT_TAG.fullmatch(tag["name"])
    return "" if is_empty else tag.group()


def _command_part(prompt: str, name: str) -> str | None:
    """The inside of one tag of a slash command."""
    if not prompt.lstrip().startswith("<command-"):
        return None
    _, start, rest = prompt.partition(f"<{name}>")
    inside, end, _ = rest.partition(f"</{name}>")
    return inside.strip() if start and end else None


# -- Lines ----------------------------------------------------------------------------------------


def _covered(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts.append(text[at:start])
        parts.append("\n".join(MASK * len(line) for line in text[start:end].split("\n")))
        at = end
    return "".join((*parts, text[at:]))


def _mask_lines(text: str) -> str:
    """Masks whole lines: fences, diffs, traces, logs, comments, mails and tickets."""
    lines = text.split("\n")
    in_diff = _DIFF_MARK.search(text) is not None
    foreign = _foreign_lines(lines)
    in_fence = False
    masked: list[str] = []
    for number, line in enumerate(lines):
        fence = _FENCE.match(line) is not None
        pasted = (in_diff and _DIFF_LINE.match(line)) or _PASTED_LINE.match(line)
        quoted = in_fence or fence or pasted or number in foreign
        in_fence ^= fence
        masked.append(MASK * len(line) if quoted else line)
    return "\n".join(masked)


def _foreign_lines(lines: Sequence[str]) -> set[int]:
    """Lines of mails and tickets. A ticket ends before the last paragraph, where the person asks
    for something; a mail at its signature or farewell."""
    last = _last_paragraph(lines)
    found: set[int] = set()
    ends = len(lines)
    mail = ticket = False
    for number, line in enumerate(lines):
        text = line.strip()
        if not mail and _begins_mail(lines, number):
            mail = _closes_later(lines, number) or bool(_MAIL_HEADER.match(text))
        if not ticket and _TICKET.match(text):
            ticket = True
            ends = last if last > number else len(lines)
        if mail or (ticket and number < ends):
            found.add(number)
        if mail and (_SIGNATURE.match(line) or (_FAREWELL.match(text) and number)):
            mail = False
            found.update(_name_below(lines, number))
    return found


def _begins_mail(lines: Sequence[str], number: int) -> bool:
    text = lines[number].strip()
    if _MAIL_HEADER.match(text):
        return number + 1 < len(lines) and bool(_HEADER.match(lines[number + 1].strip()))
    return bool(number and _GREETING.match(text))


def _closes_later(lines: Sequence[str], number: int) -> bool:
    window = lines[number + 1 : number + 60]
    return any(_FAREWELL.match(line.strip()) for line in window)


def _name_below(lines: Sequence[str], number: int) -> range:
    """The name under a farewell."""
    following = number + 1
    has_name = following < len(lines) and 0 < len(lines[following].split()) <= 4
    return range(following, following + has_name)


def _last_paragraph(lines: Sequence[str]) -> int:
    number = len(lines)
    while number and not lines[number - 1].strip():
        number -= 1
    while number and lines[number - 1].strip():
        number -= 1
    return number


def _hidden(found: re.Match[str]) -> str:
    return MASK * len(found.group())


def _line_sentences(line: str, *, offset: int, paragraph: int) -> list[Sentence]:
    bullet = _BULLET.match(line)
    cut = bullet.end() if bullet else 0
    ends = [end for m in _BREAK.finditer(line, cut) if not _abbreviates(line, end := m.end())]
    found: list[Sentence] = []
    for end in (*ends, len(line)):
        part = line[cut:end]
        text = part.strip()
        if text.strip(MASK + " .,:;!?"):
            start = offset + cut + len(part) - len(part.lstrip())
            found.append(
                Sentence(start, start + len(text), text, paragraph, bullet=bullet is not None)
            )
        cut = end
    return found


def _abbreviates(line: str, end: int) -> bool:
    return _ABBREVIATION.search(line, max(0, end - 12), end) is not None

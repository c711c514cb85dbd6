"""The stock of words and sentence forms that the made-up memories are put together from."""

from __future__ import annotations

COMMON_WORDS: tuple[str, ...] = tuple(
    """error test file function module cache user query config build server client request
    response table column index session token branch commit merge review deploy release version
    package import class method argument value default timeout retry queue worker thread process
    lock memory disk network socket header body route handler middleware template page button form
    field schema migration database transaction row key hash secret password login permission role
    account payment invoice order email message event listener hook callback promise stream buffer
    parser lexer compiler linter formatter type checker interface struct enum string number date
    timezone locale encoding unicode bytes path folder symlink shell command script pipeline job
    container image volume cluster node proxy certificate domain address port protocol packet frame
    window layout style colour theme icon menu dialog table chart graph tree list map set array
    vector matrix tensor model training batch epoch loss metric log trace span alert dashboard
    report export upload download backup restore snapshot replica shard partition topic consumer
    producer broker schedule cron trigger webhook endpoint payload signature digest nonce salt
    fixture mock stub coverage benchmark profile bottleneck leak race deadlock overflow crash panic
    exception warning assertion invariant contract boundary adapter factory builder observer
    strategy plugin extension registry settings environment variable flag feature toggle rollout
    rollback hotfix patch issue ticket milestone sprint backlog roadmap""".split()
)

SYLLABLES: tuple[str, ...] = tuple(
    """ba bel bo bra cal cen chi cor da del dor dra el en fal fen fir ga gel gor hal hen il ir jun
    ka kel kor la len lin lor ma mel mir mon na nel nor ol or pa pel pin por qua ra ren rin ros sa
    sel sin sor ta tel tin tor tra ul un va vel vin vor wa wen xan yel yor za zen zor""".split()
)

FOLDERS: tuple[str, ...] = (
    "src/api", "src/auth", "src/billing", "src/core", "src/db", "src/jobs", "src/mail",
    "src/search", "src/sync", "src/ui", "tests/unit", "tests/integration", "tools", "infra",
)  # fmt: skip

SENTENCES: tuple[str, ...] = (
    "The {0} {1} in {2} has to {3} before the {4} is used by {5}.",
    "We use {0} for {1} because {2} was too slow with {3} and {4} at {5}.",
    "When {0} and {1} run at the same time, {2} may lose the {3} of {4}; {5} helps.",
    "Do not call {0} from {1}: it holds the {2} while {3} waits for {4} and {5}.",
    "{0} keeps its {1} in {2}, so after a change of {3} the {4} must be made again with {5}.",
    "To reproduce: start {0} with {1}, open {2}, then {3}; the {4} shows {5} twice.",
    "It turned out that {0} never reads {1}; the {2} comes from {3} through {4} or {5}.",
    "All {0} of {1} go through {2}, which checks the {3} and writes {4} to {5}.",
    "Prefer {0} over {1} in {2}; the older {3} stays only for {4} and {5}.",
    "After the move to {0}, {1} needs {2} on each {3}, and {4} is no longer set by {5}.",
    "The wrong {0} was taken for {1} since {2} sorts {3} by {4} and not by {5}.",
    "{0} of {1} is limited to {2}; more than that and {3} drops {4} without {5}.",
    "Tried {0} with {1} for {2}: no gain over {3}, and {4} became harder to {5}.",
    "Each {0} has one {1} and many {2}; deleting it also deletes {3}, {4} and {5}.",
    "If {0} is missing, {1} falls back to {2}, which is why {3} saw {4} in {5}.",
    "Names of {0} follow {1}: first the {2}, then {3}, with {4} at the end as in {5}.",
)

FRAMES: tuple[str, ...] = (
    "{}",
    "how do we {}",
    "why does the {} fail",
    "what is the {} for",
    "where did we put the {}",
    "is there a {} in this project",
    "what did we decide about {}",
)

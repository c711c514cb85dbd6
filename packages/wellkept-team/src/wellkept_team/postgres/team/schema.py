"""The second migration: organisations, people, tokens, audit, policies, row-level security; and
what the third adds to it.

Who asks is proved to the database, not told to it. A session sets `wellkept.credential`, derived
from a token (`core.team.people`); `asking()` looks it up at every statement, so a session that can
speak SQL is still only the person whose token it knows, and a revoked token ends at once. Policies
hold for every user of the database but its owner. `owner` of a memory is set by the database.

Words and fragments are found by GIN, whose operators PostgreSQL does not run before a policy; so
those two searches are functions that apply the same rule themselves.
"""

from __future__ import annotations

from typing import Final

from wellkept_team.postgres.schema import PARTITIONS, partition

TEXT = 'TEXT COLLATE "C"'
KEY = f"tenant {TEXT} NOT NULL CHECK (tenant <> ''), project {TEXT} NOT NULL"
DEFINER = "SECURITY DEFINER SET search_path = wellkept, public, pg_temp"

READER, WRITER, REVIEWER, ADMIN = range(1, 5)
ROLES: Final = ("reader", "writer", "reviewer", "admin")

_TABLES = (
    f"""CREATE TABLE organisations (
        {KEY},
        title {TEXT} NOT NULL,
        created_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant, project)
    )""",
    f"""CREATE TABLE people (
        {KEY},
        name {TEXT} NOT NULL CHECK (name <> ''),
        role {TEXT} NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
        created_ms BIGINT NOT NULL,
        removed_ms BIGINT,
        PRIMARY KEY (tenant, project, name)
    )""",
    # Of a token only a hash is kept, of what is derived from it.
    f"""CREATE TABLE tokens (
        {KEY},
        id {TEXT} NOT NULL CHECK (id <> ''),
        person {TEXT} NOT NULL,
        label {TEXT} NOT NULL,
        hash {TEXT} NOT NULL,
        created_ms BIGINT NOT NULL,
        expires_ms BIGINT,
        revoked_ms BIGINT,
        PRIMARY KEY (tenant, project, id)
    )""",
    "CREATE SEQUENCE audit_numbers",
    f"""CREATE TABLE audit (
        {KEY},
        number BIGINT NOT NULL DEFAULT nextval('audit_numbers'),
        at_ms BIGINT NOT NULL,
        person {TEXT} NOT NULL,
        token {TEXT} NOT NULL,
        action {TEXT} NOT NULL,
        subjects TEXT[] COLLATE "C" NOT NULL,
        PRIMARY KEY (tenant, project, number)
    )""",
    "CREATE INDEX audit_latest ON audit (tenant, number)",
    f"""CREATE TABLE policies (
        {KEY},
        body {TEXT} NOT NULL,
        updated_ms BIGINT NOT NULL,
        updated_by {TEXT} NOT NULL,
        PRIMARY KEY (tenant, project)
    )""",
    f"""CREATE TABLE managed_skills (
        {KEY},
        name {TEXT} NOT NULL CHECK (name <> ''),
        text {TEXT} NOT NULL,
        updated_ms BIGINT NOT NULL,
        updated_by {TEXT} NOT NULL,
        PRIMARY KEY (tenant, project, name)
    )""",
)

_ASKING = (
    f"""CREATE FUNCTION asking(OUT tenant TEXT, OUT person TEXT, OUT rank INT, OUT token TEXT)
        LANGUAGE plpgsql STABLE {DEFINER} AS $$
        DECLARE given TEXT[] := string_to_array(current_setting('wellkept.credential', true), '.');
        BEGIN
            IF cardinality(given) IS DISTINCT FROM 3 THEN RETURN; END IF;
            SELECT p.tenant, p.name, t.id,
                   array_position(ARRAY['reader', 'writer', 'reviewer', 'admin'], p.role::text)
              INTO tenant, person, token, rank
              FROM wellkept.tokens t
              JOIN wellkept.people p
                ON p.tenant = t.tenant AND p.project = '' AND p.name = t.person
             WHERE t.tenant = given[1] AND t.project = '' AND t.id = given[2]
               AND t.hash = encode(sha256(convert_to(given[3], 'UTF8')), 'hex')
               AND t.revoked_ms IS NULL AND p.removed_ms IS NULL
               AND (t.expires_ms IS NULL OR t.expires_ms > extract(epoch FROM now()) * 1000);
        END $$""",
    "CREATE FUNCTION asking_tenant() RETURNS TEXT LANGUAGE sql STABLE"
    " AS $$ SELECT tenant FROM wellkept.asking() $$",
    "CREATE FUNCTION asking_person() RETURNS TEXT LANGUAGE sql STABLE"
    " AS $$ SELECT coalesce(person, '') FROM wellkept.asking() $$",
    "CREATE FUNCTION asking_rank() RETURNS INT LANGUAGE sql STABLE"
    " AS $$ SELECT coalesce(rank, 0) FROM wellkept.asking() $$",
)

_OWNERS = (
    # '' are memories from before there were people, and those of the user of the address.
    f"ALTER TABLE memories ADD COLUMN owner {TEXT} NOT NULL DEFAULT ''",
    "ALTER TABLE memories ALTER COLUMN owner SET DEFAULT asking_person()",
    "CREATE INDEX memories_owner ON memories (tenant, owner) WHERE owner <> ''",
    "CREATE INDEX memories_id ON memories (tenant, id)",
    # What two people say about themselves may have the same key.
    "DROP INDEX memories_open_key",
    """CREATE UNIQUE INDEX memories_open_key ON memories (tenant, home, key_index)
       WHERE key IS NOT NULL AND valid_to_ms IS NULL AND home <> ''""",
    """CREATE UNIQUE INDEX memories_own_key ON memories (tenant, home, owner, key_index)
       WHERE key IS NOT NULL AND valid_to_ms IS NULL AND home = ''""",
)

_SEARCH = tuple(
    f"""CREATE FUNCTION {table}_holding(homes TEXT[], wanted {kind}[], operator_name TEXT)
        RETURNS SETOF {table} LANGUAGE plpgsql STABLE {DEFINER} AS $$
        BEGIN
            RETURN QUERY EXECUTE format(
                'SELECT t.* FROM wellkept.{table} t WHERE t.tenant = $1'
                ' AND ($2 IS NULL OR t.home = ANY($2)) AND t.{column} %s $3'
                ' AND (t.home <> '''' OR EXISTS (SELECT 1 FROM wellkept.memories m'
                ' WHERE m.tenant = $1 AND m.home = '''' AND m.number = t.number'
                ' AND m.owner = $4))',
                CASE operator_name WHEN 'any' THEN '&&' ELSE '@>' END)
            USING wellkept.asking_tenant(), homes, wanted, wellkept.asking_person();
        END $$"""
    for table, column, kind in (("texts", "tokens", "BIGINT"), ("fragments", "grams", "INT"))
)

_AUDIT = (
    f"""CREATE FUNCTION note(of_tenant TEXT, of_project TEXT, done TEXT, what TEXT[])
        RETURNS VOID LANGUAGE plpgsql {DEFINER} AS $$
        DECLARE who RECORD;
        BEGIN
            SELECT * INTO who FROM wellkept.asking();
            IF who.person IS NULL AND NOT EXISTS (SELECT 1 FROM wellkept.organisations o
                WHERE o.tenant = of_tenant AND o.project = '') THEN RETURN; END IF;
            INSERT INTO wellkept.audit (tenant, project, at_ms, person, token, action, subjects)
            VALUES (of_tenant, of_project, extract(epoch FROM clock_timestamp()) * 1000,
                    coalesce(who.person, '(operator)'), coalesce(who.token, ''), done, what);
        END $$""",
    f"""CREATE FUNCTION note_memory() RETURNS TRIGGER LANGUAGE plpgsql {DEFINER} AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                PERFORM wellkept.note(NEW.tenant, NEW.home, 'memory added', ARRAY[NEW.id]);
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM wellkept.note(OLD.tenant, OLD.home, 'memory deleted', ARRAY[OLD.id]);
            ELSIF NEW.valid_to_ms IS NOT NULL AND OLD.valid_to_ms IS NULL THEN
                PERFORM wellkept.note(NEW.tenant, NEW.home, 'memory closed', ARRAY[NEW.id]);
            ELSE
                PERFORM wellkept.note(NEW.tenant, NEW.home, 'memory changed', ARRAY[NEW.id]);
            END IF;
            RETURN NULL;
        END $$""",
    "CREATE TRIGGER memories_noted AFTER INSERT OR DELETE ON memories"
    " FOR EACH ROW EXECUTE FUNCTION note_memory()",
    # Counting an access is no change.
    "CREATE TRIGGER memories_change_noted AFTER UPDATE ON memories FOR EACH ROW"
    " WHEN ((OLD.content, OLD.extra, OLD.type, OLD.scope, OLD.project, OLD.importance,"
    " OLD.confidence, OLD.valid_to_ms, OLD.stale_ms, OLD.archived_ms, OLD.needs_review,"
    " OLD.user_verified, OLD.pinned, OLD.key, OLD.tags, OLD.files, OLD.relations, OLD.owner)"
    " IS DISTINCT FROM (NEW.content, NEW.extra, NEW.type, NEW.scope, NEW.project,"
    " NEW.importance, NEW.confidence, NEW.valid_to_ms, NEW.stale_ms, NEW.archived_ms,"
    " NEW.needs_review, NEW.user_verified, NEW.pinned, NEW.key, NEW.tags, NEW.files,"
    " NEW.relations, NEW.owner)) EXECUTE FUNCTION note_memory()",
    f"""CREATE FUNCTION note_administration() RETURNS TRIGGER LANGUAGE plpgsql {DEFINER} AS $$
        DECLARE known JSON := CASE TG_OP WHEN 'DELETE' THEN to_json(OLD) ELSE to_json(NEW) END;
        BEGIN
            PERFORM wellkept.note(known ->> 'tenant', known ->> 'project',
                CASE TG_TABLE_NAME WHEN 'people' THEN 'person ' WHEN 'tokens' THEN 'token '
                    WHEN 'policies' THEN 'policy ' WHEN 'managed_skills' THEN 'skill '
                    ELSE 'organisation ' END
                || CASE TG_OP WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'deleted'
                    ELSE 'changed' END,
                array_remove(ARRAY[known ->> 'name', known ->> 'id', known ->> 'person',
                    known ->> 'role'], NULL));
            RETURN NULL;
        END $$""",
    *(
        f"CREATE TRIGGER {table}_noted AFTER INSERT OR UPDATE OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION note_administration()"
        for table in ("organisations", "people", "tokens", "policies", "managed_skills")
    ),
    # Only what somebody else wrote is noted; who asks is looked up.
    f"""CREATE FUNCTION note_reads(read_ids TEXT[]) RETURNS BOOLEAN
        LANGUAGE plpgsql {DEFINER} AS $$
        DECLARE who RECORD;
        BEGIN
            SELECT * INTO who FROM wellkept.asking();
            INSERT INTO wellkept.audit (tenant, project, at_ms, person, token, action, subjects)
            SELECT m.tenant, m.home, extract(epoch FROM clock_timestamp()) * 1000, who.person,
                   who.token, 'memory read', array_agg(m.id ORDER BY m.id)
              FROM wellkept.memories m
             WHERE m.tenant = who.tenant AND m.id = ANY(read_ids) AND m.owner <> who.person
               AND m.owner <> ''
             GROUP BY m.tenant, m.home;
            RETURN who.person IS NOT NULL;
        END $$""",
    # A person may exchange the token they hold for a new one that lasts no longer.
    f"""CREATE FUNCTION rotate_own_token(new_id TEXT, new_hash TEXT) RETURNS BOOLEAN
        LANGUAGE plpgsql {DEFINER} AS $$
        DECLARE who RECORD; at BIGINT := extract(epoch FROM clock_timestamp()) * 1000;
        BEGIN
            SELECT * INTO who FROM wellkept.asking();
            IF who.token IS NULL THEN RETURN false; END IF;
            INSERT INTO wellkept.tokens
            SELECT tenant, project, new_id, person, label, new_hash, at, expires_ms, NULL
              FROM wellkept.tokens
             WHERE tenant = who.tenant AND project = '' AND id = who.token;
            UPDATE wellkept.tokens SET revoked_ms = at
             WHERE tenant = who.tenant AND project = '' AND id = who.token;
            RETURN true;
        END $$""",
)

_T = "tenant = (SELECT asking_tenant())"
_MINE = "owner = (SELECT asking_person())"
_SEEN = f"(home <> '' OR {_MINE})"
_VIA_MEMORY = (
    "(home <> '' OR EXISTS (SELECT 1 FROM memories m WHERE m.tenant = {table}.tenant"
    " AND m.home = '' AND m.number = {table}.number))"
)


def _rank(least: int) -> str:
    return f"(SELECT asking_rank()) >= {least}"


def _policies(
    table: str, *, see: str, add: str | None, change: str | None, drop: str | None
) -> list[str]:
    """Row-level security of one table; what has no rule is refused."""
    made = [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY {table}_see ON {table} FOR SELECT USING ({see})",
    ]
    if add is not None:
        made.append(f"CREATE POLICY {table}_add ON {table} FOR INSERT WITH CHECK ({add})")
    if change is not None:
        made.append(f"CREATE POLICY {table}_change ON {table} FOR UPDATE USING ({change})")
    if drop is not None:
        made.append(f"CREATE POLICY {table}_drop ON {table} FOR DELETE USING ({drop})")
    return made


_SHARED_TABLES = (
    "project_aliases", "key_values", "file_links", "activity", "activity_numbers", "sessions",
    "processed_events", "read_positions", "scratchpads", "signals", "explanations", "skill_uses",
    "skills", "skill_versions", "skill_runs", "injections", "injected_lines", "silent_lines",
    "models", "term_counts", "text_totals",
)  # fmt: skip


def _security() -> list[str]:
    writes = f"{_T} AND {_rank(WRITER)}"
    admins = f"{_T} AND {_rank(ADMIN)}"
    made = _policies(
        "memories",
        see=f"{_T} AND {_SEEN}",
        add=f"{writes} AND {_MINE}",
        change=f"{writes} AND {_SEEN}",
        drop=f"{writes} AND ({_MINE} OR ({_rank(REVIEWER)} AND home <> ''))",
    )
    for table in ("labels", "texts", "fragments", "vectors"):
        seen = _VIA_MEMORY.format(table=table)
        made += _policies(
            table, see=f"{_T} AND {seen}", add=writes, change=f"{writes} AND {seen}",
            drop=f"{writes} AND {seen}",
        )  # fmt: skip
    for number in range(PARTITIONS):
        # A search by index names the partition.
        one = partition("vectors", number)
        seen = _VIA_MEMORY.format(table=one)
        made += _policies(one, see=f"{_T} AND {seen}", add=None, change=None, drop=None)
    for table in _SHARED_TABLES:
        made += _policies(table, see=_T, add=writes, change=writes, drop=writes)
    reviewers = f"{_T} AND {_rank(REVIEWER)}"
    made += _policies("undo_steps", see=reviewers, add=writes, change=reviewers, drop=reviewers)
    for table in ("people", "policies", "managed_skills"):
        made += _policies(table, see=_T, add=admins, change=admins, drop=admins)
    made += _policies("organisations", see=_T, add=None, change=None, drop=None)
    own = "person = (SELECT asking_person())"
    made += _policies(
        "tokens", see=f"{_T} AND ({_rank(ADMIN)} OR {own})", add=admins, change=admins, drop=None
    )
    made += _policies(
        "audit", see=f"{_T} AND ({_rank(ADMIN)} OR {own})", add=None, change=None, drop=None
    )
    return made


TEAM_SCHEMA: Final[tuple[str, ...]] = (
    *_TABLES,
    *_ASKING,
    *_OWNERS,
    *_SEARCH,
    *_AUDIT,
    *_security(),
    # Functions may be called by everybody unless told otherwise.
    "REVOKE ALL ON FUNCTION note(TEXT, TEXT, TEXT, TEXT[]) FROM PUBLIC",
)

# What the third migration adds. The memory that a server makes of a shared record belongs to
# whoever shared it, whichever request brought it in.
SHARED_SECURITY: Final[tuple[str, ...]] = (
    *_policies(
        "shared_records",
        see=_T,
        add=f"{_T} AND {_rank(WRITER)}",
        change=f"{_T} AND {_rank(WRITER)}",
        drop=None,
    ),
    f"""CREATE FUNCTION owner_of_shared() RETURNS TRIGGER LANGUAGE plpgsql {DEFINER} AS $$
        DECLARE sharing TEXT;
        BEGIN
            SELECT r.owner INTO sharing FROM wellkept.shared_records r
             WHERE r.tenant = NEW.tenant AND r.project = NEW.project AND r.id = NEW.id;
            IF sharing IS NOT NULL AND NEW.home <> '' THEN NEW.owner := sharing; END IF;
            RETURN NEW;
        END $$""",
    "CREATE TRIGGER memories_shared BEFORE INSERT ON memories"
    " FOR EACH ROW EXECUTE FUNCTION owner_of_shared()",
    "DROP POLICY memories_add ON memories",
    f"CREATE POLICY memories_add ON memories FOR INSERT WITH CHECK ({_T} AND {_rank(WRITER)}"
    f" AND ({_MINE} OR EXISTS (SELECT 1 FROM shared_records r WHERE r.tenant = memories.tenant"
    " AND r.project = memories.project AND r.id = memories.id AND r.owner = memories.owner)))",
    f"""CREATE FUNCTION note_shared() RETURNS TRIGGER LANGUAGE plpgsql {DEFINER} AS $$
        BEGIN
            PERFORM wellkept.note(NEW.tenant, NEW.project, 'shared ' || NEW.state, ARRAY[NEW.id]);
            RETURN NULL;
        END $$""",
    "CREATE TRIGGER shared_records_noted AFTER INSERT OR UPDATE ON shared_records"
    " FOR EACH ROW EXECUTE FUNCTION note_shared()",
)

GRANTS: Final[tuple[str, ...]] = (
    "GRANT USAGE ON SCHEMA wellkept TO {role}",
    "GRANT SELECT ON schema_steps, audit, organisations TO {role}",
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON labels, texts, fragments, vectors, undo_steps,"
    f" people, policies, managed_skills, {', '.join(_SHARED_TABLES)} TO {{role}}",
    "GRANT SELECT, INSERT, DELETE ON memories TO {role}",
    "GRANT SELECT, INSERT, UPDATE ON shared_records TO {role}",
    f"GRANT SELECT ON {', '.join(partition('vectors', n) for n in range(PARTITIONS))} TO {{role}}",
    "GRANT SELECT (tenant, project, id, person, label, created_ms, expires_ms, revoked_ms),"
    " INSERT, UPDATE (revoked_ms) ON tokens TO {role}",
    "GRANT USAGE ON SEQUENCE memory_numbers TO {role}",
)
"""What the role of a team's server may do; `UPDATE` of memories is granted by column."""
NOT_TO_BE_UPDATED: Final = ("tenant", "owner", "number")
"""Columns of a memory that no person changes."""

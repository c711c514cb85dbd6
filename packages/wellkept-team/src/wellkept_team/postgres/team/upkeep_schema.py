"""The fourth migration: the database itself deletes what policies keep no longer.

A server's role may neither delete a memory of others nor an entry of the audit log, and it holds no
key of the owner. So upkeep is functions that run as the owner and do only what the policies of an
organisation say, by the clock of the database. Anybody may set it going; only the owner and an
administrator are told what would go.

What the team still shares is left alone: laptops read it without the server noticing. Of a shared
record that ended, the text is erased with the memory.

Also here: reads of what others shared are noted, as those of memories are.
"""

from __future__ import annotations

from typing import Final

from wellkept_team.postgres.connection.database import CHANNEL
from wellkept_team.postgres.team.schema import DEFINER, KEY, TEXT

UPKEEP_LOCK: Final = 0x57656C6D
_DAY_MS: Final = 86_400_000

_NOTE = f"""CREATE OR REPLACE FUNCTION note(of_tenant TEXT, of_project TEXT, done TEXT, what TEXT[])
    RETURNS VOID LANGUAGE plpgsql {DEFINER} AS $$
    DECLARE who RECORD;
    BEGIN
        SELECT * INTO who FROM wellkept.asking();
        IF who.person IS NULL AND NOT EXISTS (SELECT 1 FROM wellkept.organisations o
            WHERE o.tenant = of_tenant AND o.project = '') THEN RETURN; END IF;
        INSERT INTO wellkept.audit (tenant, project, at_ms, person, token, action, subjects)
        VALUES (of_tenant, of_project, extract(epoch FROM clock_timestamp()) * 1000,
                coalesce(who.person, nullif(current_setting('wellkept.acting', true), ''),
                         '(operator)'),
                coalesce(who.token, ''), done, what);
    END $$"""

_POLICY_DAYS = f"""CREATE FUNCTION policy_days(of_tenant TEXT, of_project TEXT, of_what TEXT)
    RETURNS INT LANGUAGE sql STABLE {DEFINER} AS $$
        SELECT (body::json ->> of_what)::int FROM wellkept.policies
         WHERE tenant = of_tenant AND project = of_project $$"""

_OUTDATED = f"""CREATE FUNCTION outdated(of_tenant TEXT)
    RETURNS TABLE (home TEXT, number BIGINT, id TEXT, days INT)
    LANGUAGE plpgsql STABLE {DEFINER} AS $$
    DECLARE usual INT := wellkept.policy_days(of_tenant, '', 'retention_days');
    BEGIN
        IF usual IS NULL AND NOT EXISTS (SELECT 1 FROM wellkept.policies p
            WHERE p.tenant = of_tenant AND p.body::json ->> 'retention_days' IS NOT NULL)
        THEN RETURN; END IF;
        RETURN QUERY
        SELECT m.home, m.number, m.id, d.days
          FROM (SELECT p.home AS of_home, coalesce(
                    wellkept.policy_days(of_tenant, p.home, 'retention_days'), usual) AS days
                  FROM (SELECT DISTINCT one.home FROM wellkept.memories one
                         WHERE one.tenant = of_tenant AND one.home <> '') AS p) AS d
          JOIN wellkept.memories m ON m.tenant = of_tenant AND m.home = d.of_home
         WHERE d.days IS NOT NULL AND NOT m.pinned
           AND greatest(m.created_ms, m.updated_ms, m.accessed_ms)
               < extract(epoch FROM now()) * 1000 - d.days * {_DAY_MS}::bigint
           AND NOT EXISTS (SELECT 1 FROM wellkept.shared_records r WHERE r.tenant = of_tenant
                AND r.project = m.home AND r.id = m.id
                AND r.state IN ('proposed', 'brought back', 'team'));
    END $$"""

_DELETE = f"""CREATE FUNCTION delete_outdated(of_tenant TEXT, most INT) RETURNS INT
    LANGUAGE plpgsql {DEFINER} AS $$
    DECLARE homes TEXT[]; numbers BIGINT[]; ids TEXT[]; last_number BIGINT;
    BEGIN
        SELECT array_agg(o.home), array_agg(o.number), array_agg(o.id) INTO homes, numbers, ids
          FROM (SELECT * FROM wellkept.outdated(of_tenant) LIMIT most) AS o;
        IF ids IS NULL THEN RETURN 0; END IF;
        -- Counts of words, as the writer of memories keeps them.
        INSERT INTO wellkept.term_counts (tenant, project, term, memories)
        SELECT of_tenant, '', w.term, -count(*)
          FROM (SELECT DISTINCT t.home, t.number, unnest(t.tokens) AS term
                  FROM unnest(homes, numbers) AS d (home, number)
                  JOIN wellkept.texts t
                    ON t.tenant = of_tenant AND t.home = d.home AND t.number = d.number) AS w
         WHERE w.term <> 0 GROUP BY w.term ORDER BY w.term
        ON CONFLICT (tenant, project, term)
        DO UPDATE SET memories = wellkept.term_counts.memories + excluded.memories;
        UPDATE wellkept.text_totals x SET memories = x.memories - s.memories,
               tokens = x.tokens - s.tokens
          FROM (SELECT count(*) AS memories, coalesce(sum(t.length), 0) AS tokens
                  FROM unnest(homes, numbers) AS d (home, number)
                  JOIN wellkept.texts t
                    ON t.tenant = of_tenant AND t.home = d.home AND t.number = d.number) AS s
         WHERE x.tenant = of_tenant AND x.project = '';
        -- Live pages and laptops hear of it.
        INSERT INTO wellkept.activity_numbers AS a (tenant, project, last)
        VALUES (of_tenant, '', cardinality(ids)) ON CONFLICT (tenant, project)
        DO UPDATE SET last = a.last + excluded.last RETURNING last INTO last_number;
        INSERT INTO wellkept.activity (tenant, project, number, at_ms, kind, everywhere,
               memory_id, session_id, subject)
        SELECT of_tenant, m.project, last_number - cardinality(ids) + d.place,
               extract(epoch FROM now()) * 1000, 'memory_deleted', false, m.id, m.session_id, NULL
          FROM unnest(homes, numbers) WITH ORDINALITY AS d (home, number, place)
          JOIN wellkept.memories m
            ON m.tenant = of_tenant AND m.home = d.home AND m.number = d.number;
        {{deletions}}
        UPDATE wellkept.memories SET superseded_by = NULL
         WHERE tenant = of_tenant AND superseded_by = ANY(ids);
        DELETE FROM wellkept.explanations WHERE tenant = of_tenant AND memory_id = ANY(ids);
        UPDATE wellkept.injected_lines SET text = '', reason = '', outcome_by = ''
         WHERE tenant = of_tenant AND memory_id = ANY(ids);
        DELETE FROM wellkept.silent_lines WHERE tenant = of_tenant AND line_id = ANY(ids);
        -- Under the next numbers, so that laptops erase it, too.
        UPDATE wellkept.shared_records r SET state = 'erased', statement = '', waiting = false,
               body = '{{{{"shared": null}}}}', seq = n.seq
          FROM (SELECT s.project, s.id, row_number() OVER (PARTITION BY s.project ORDER BY s.seq)
                       + (SELECT max(h.seq) FROM wellkept.shared_records h
                           WHERE h.tenant = of_tenant AND h.project = s.project) AS seq
                  FROM wellkept.shared_records s
                 WHERE s.tenant = of_tenant AND s.state = 'closed' AND s.id = ANY(ids)
                   AND s.project = ANY(homes)) AS n
         WHERE r.tenant = of_tenant AND r.project = n.project AND r.id = n.id;
        PERFORM pg_notify('{CHANNEL}', of_tenant);
        RETURN cardinality(ids);
    END $$""".format(
    deletions="\n        ".join(
        f"DELETE FROM wellkept.{table} t USING unnest(homes, numbers) AS d (home, number)"
        " WHERE t.tenant = of_tenant AND t.home = d.home AND t.number = d.number;"
        for table in ("texts", "labels", "fragments", "vectors", "memories")
    )
)

_PRUNE = f"""CREATE FUNCTION prune_audit(of_tenant TEXT, most INT) RETURNS INT
    LANGUAGE plpgsql {DEFINER} AS $$
    DECLARE days INT := wellkept.policy_days(of_tenant, '', 'audit_days');
            since TIMESTAMPTZ := now() - make_interval(days => days); gone INT;
    BEGIN
        IF days IS NULL THEN RETURN 0; END IF;
        DELETE FROM wellkept.audit a WHERE a.tenant = of_tenant AND a.number IN (
            SELECT o.number FROM wellkept.audit o WHERE o.tenant = of_tenant
               AND o.at_ms < extract(epoch FROM since) * 1000 ORDER BY o.at_ms LIMIT most);
        GET DIAGNOSTICS gone = ROW_COUNT;
        IF gone > 0 THEN
            PERFORM wellkept.note(of_tenant, '', 'audit pruned', ARRAY[gone::text,
                'before ' || to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')]);
        END IF;
        RETURN gone;
    END $$"""

_MAY = f"""CREATE FUNCTION require_upkeep(of_tenant TEXT) RETURNS VOID
    LANGUAGE plpgsql STABLE {DEFINER} AS $$
    DECLARE who RECORD;
    BEGIN
        SELECT * INTO who FROM wellkept.asking();
        IF who.tenant IS NOT DISTINCT FROM of_tenant AND who.rank >= 4 THEN RETURN; END IF;
        IF who.tenant IS NULL AND pg_has_role(session_user, (SELECT c.relowner FROM pg_class c
            WHERE c.oid = 'wellkept.memories'::regclass), 'USAGE') THEN RETURN; END IF;
        RAISE insufficient_privilege USING MESSAGE = 'upkeep needs an administrator';
    END $$"""

_PREVIEW = f"""CREATE FUNCTION upkeep_preview(of_tenant TEXT)
    RETURNS TABLE (project TEXT, days INT, ids TEXT[], entries BIGINT)
    LANGUAGE plpgsql STABLE {DEFINER} AS $$
    DECLARE kept INT := wellkept.policy_days(of_tenant, '', 'audit_days');
    BEGIN
        PERFORM wellkept.require_upkeep(of_tenant);
        RETURN QUERY SELECT o.home, o.days, array_agg(o.id ORDER BY o.id), 0::bigint
          FROM wellkept.outdated(of_tenant) o GROUP BY o.home, o.days ORDER BY o.home;
        RETURN QUERY SELECT ''::text, kept, ARRAY[]::text[], count(*) FROM wellkept.audit a
         WHERE kept IS NOT NULL AND a.tenant = of_tenant
           AND a.at_ms < extract(epoch FROM now() - make_interval(days => kept)) * 1000;
    END $$"""

_KEEP_UP = f"""CREATE FUNCTION keep_up(of_tenant TEXT, most INT, OUT memories INT, OUT entries INT)
    LANGUAGE plpgsql {DEFINER} AS $$
    BEGIN
        PERFORM wellkept.require_upkeep(of_tenant);
        PERFORM pg_advisory_xact_lock(hashtextextended(of_tenant, 0));
        memories := wellkept.delete_outdated(of_tenant, most);
        entries := wellkept.prune_audit(of_tenant, most);
    END $$"""

# One organisation a call, so that writers wait for one short transaction only. One that fails is
# noted and does not keep the others from it.
_KEEP_UP_NEXT = f"""CREATE FUNCTION keep_up_next(every_ms BIGINT, most INT,
        OUT outcome TEXT, OUT memories INT, OUT entries INT)
    LANGUAGE plpgsql {DEFINER} AS $$
    DECLARE whose TEXT; at BIGINT := extract(epoch FROM clock_timestamp()) * 1000;
    BEGIN
        memories := 0; entries := 0;
        IF NOT pg_try_advisory_xact_lock({UPKEEP_LOCK}) THEN outcome := 'busy'; RETURN; END IF;
        SELECT o.tenant INTO whose FROM wellkept.organisations o
          LEFT JOIN wellkept.upkeep u ON u.tenant = o.tenant AND u.project = ''
         WHERE o.project = '' AND coalesce(u.at_ms, 0) <= at - every_ms
         ORDER BY coalesce(u.at_ms, 0), o.tenant LIMIT 1;
        IF whose IS NULL THEN outcome := 'none'; RETURN; END IF;
        BEGIN
            PERFORM set_config('wellkept.acting', '(upkeep)', true);
            PERFORM pg_advisory_xact_lock(hashtextextended(whose, 0));
            memories := wellkept.delete_outdated(whose, most);
            entries := wellkept.prune_audit(whose, most);
            outcome := CASE WHEN greatest(memories, entries) >= most THEN 'more' ELSE 'done' END;
        EXCEPTION WHEN OTHERS THEN
            outcome := 'failed'; memories := 0; entries := 0;
        END;
        PERFORM set_config('wellkept.acting', '', true);
        INSERT INTO wellkept.upkeep AS u (tenant, project, at_ms, outcome)
        VALUES (whose, '', CASE outcome WHEN 'more' THEN 0 ELSE at END, outcome)
        ON CONFLICT (tenant, project)
        DO UPDATE SET at_ms = excluded.at_ms, outcome = excluded.outcome;
    END $$"""

_NOTE_SHARED_READS = f"""CREATE FUNCTION note_shared_reads(of_project TEXT, read_ids TEXT[])
    RETURNS BOOLEAN LANGUAGE plpgsql {DEFINER} AS $$
    DECLARE who RECORD;
    BEGIN
        SELECT * INTO who FROM wellkept.asking();
        INSERT INTO wellkept.audit (tenant, project, at_ms, person, token, action, subjects)
        SELECT r.tenant, r.project, extract(epoch FROM clock_timestamp()) * 1000, who.person,
               who.token, 'shared read', array_agg(r.id ORDER BY r.id)
          FROM wellkept.shared_records r
         WHERE r.tenant = who.tenant AND r.project = of_project AND r.id = ANY(read_ids)
           AND r.owner <> who.person AND r.state <> 'erased'
         GROUP BY r.tenant, r.project;
        RETURN who.person IS NOT NULL;
    END $$"""

UPKEEP: Final[tuple[str, ...]] = (
    f"""CREATE TABLE upkeep (
        {KEY},
        at_ms BIGINT NOT NULL,
        outcome {TEXT} NOT NULL,
        PRIMARY KEY (tenant, project)
    )""",
    "ALTER TABLE upkeep ENABLE ROW LEVEL SECURITY",
    "CREATE INDEX audit_at ON audit (tenant, at_ms)",
    _NOTE,
    _POLICY_DAYS,
    _OUTDATED,
    _DELETE,
    _PRUNE,
    _MAY,
    _PREVIEW,
    _KEEP_UP,
    _KEEP_UP_NEXT,
    _NOTE_SHARED_READS,
    *(
        f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC"
        for name in (
            "policy_days(TEXT, TEXT, TEXT)",
            "outdated(TEXT)",
            "delete_outdated(TEXT, INT)",
            "prune_audit(TEXT, INT)",
        )
    ),
)

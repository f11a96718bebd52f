"""What a ledger consists of on a PostgreSQL server, as SQL: tables, guards, and roles with what each may write.

The guards say the same to everyone, the owner of the tables too: lines follow one another, each seals the one before,
says truly who wrote it and when, and stays. Roles are PostgreSQL's own: grants for tables, policies for kinds of lines.
Text alone; nothing here connects to anything. Names of ledgers are checked in `places`.
"""

from __future__ import annotations

# Which kinds of lines a role may add. All of them read. A board signs heads, with a key that is not on the server.
# A disclosure without a guarantee is a steward's decision and an operator's run: it takes someone who is both.
ROLES = {
    "operator": ("reserve", "begin", "commit", "failed", "note"),
    "steward": ("open", "cap", "waive", "overlap", "supersede", "note"),
    "board": ("note",),
    "reader": (),
}

_SEAL = "encode(sha256(convert_to({text}, 'UTF8')), 'hex')"

# The lock is taken here too, for whoever writes without this package.
_ENTRY = f"""
DECLARE
    last record;
    facts json := NEW.body;
    hidden json := NEW.private;
    moment timestamptz := hidden ->> 'time';
BEGIN
    PERFORM pg_advisory_xact_lock({{lock}});
    SELECT number, hash INTO last FROM "{{name}}".entries ORDER BY number DESC LIMIT 1;
    IF NEW.number IS DISTINCT FROM coalesce(last.number, 0) + 1 THEN
        RAISE EXCEPTION 'the ledger is append-only';
    END IF;
    IF NEW.hash IS DISTINCT FROM {_SEAL.format(text="NEW.body")}
        OR facts ->> 'previous' IS DISTINCT FROM coalesce(last.hash, repeat('0', 64))
        OR facts ->> 'private' IS DISTINCT FROM {_SEAL.format(text="NEW.private")} THEN
        RAISE EXCEPTION 'an entry seals itself and the one before it';
    END IF;
    IF hidden ->> 'author' IS DISTINCT FROM session_user THEN
        RAISE EXCEPTION 'the author of an entry is who is logged in';
    END IF;
    IF moment IS NULL OR abs(extract(epoch FROM moment - clock_timestamp())) > 600
        OR facts ->> 'time' IS DISTINCT FROM to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD') THEN
        RAISE EXCEPTION 'the time of an entry is the time of the server';
    END IF;
    RETURN NEW;
END
"""

_RESULT = """
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM "{name}".entries WHERE number = NEW.number AND body::json ->> 'kind' = 'commit'
        AND body::json ->> 'sha256' = encode(sha256(NEW.content), 'hex')
    ) THEN
        RAISE EXCEPTION 'a result belongs to the entry that announces it';
    END IF;
    RETURN NEW;
END
"""

_KEPT = """
BEGIN
    RAISE EXCEPTION 'the ledger is append-only';
END
"""

_FUNCTIONS = {"entry": _ENTRY, "result": _RESULT, "kept": _KEPT}

# Table, trigger, its function, when it fires, and the same as the bits of pg_trigger.tgtype.
_TRIGGERS = (
    ("entries", "entries_in_order", "entry", "BEFORE INSERT ON {} FOR EACH ROW", 7),
    ("entries", "entries_kept", "kept", "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT", 58),
    ("results", "results_announced", "result", "BEFORE INSERT ON {} FOR EACH ROW", 7),
    ("results", "results_kept", "kept", "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT", 58),
)
# Names in a guard mean the server's own, whatever the session of the writer has in front of them.
_PATH = "search_path=pg_catalog, pg_temp"


def lock(name: str, request: str = "") -> str:
    """The advisory lock of a ledger, or of one request to it, as SQL."""
    return f"hashtextextended('tacita {name} {request}', 0)"


def tables(name: str) -> list[str]:
    return [
        f"""CREATE TABLE "{name}".entries (
    number integer PRIMARY KEY, body text NOT NULL, private text, hash text NOT NULL)""",
        f"""CREATE TABLE "{name}".results (
    number integer PRIMARY KEY REFERENCES "{name}".entries (number), content bytea NOT NULL)""",
    ]


def guards(name: str) -> list[str]:
    made = [
        f'CREATE FUNCTION "{name}".{function}() RETURNS trigger LANGUAGE plpgsql SET {_PATH} AS $guard${source}$guard$'
        for function, source in _sources(name).items()
    ]
    for table, trigger, function, when, _ in _TRIGGERS:
        place = f'"{name}".{table}'
        made.append(f'CREATE TRIGGER {trigger} {when.format(place)} EXECUTE FUNCTION "{name}".{function}()')
        # Also where a session says that it only applies what another server has checked.
        made.append(f"ALTER TABLE {place} ENABLE ALWAYS TRIGGER {trigger}")
    return made


def expected_guards(name: str) -> set[tuple[str, str, int, str, str, str]]:
    """What the catalogue of the server says of them; see `GUARDS`."""
    sources = _sources(name)
    return {(table, trigger, bits, "A", sources[function], _PATH) for table, trigger, function, _, bits in _TRIGGERS}


GUARDS = """
SELECT c.relname::text, t.tgname::text, t.tgtype::integer, t.tgenabled::text, p.prosrc,
    array_to_string(p.proconfig, ';')
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
WHERE n.nspname = ? AND NOT t.tgisinternal
"""


def _sources(name: str) -> dict[str, str]:
    return {function: source.format(name=name, lock=lock(name)) for function, source in _FUNCTIONS.items()}


def roles(name: str) -> list[str]:
    """The roles of a ledger, and what each may do. May be run again."""
    entries, results = f'"{name}".entries', f'"{name}".results'
    made = [
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}_{role}') THEN "
        f'CREATE ROLE "{name}_{role}" NOLOGIN; END IF; END $$'
        for role in ROLES
    ]
    made += [f'GRANT "{name}_reader" TO "{name}_{role}"' for role in ROLES if role != "reader"]
    made += [
        f'GRANT USAGE ON SCHEMA "{name}" TO "{name}_reader"',
        f'GRANT SELECT ON {entries}, {results} TO "{name}_reader"',
        f'GRANT INSERT ON {results} TO "{name}_operator"',
        f"ALTER TABLE {entries} ENABLE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS reading ON {entries}",
        f'CREATE POLICY reading ON {entries} FOR SELECT TO "{name}_reader" USING (true)',
    ]
    kind = "body::json ->> 'kind'"
    rules = [(role, role, f"{kind} IN ({', '.join(map(repr, kinds))})") for role, kinds in ROLES.items() if kinds]
    rules.append(("disclosure", "steward", f"{kind} = 'disclose' AND pg_has_role('{name}_operator', 'USAGE')"))
    for policy, role, rule in rules:
        made += [
            f'GRANT INSERT ON {entries} TO "{name}_{role}"',
            f"DROP POLICY IF EXISTS {policy} ON {entries}",
            f'CREATE POLICY {policy} ON {entries} FOR INSERT TO "{name}_{role}" WITH CHECK ({rule})',
        ]
    return made


def script(name: str, *, with_roles: bool) -> str:
    """All of it, for an administrator to look at and to run with psql."""
    made = [f'CREATE SCHEMA "{name}"', *tables(name), *guards(name), *(roles(name) if with_roles else [])]
    return "\n".join(("BEGIN;", *(f"{one};" for one in made), "COMMIT;"))

"""Named migrations: each applied once, whole or not at all, and recorded with the version that did."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from braindex.registry.database import BUSY_SECONDS, MOVE_AWAY, Database
from braindex.registry.failures import StoreTooNew

# "brdx" in ASCII. Tells a store from any other application's SQLite file (PRAGMA application_id).
APPLICATION_ID: Final = 0x62726478
_TABLE: Final = "CREATE TABLE migrations (name TEXT PRIMARY KEY, version TEXT NOT NULL, applied TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Migration:
    """A step of a schema. Once released, its statements never change; a new step is added instead."""

    name: str
    statements: tuple[str, ...]


def running_version() -> str:
    """The installed braindex's version, or "unknown" in a source tree that was never installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and only a migration needs it

    try:
        return version("braindex")
    except PackageNotFoundError:
        return "unknown"


def applied(database: Database) -> dict[str, str]:
    """Names of the migrations in the file, each with the version that applied it, oldest first."""
    if not database.value("SELECT count(*) FROM sqlite_master WHERE name = 'migrations'"):
        return {}
    return dict(database.rows("SELECT name, version FROM migrations ORDER BY rowid"))


def open_store(
    path: Path,
    migrations: Sequence[Migration],
    *,
    remedy: str = MOVE_AWAY,
    keep_copy: bool = False,
    busy_seconds: float = BUSY_SECONDS,
) -> Database:
    """Open a database at its newest schema, created and migrated as needed; several processes may at once.

    `remedy` ends the message when the file is damaged. With `keep_copy` the file is copied to
    `<name>.before-<migration>` before a migration changes it. Raises what `Database.open` raises,
    StoreTooNew, and StoreDamaged for a database of another application or one that lost a part of its schema.
    """
    database = Database.open(path, remedy=remedy, busy_seconds=busy_seconds)
    try:
        pending = _pending(database, migrations)
        if pending:  # of a new file, which waits for all of them, there is nothing to keep
            _migrate(database, migrations, keep_copy=keep_copy and len(pending) < len(migrations))
        _check_schema(database, tuple(migrations))
    except BaseException:
        database.close()
        raise
    return database


def check_store(
    path: Path, migrations: Sequence[Migration], *, remedy: str = MOVE_AWAY, busy_seconds: float = BUSY_SECONDS
) -> None:
    """Raise StoreDamaged or StoreTooNew where `open_store` would, before a byte of the file is changed.

    Also raises StoreLocked, and StoreReadOnly, StoreFull or StoreFailed for a file that cannot be looked at.
    """
    with Database.reading(path, remedy=remedy, busy_seconds=busy_seconds) as looking:
        if not _pending(looking, migrations):
            _check_schema(looking, tuple(migrations))


def _migrate(database: Database, migrations: Sequence[Migration], *, keep_copy: bool) -> None:
    """Each step in a transaction of its own; what another process applied meanwhile is left out."""
    for migration in migrations:
        with database.transaction():
            if migration not in _pending(database, migrations):
                continue
            if keep_copy:
                database.copy_to(database.path.with_name(f"{database.path.name}.before-{migration.name}"))
            _apply(database, migration, running_version())


def _check_schema(database: Database, migrations: tuple[Migration, ...]) -> None:
    lost = _schema(migrations) - _objects(database)
    if lost:
        raise database.damaged(f"its schema lost {', '.join(sorted(name for name, _ in lost))}")


@functools.cache
def _schema(migrations: tuple[Migration, ...]) -> frozenset[tuple[str, str]]:
    """What the migrations make, as an empty store in memory has it."""
    with Database.in_memory() as empty:
        for migration in migrations:
            _apply(empty, migration, version="")
        return _objects(empty)


def _objects(database: Database) -> frozenset[tuple[str, str]]:
    """Every table and index with its definition; the tables that a virtual one makes for itself have a definition
    that changes with SQLite's version, and so count by name.
    """
    rows: dict[str, str | None] = dict(database.rows("SELECT name, sql FROM sqlite_master"))
    virtual = tuple(f"{name}_" for name, sql in rows.items() if (sql or "").startswith("CREATE VIRTUAL"))
    return frozenset((name, "" if name.startswith(virtual) else sql or "") for name, sql in rows.items())


def _pending(database: Database, migrations: Sequence[Migration]) -> list[Migration]:
    with database.snapshot():  # else a file that another opener migrates meanwhile would look like a foreign one
        done = applied(database)
        if not done:
            _refuse_foreign(database)
    unknown = [version for name, version in done.items() if name not in {one.name for one in migrations}]
    pending = [one for one in migrations if one.name not in done]
    if unknown and pending:  # a newer version applies ours first
        raise database.damaged("its list of migrations is not one that braindex wrote")
    if unknown:
        raise StoreTooNew(database.path, unknown[-1])
    return pending


def _refuse_foreign(database: Database) -> None:
    tables = database.value("SELECT count(*) FROM sqlite_master")
    if tables or database.value("PRAGMA application_id") not in (0, APPLICATION_ID):
        raise database.damaged("it is a database of another application")


def _apply(database: Database, migration: Migration, version: str) -> None:
    if not applied(database):
        database.run(f"PRAGMA application_id = {APPLICATION_ID}")
        database.run(_TABLE)
    for statement in migration.statements:
        database.run(statement)
    database.run(
        "INSERT INTO migrations VALUES (?, ?, ?)",
        (migration.name, version, datetime.now(UTC).isoformat(timespec="seconds")),
    )

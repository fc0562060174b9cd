"""One SQLite file: opening, pragmas, transactions. Every error that leaves is a StoreError."""

import contextlib
import functools
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from braindex.registry.disk import make_private_file, make_private_folder
from braindex.registry.failures import (
    SearchMissing,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    file_identity,
    os_failure,
    sqlite_failure,
)
from braindex.registry.wal import cut_off_uncommitted

Row = tuple[Any, ...]
T = TypeVar("T")

# How long a writer waits for another before it gives up: several times what the largest batch takes.
BUSY_SECONDS: Final = 15.0
MOVE_AWAY: Final = "Move it away, then try again."
_LARGEST: Final = 2**63 - 1  # that an INTEGER of SQLite holds
# SQLite allows 32,766 parameters from 3.32 on, and the planner is fastest with short lists.
_CHUNK: Final = 500
_RETRY_SECONDS: Final = 0.01


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """The values in lists that are short enough for one `IN (…)`."""
    everything = list(values)
    for start in range(0, len(everything), _CHUNK):
        yield everything[start : start + _CHUNK]


def marks(values: Sequence[object]) -> str:
    """`?,?,?`: one parameter mark a value."""
    return ",".join("?" * len(values))


def storable(text: str) -> str:
    """Text as SQLite can hold it: a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _holdable(value: Any) -> Any:
    return max(-_LARGEST, min(value, _LARGEST)) if isinstance(value, int) else value


def _log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def _has_content(log: Path) -> bool:
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:  # not to be looked at: it may hold anything
        return True


@functools.cache
def _has_full_text_search() -> bool:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())


class Closing:
    """What is closed at the end of a `with` block. A subclass says how."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Database(Closing):
    """An open SQLite file in write-ahead mode: many readers and one writer at a time, across processes.

    A connection is in one thread's hands at a time. Use as a context manager, or call `close`.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, remedy: str) -> None:
        self.path = path
        self.remedy = remedy
        self._connection = connection
        self._identity = file_identity(path)
        self._depth = 0
        self._alone = False
        self._frozen = False

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        remedy: str = MOVE_AWAY,
        busy_seconds: float = BUSY_SECONDS,
    ) -> Self:
        """Open a file, creating an empty one where none is; new files are 0600, new folders 0700.

        One that this user may only read is opened to be read: what writes raises StoreReadOnly. `remedy` ends the
        message when the file is damaged. Raises StoreDamaged, StoreLocked, StoreReadOnly, StoreFull, SearchMissing,
        StoreFailed.
        """
        if not _has_full_text_search():
            raise SearchMissing(path)
        make_private_folder(path.parent)
        make_private_file(path)
        try:
            return cls._connected(path, remedy, busy_seconds)
        except StoreFull:
            return cls._connected(path, remedy, busy_seconds, alone=True)
        except StoreReadOnly:
            return cls.reading(path, remedy=remedy, busy_seconds=busy_seconds)

    @classmethod
    def reading(cls, path: Path, *, remedy: str = MOVE_AWAY, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open an existing file just to look at it: no byte of it changes, whatever it is.

        Opening for writing turns write-ahead mode on, even in another application's file, and the last one to close
        folds the log into a file that is damaged. Raises what `open` raises.
        """
        looking = cls._looking(path, "mode=ro", remedy, busy_seconds)
        try:
            looking.value("PRAGMA schema_version")
        except StoreReadOnly:
            looking.close()
            if _has_content(_log_of(path)):
                raise
            return cls._looking(path, "immutable=1", remedy, busy_seconds)
        except StoreLocked:  # whoever reads it would wait for as long once more
            looking.close()
            raise
        except StoreError:
            pass  # whoever reads it gets the reason
        return looking

    @classmethod
    def _looking(cls, path: Path, how: str, remedy: str, busy_seconds: float) -> Self:
        """A connection that cannot write.

        In write-ahead mode SQLite keeps an index of the log beside the file, also to read it; where it can make none,
        `immutable=1` reads the file alone, without locks (https://www.sqlite.org/wal.html#readonly). That is the whole
        state where no log holds more, and for as long as nobody writes, so such a connection is not kept.
        """
        address = re.sub("^file://(?=[^/])", "file:////", path.absolute().as_uri())  # SQLite takes no host for a share
        try:
            connection = sqlite3.connect(
                f"{address}?{how}", uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise sqlite_failure(path, error, remedy) from error
        looking = cls(path, connection, remedy)
        looking._frozen = how == "immutable=1"
        looking.run("PRAGMA trusted_schema = OFF")
        return looking

    @classmethod
    def in_memory(cls) -> Self:
        """A store that is gone when it is closed."""
        return cls(Path(":memory:"), sqlite3.connect(":memory:", isolation_level=None), MOVE_AWAY)

    @classmethod
    def _connected(cls, path: Path, remedy: str, busy_seconds: float, *, alone: bool = False) -> Self:
        try:
            connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise sqlite_failure(path, error, remedy) from error
        database = cls(path, connection, remedy)
        try:
            database._prepare(busy_seconds, alone=alone)
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, busy_seconds: float, *, alone: bool) -> None:
        """Set the pragmas. Turning write-ahead mode on does not wait for other openers, so this does.

        `alone` keeps others out and the index of the write-ahead log in memory: even reading needs 32 kB of disk for
        it otherwise, which a full disk does not have (https://www.sqlite.org/wal.html#noshm).
        """
        self._alone = alone
        if alone:
            self.run("PRAGMA locking_mode = EXCLUSIVE")
        deadline = time.monotonic() + busy_seconds
        while self.value("PRAGMA journal_mode") != "wal":
            try:
                # A file system without shared memory stays in its mode: slower, but right.
                if self.value("PRAGMA journal_mode = WAL") != "wal":
                    break
            except StoreLocked:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
        # NORMAL: a power cut may undo the last commits but never damages a file in write-ahead mode.
        self.run("PRAGMA synchronous = NORMAL")
        self.run("PRAGMA foreign_keys = ON")
        self.run("PRAGMA trusted_schema = OFF")  # a file that came with a checkout runs no functions of ours
        self.run("PRAGMA cache_size = -16000")  # 16 MB: a batch of writes without spilling

    def sync_each_commit(self) -> None:
        """From here on no power cut undoes a commit, for what cannot be made again; each takes the disk's time.

        On macOS only F_FULLFSYNC empties the disk's own cache; elsewhere the last two change nothing.
        """
        self.run("PRAGMA synchronous = FULL")
        self.run("PRAGMA fullfsync = ON")
        self.run("PRAGMA checkpoint_fullfsync = ON")

    def close(self) -> None:
        """Release the file. The last one out folds the write-ahead log into it."""
        with contextlib.suppress(sqlite3.Error):  # nothing is open in a transaction; the log is folded in later
            self._connection.close()

    def outer_state(self) -> tuple[int, ...] | None:
        """What tells whether the file is still the one that was opened, as it was left: device, inode, size, time and
        schema version. None where this connection may not be kept: it is in a transaction, keeps others out, or sees
        nothing of what they write.
        """
        if self._alone or self._frozen or self._connection.in_transaction:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return None
        version = self.value("PRAGMA schema_version")
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, version

    def damaged(self, detail: str) -> StoreDamaged:
        """The error for content that no sound store can hold."""
        return StoreDamaged(self.path, detail, self.remedy, self._identity)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise sqlite_failure(self.path, error, self.remedy, self._identity) from error
        except UnicodeDecodeError as error:  # SQLite's message quotes what it found instead of a name
            raise self.damaged("it holds text that is not UTF-8") from error

    def function(self, name: str, arguments: int, implementation: Any) -> None:
        """Make a pure Python function callable from SQL."""
        with self._named_errors():
            self._connection.create_function(name, arguments, implementation, deterministic=True)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._named_errors():
            return self._found(sql, parameters).fetchall()

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Rows one at a time, for what is too large to hold at once."""
        with self._named_errors():
            yield from self._found(sql, parameters)

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""
        with self._named_errors():
            found = self._found(sql, parameters).fetchone()
        return None if found is None else found[0]

    def _found(self, sql: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        """What a statement that reads finds. A number that a caller made up and SQLite cannot hold (a line, a page) is
        beyond all that it does hold.
        """
        try:
            return self._connection.execute(sql, parameters)
        except OverflowError:
            return self._connection.execute(sql, [_holdable(one) for one in parameters])

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Execute one statement; returns the number of rows it changed."""
        with self._named_errors():
            return self._connection.execute(sql, parameters).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Execute one statement for each row of parameters; returns the number of rows changed in all."""
        with self._named_errors():
            return max(0, self._connection.executemany(sql, rows).rowcount)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Takes the write lock at once, so it cannot fail half-way on another writer.

        One inside another is a part of it that can be undone alone. Never begin one inside a `snapshot`.
        """
        begin, commit, undo = self._transaction_words()
        self.run(begin)
        self._depth += 1
        try:
            yield
            self.run(commit)
        except BaseException as error:
            self._undo(undo)
            if isinstance(error, StoreFull):
                self._give_back()
            raise
        finally:
            self._depth -= 1

    def _transaction_words(self) -> tuple[str, str, tuple[str, ...]]:
        if self._depth == 0:
            return "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
        name = f"part{self._depth}"
        return f"SAVEPOINT {name}", f"RELEASE {name}", (f"ROLLBACK TO {name}", f"RELEASE {name}")

    def _undo(self, statements: Iterable[str]) -> None:
        """Roll back, unless SQLite has done so by itself (a full disk, an I/O error)."""
        if self._connection.in_transaction:
            with contextlib.suppress(StoreError):  # the first error is the one to report
                for statement in statements:
                    self.run(statement)

    def _give_back(self) -> None:
        """Free what a write that found no space takes up in the write-ahead log: others need it now."""
        if self._connection.in_transaction:
            return
        with contextlib.suppress(StoreError):  # others write or read, or what is committed has no room in the file
            self.run("BEGIN IMMEDIATE")
            cut_off_uncommitted(_log_of(self.path))
            self.run("ROLLBACK")
            self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside comes from one moment, whatever others write meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        self.run("BEGIN")
        try:
            yield
        finally:
            self._undo(("ROLLBACK",))

    def copy_to(self, target: Path) -> None:
        """A consistent copy of the committed state beside the file, put in place as a whole."""
        partial = target.with_name(target.name + ".partial")
        try:
            partial.unlink(missing_ok=True)
            make_private_file(partial)
            with (
                self._named_errors(),
                contextlib.closing(sqlite3.connect(self.path)) as committed,  # a writer cannot be copied from
                contextlib.closing(sqlite3.connect(partial)) as copy,
            ):
                committed.backup(copy)
            partial.replace(target)
        except OSError as error:
            raise os_failure(target, error) from error

    def problems(self) -> list[str]:
        """What SQLite's own quick check finds wrong with the file; empty when it is sound."""
        try:
            found = [str(row[0]) for row in self.rows("PRAGMA quick_check(20)")]
        except StoreDamaged as damage:
            return [str(damage)]
        return [] if found == ["ok"] else found

"""The known workspaces: `registry.db`, and the `workspace.json` files it can be rebuilt from."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Self, TypeVar

from braindex.domain.results import Workspace, WorkspaceInfo
from braindex.registry.database import BUSY_SECONDS, Closing, Database, Row, storable
from braindex.registry.disk import make_private_folder, set_aside, write_private
from braindex.registry.failures import StoreDamaged, StoreError, os_failure
from braindex.registry.index import IndexStore
from braindex.registry.migrations import Migration, open_store

T = TypeVar("T")

REGISTRY_FILE: Final = "registry.db"
WORKSPACES_FOLDER: Final = "workspaces"
WORKSPACE_FILE: Final = "workspace.json"
MIN_SHORT_ID: Final = 4
MIGRATIONS: Final = (
    Migration(
        "registry-1",
        (
            (
                "CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL, "
                "created TEXT NOT NULL, last_scan TEXT, files INTEGER NOT NULL DEFAULT 0, "
                "entities INTEGER NOT NULL DEFAULT 0)"
            ),
            "CREATE INDEX workspaces_path ON workspaces (path)",
        ),
    ),
    Migration(
        "ledger-1",
        (
            (
                "CREATE TABLE ledger (id INTEGER PRIMARY KEY, time TEXT NOT NULL, workspace_id TEXT NOT NULL, "
                "engine TEXT NOT NULL, model TEXT NOT NULL, operation TEXT NOT NULL, tokens_in INTEGER NOT NULL, "
                "tokens_out INTEGER NOT NULL, cache_hit_tokens INTEGER NOT NULL, cache_miss_tokens INTEGER NOT NULL, "
                "cost INTEGER, tokens_saved INTEGER NOT NULL)"
            ),
            "CREATE INDEX ledger_time ON ledger (time)",
        ),
    ),
)
_REMEDY: Final = "It is rebuilt from the workspace.json files when braindex next opens it."
_SELECT: Final = "SELECT id, name, path, created, files, entities, last_scan FROM workspaces"
_UPSERT: Final = (
    "INSERT INTO workspaces (id, name, path, created) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET name = excluded.name, path = excluded.path"
)
_HEX: Final = re.compile(r"[0-9a-f][0-9a-f-]*")


class Workspaces(Closing):
    """The known workspaces of one BRAIN_DIR, open. Use as a context manager; it belongs to its thread.

    A damaged `registry.db` is moved aside, never deleted, and rebuilt, whenever the damage shows. Every
    method may raise a `StoreError`.
    """

    def __init__(self, brain_dir: Path, database: Database, busy_seconds: float) -> None:
        self._brain_dir = brain_dir
        self._database = database
        self._busy_seconds = busy_seconds

    @classmethod
    def open(cls, brain_dir: Path, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open BRAIN_DIR's registry: created, migrated, healed and refilled as needed."""
        path = brain_dir / REGISTRY_FILE
        try:
            database = _open(path, busy_seconds)
        except StoreDamaged as damage:
            set_aside(path, damage)
            database = _open(path, busy_seconds)
        found = cls(brain_dir, database, busy_seconds)
        try:
            found._healing(found._fill)
        except BaseException:
            found.close()
            raise
        return found

    def close(self) -> None:
        self._database.close()

    def folder(self, workspace_id: str) -> Path:
        """Where a workspace's data is; not created by asking."""
        return self._brain_dir / WORKSPACES_FOLDER / workspace_id

    def upsert(self, workspace: Workspace) -> Workspace:
        """Remember a workspace, with its folder and `workspace.json`. A known one keeps its `created`."""
        found = self._healing(lambda: self._upsert(workspace))
        make_private_folder(self.folder(found.id))
        described = json.dumps(
            {"id": found.id, "name": found.name, "path": found.path, "created": found.created},
            ensure_ascii=False,
            indent=2,
        )
        target = self.folder(found.id) / WORKSPACE_FILE
        if _read(target) != found:
            write_private(target, described + "\n")
        return found

    def is_current(self, workspace: Workspace) -> bool:
        """Whether a workspace is known as it is, to its own `workspace.json` too, from which a registry is rebuilt."""
        return self.get(workspace.id) == workspace and _read(self.folder(workspace.id) / WORKSPACE_FILE) == workspace

    def get(self, workspace_id: str) -> Workspace | None:
        found = self.info(workspace_id)
        return None if found is None else found.workspace

    def info(self, workspace_id: str) -> WorkspaceInfo | None:
        rows = self._healing(lambda: self._database.rows(f"{_SELECT} WHERE id = ?", (storable(workspace_id),)))
        return _info(rows[0]) if rows else None

    def find(self, text: str) -> list[Workspace]:
        """All workspaces that a text may mean: an id, a canonical path, else a name or at least 4 characters
        of an id.

        A full id or path settles it; names are compared whatever the case. Several matches are the caller's
        to report.
        """
        everything = [one.workspace for one in self.list()]
        exact = [one for one in everything if text == one.path or text.lower() == one.id]
        return exact or [one for one in everything if _may_mean(text, one)]

    def list(self) -> list[WorkspaceInfo]:
        """All known workspaces, by name, then path."""
        rows = self._healing(lambda: self._database.rows(_SELECT))
        return sorted((_info(row) for row in rows), key=lambda one: (one.workspace.name, one.workspace.path))

    def remove(self, workspace_id: str) -> bool:
        """Forget a workspace; false when it was not known. Its folder is the caller's to delete.

        The `workspace.json` goes first: a workspace that was dropped must not come back with a rebuilt
        registry.
        """
        try:
            (self.folder(workspace_id) / WORKSPACE_FILE).unlink(missing_ok=True)
        except OSError as error:
            raise os_failure(self.folder(workspace_id) / WORKSPACE_FILE, error) from error
        sql = "DELETE FROM workspaces WHERE id = ?"
        return self._healing(lambda: self._write(sql, (workspace_id,))) > 0

    def record_scan(self, workspace_id: str, files: int, entities: int, last_scan: str) -> bool:
        """What listings show of a finished scan; false when the workspace was dropped meanwhile."""
        sql = "UPDATE workspaces SET files = ?, entities = ?, last_scan = ? WHERE id = ?"
        return self._healing(lambda: self._write(sql, (files, entities, last_scan, workspace_id))) > 0

    def _write(self, sql: str, parameters: Row) -> int:
        with self._database.transaction():
            return self._database.run(sql, parameters)

    def _upsert(self, one: Workspace) -> Workspace:
        with self._database.transaction():
            self._database.run(_UPSERT, (one.id, storable(one.name), storable(one.path), one.created))
            created = self._database.value("SELECT created FROM workspaces WHERE id = ?", (one.id,))
        return Workspace(one.id, one.name, one.path, created)

    def _healing(self, action: Callable[[], T]) -> T:
        """Do it; when the registry turns out to be damaged, heal it and do it again."""
        try:
            return action()
        except StoreDamaged as damage:
            self._database.close()
            set_aside(self._database.path, damage)
            self._database = _open(self._database.path, self._busy_seconds)
            self._fill()
            return action()

    def _fill(self) -> None:
        """Take an empty registry's workspaces from their `workspace.json` files."""
        if self._database.value("SELECT 1 FROM workspaces LIMIT 1"):
            return
        known = [(one.id, one.name, one.path, one.created, *self._counts(one.id)) for one in self._described()]
        if known:
            with self._database.transaction():
                self._database.many(
                    "INSERT OR IGNORE INTO workspaces (id, name, path, created, last_scan, files, entities) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    known,
                )

    def _counts(self, workspace_id: str) -> tuple[str | None, int, int]:
        """Last scan, files and entities as the workspace's own index has them; nothing where it cannot be read."""
        try:
            with IndexStore.open(self.folder(workspace_id), create=False, busy_seconds=self._busy_seconds) as index:
                totals = index.totals()
                return index.scan_marks().last_scan, totals.files, totals.entities
        except StoreError:  # none yet, damaged, of a newer version: a scan counts anew
            return None, 0, 0

    def _described(self) -> Iterator[Workspace]:
        for file in sorted((self._brain_dir / WORKSPACES_FOLDER).glob(f"*/{WORKSPACE_FILE}")):
            found = _read(file)
            if found is not None and found.id == file.parent.name:
                yield found


def _open(path: Path, busy_seconds: float) -> Database:
    return open_store(path, MIGRATIONS, remedy=_REMEDY, keep_copy=True, busy_seconds=busy_seconds)


def _info(row: Row) -> WorkspaceInfo:
    workspace = Workspace(*row[:4])
    return WorkspaceInfo(workspace, row[4], row[5], row[6], os.path.isdir(workspace.path))


def _may_mean(text: str, one: Workspace) -> bool:
    prefix = text.lower()
    if len(prefix) >= MIN_SHORT_ID and _HEX.fullmatch(prefix) and one.id.startswith(prefix):
        return True
    return text.casefold() == one.name.casefold()


def _read(file: Path) -> Workspace | None:
    """What a `workspace.json` says, or None where there is none that can be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Workspace(*(str(found[key]) for key in ("id", "name", "path", "created")))
    except (OSError, ValueError, KeyError, TypeError):
        return None

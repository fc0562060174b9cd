"""The locked brief of a workspace: made once, replaced only on request, and read by every question."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.domain.brief import MAX_TOKENS, compose
from braindex.domain.display import safe
from braindex.domain.engines import Engine, Engines
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.prompt import system_message
from braindex.domain.results import BriefState, Workspace
from braindex.domain.routing import RoutingRules
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import EngineName
from braindex.registry.briefs import (
    BRIEF_FILE,
    BriefRecord,
    StoredBrief,
    keep_edited,
    read_brief,
    write_brief,
    write_record,
)
from braindex.registry.index import IndexStore
from braindex.services.brief_writing import BriefWriter, Subject
from braindex.services.roots import checked_root
from braindex.services.warmup import WarmUps
from braindex.services.workspaces import Workspaces

log = logging.getLogger(__name__)

LOCK_FILE: Final = "brief.lock"
UPDATE_WAIT: Final = 120.0  # seconds for another process that is at the same brief
RETRY_AFTER: Final = timedelta(minutes=30)  # until a failed replacement by an engine is tried again
_CACHING: Final[tuple[EngineName, ...]] = ("deepseek-flash", "deepseek-pro")


class NoBrief(BraindexError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no brief yet: it is made at the end of the first scan")


class BriefBusy(BraindexError):
    def __init__(self) -> None:
        super().__init__("another process is at this brief; nothing was changed, try again in a minute")


class BriefByHand(BraindexError):
    def __init__(self, path: Path, *, given: bool) -> None:
        what = "was written by hand" if given else "was edited by hand since it was locked"
        super().__init__(
            f"{path} {what}, and was left as it is; `braindex brief --update` replaces it after asking, and keeps this "
            "text beside it"
        )


class GivenBrief(UsageError):
    def __init__(self, problem: str) -> None:
        super().__init__(f"the brief was not replaced: {problem}")


@dataclass(frozen=True, slots=True)
class BriefView:
    """A brief's text and how it stands."""

    text: str
    state: BriefState


@dataclass(frozen=True, slots=True)
class BriefParts:
    """What briefs are made of, chosen by `bootstrap`."""

    engines: Engines
    writer: BriefWriter
    warm_ups: WarmUps
    rules: Callable[[Path], RoutingRules]
    options: Callable[[Path], WorkspaceOptions]


class Briefs:
    """The briefs of all workspaces. Only `update` changes one that is locked; `upgrade` replaces, once, one that was
    made from the index alone.
    """

    def __init__(self, workspaces: Workspaces, parts: BriefParts) -> None:
        self._workspaces = workspaces
        self._parts = parts
        self._lock = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._listeners: list[Callable[[Workspace], None]] = []

    def on_change(self, listener: Callable[[Workspace], None]) -> None:
        """Calls `listener` after each brief that this process puts in place, from whatever thread did it."""
        self._listeners.append(listener)

    # Reading

    def text(self, workspace: Workspace) -> str:
        """The brief's very text as every question is prefixed with it; "" while there is none."""
        stored = read_brief(self._workspaces.folder(workspace))
        return "" if stored is None else stored.text

    def prefix(self, workspace: Workspace) -> str:
        """What every question to an engine begins with: the role text and the brief."""
        return system_message(self.text(workspace)).content

    def view(self, workspace: Workspace) -> BriefView:
        """The brief and how it stands. Raises NoBrief."""
        stored = read_brief(self._workspaces.folder(workspace))
        if stored is None:
            raise NoBrief(workspace.name)
        record = stored.record
        state = BriefState(
            engine=record.engine,
            given=record.given,
            locked=record.locked,
            tokens=count_tokens(stored.text),
            edited=stored.edited,
            moved=self._moved(workspace, record),
            failure=record.why,
        )
        return BriefView(stored.text, state)

    def state(self, workspace: Workspace) -> BriefState | None:
        """How the brief stands, None while there is none."""
        try:
            return self.view(workspace).state
        except NoBrief:
            return None

    def _moved(self, workspace: Workspace, record: BriefRecord) -> str:
        folder = self._workspaces.folder(workspace)
        if not IndexStore.exists(folder):
            return ""
        with self._workspaces.open_index(workspace) as store:
            now = _digests(store)
        then = record.files
        changed = sum(now[path] != digest for path, digest in then.items() if path in now)
        added, gone = len(now.keys() - then.keys()), len(then.keys() - now.keys())
        if not changed + added + gone:
            return ""
        return f"{changed} of {len(then)} files changed, {added} added, {gone} removed since the brief was locked"

    # Making

    def after_scan(self, workspace: Workspace, root: Path, store: IndexStore) -> None:
        """Makes the first brief, from the index alone, unless there is one. The caller holds the writer lock."""
        folder = self._workspaces.folder(workspace)
        if not store.entity_count() or read_brief(folder) is not None:
            return
        self._put(workspace, self._from_index(workspace, root, store), _record(store), store)

    def upgrade_later(self, workspace: Workspace) -> None:
        """Has an engine replace a brief that was made from the index alone, in the background, if one is configured."""
        with self._lock:
            running = self._threads.get(workspace.id)
            if (running is not None and running.is_alive()) or not self._may_upgrade(workspace):
                return
            thread = threading.Thread(target=self._upgrade_or_log, args=(workspace,), name="brief", daemon=True)
            self._threads[workspace.id] = thread
            thread.start()

    def _upgrade_or_log(self, workspace: Workspace) -> None:
        try:
            self.upgrade(workspace)
        except BraindexError as failure:
            log.warning("the brief was not replaced: %s", type(failure).__name__)

    def _may_upgrade(self, workspace: Workspace, *, at_once: bool = False) -> bool:
        stored = read_brief(self._workspaces.folder(workspace))
        if stored is None or stored.edited or stored.record.engine != "none":
            return False
        if stored.record.given or stored.record.kept:
            return False
        return (at_once or not _failed_lately(stored.record)) and self._engine(Path(workspace.path)) is not None

    def upgrade(self, workspace: Workspace, *, at_once: bool = False) -> bool:
        """Has an engine write the brief that was made from the index alone; false where there is nothing to do.

        Of several processes that want the same, one does it. Raises what the engine or a section fails with: the brief
        stays as it was, and the next attempt waits half an hour, unless a person wants it `at_once`.
        """
        if not self._may_upgrade(workspace, at_once=at_once):
            return False
        folder = self._workspaces.folder(workspace)
        with self._turn(folder, 0.0) as ours:
            stored = read_brief(folder)
            if not ours or stored is None or not self._may_upgrade(workspace, at_once=at_once):
                return False
            try:
                self._write(workspace)
            except BraindexError as failure:
                failed = replace(stored.record, failed=_now(), why=str(failure))
                write_record(folder, failed)
                raise
        return True

    def update(
        self,
        workspace: Workspace,
        content: str | None = None,
        *,
        from_index: bool = False,
        replace_by_hand: bool = False,
    ) -> BriefView:
        """Regenerates the brief (`from_index`: without the engine), or puts `content` in its place. One that another
        process has regenerated while this one waited for it is taken as it is.

        Raises NoBrief while there is nothing to make one of, BriefByHand for a brief that was edited or written by hand
        (unless `replace_by_hand`; its text is kept beside the new one), GivenBrief for a content that can be none,
        BriefBusy, and what the engine fails with. Whatever is raised, the old brief stands.
        """
        given = None if content is None else _checked(content)
        folder = self._workspaces.folder(workspace)
        if not folder.is_dir():
            raise NoBrief(workspace.name)
        before = read_brief(folder)
        with self._turn(folder, UPDATE_WAIT) as ours:
            if not ours:
                raise BriefBusy
            stored = read_brief(folder)
            if content is None and stored is not None and (before is None or stored.record != before.record):
                return self.view(workspace)
            if stored is not None:
                _spare(folder, stored, regenerated=given is None, may=replace_by_hand)
            if given is not None:
                with self._workspaces.open_index(workspace) as store:
                    self._put(workspace, given, replace(_record(store), given=True), store)
            else:
                self._write(workspace, from_index=from_index)
        return self.view(workspace)

    def _write(self, workspace: Workspace, *, from_index: bool = False) -> None:
        """By the engine that is configured; without one, from the index again."""
        root = checked_root(workspace.path)
        engine = None if from_index else self._engine(root)
        with self._workspaces.open_index(workspace) as store:
            if not store.entity_count():
                raise NoBrief(workspace.name)
            record = _record(store)
            if engine is None:
                # Asked for, so no engine replaces it by itself.
                record = replace(record, kept=from_index)
                self._put(workspace, self._from_index(workspace, root, store), record, store)
                return
            folder, options = self._workspaces.folder(workspace), self._parts.options(root)
            text = self._parts.writer.write(Subject(workspace, root, folder, store, options), engine)
            self._put(workspace, text, replace(record, engine=engine.name), store)

    def _from_index(self, workspace: Workspace, root: Path, store: IndexStore) -> str:
        from braindex.services.briefing.text import brief_sections  # noqa: PLC0415 - a question needs none of it

        return compose(workspace.name, brief_sections(workspace.name, root, store, self._parts.options(root)))

    def _put(self, workspace: Workspace, text: str, record: BriefRecord, store: IndexStore) -> None:
        """Locks a text, and warms the cache of each model that will get it. A workspace dropped meanwhile has none."""
        folder = self._workspaces.folder(workspace)
        if not folder.is_dir():
            return
        write_brief(folder, text, replace(record, files=_digests(store), entities=store.entity_count()))
        log.info("a brief of %d tokens was locked (%s)", count_tokens(text), record.engine)
        if record.engine != "none" or record.given or not self._may_upgrade(workspace):
            rules = self._parts.rules(Path(workspace.path))
            self._parts.warm_ups.start(workspace, self._caching(rules), system_message(text))
        for listener in self._listeners:
            listener(workspace)

    def _caching(self, rules: RoutingRules) -> Iterator[Engine]:
        """The engines with a prompt cache that questions of this workspace may go to."""
        if rules.mode == "local":
            return
        for name in _CACHING:
            engine = self._parts.engines.get(name)
            if engine is not None and (name != "deepseek-pro" or rules.pro):
                yield engine

    def _engine(self, root: Path) -> Engine | None:
        """Who writes briefs: flash; Ollama in local mode or without a key."""
        rules = self._parts.rules(root)
        if rules.mode != "local" and rules.cloud:
            return self._parts.engines.get("deepseek-flash")
        here = rules.ollama and not (rules.mode == "local" and rules.ollama_elsewhere)
        return self._parts.engines.get("ollama") if here else None

    @contextmanager
    def _turn(self, folder: Path, wait: float) -> Iterator[bool]:
        """The lock of whoever makes this brief, across processes; false when it is held after `wait` seconds.

        A lock of its own: a scan need not wait for an engine.
        """
        if not folder.is_dir():
            raise NoBrief(folder.name)
        lock = FileLock(folder / LOCK_FILE, mode=0o600)
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def wait(self, timeout: float) -> None:
        """Waits for what was begun in the background."""
        for thread in list(self._threads.values()):
            thread.join(timeout)


def _spare(folder: Path, stored: StoredBrief, *, regenerated: bool, may: bool) -> None:
    """Words of a person are replaced only by who knows of them, and kept beside what replaces them."""
    by_hand = stored.edited or (stored.record.given and regenerated)
    if by_hand and not may:
        raise BriefByHand(folder / BRIEF_FILE, given=not stored.edited)
    if stored.edited or stored.record.given:
        keep_edited(folder, stored.text)


def _record(store: IndexStore) -> BriefRecord:
    return BriefRecord(sha256="", locked=_now(), entities=store.entity_count())


def _digests(store: IndexStore) -> dict[str, str]:
    """Eight bytes of each indexed file's digest: enough to tell that it changed."""
    return {path: one.digest[:8].hex() for path, one in store.files().items() if not one.refused}


def _checked(content: str) -> str:
    """A given text as a brief, ending in one newline. Raises GivenBrief."""
    text = content.replace("\r\n", "\n").strip() + "\n"
    if not text.strip():
        raise GivenBrief("the text is empty")
    if (tokens := count_tokens(text)) > MAX_TOKENS:
        raise GivenBrief(f"the text has {tokens:,} tokens, and a brief has at most {MAX_TOKENS:,}")
    if safe(text) != text:
        raise GivenBrief("the text holds control, bidirectional or invisible characters")
    return text


def _failed_lately(record: BriefRecord) -> bool:
    try:
        return bool(record.failed) and datetime.now(UTC) - datetime.fromisoformat(record.failed) < RETRY_AFTER
    except (ValueError, TypeError):
        return False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

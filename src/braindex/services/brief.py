"""The locked brief of a workspace: made once, replaced only on request, and read by every question."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.domain.brief import MAX_TOKENS, compose
from braindex.domain.display import safe
from braindex.domain.engines import Engine, EngineCancelled, Engines
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.prompt import system_message
from braindex.domain.results import BriefState, Workspace
from braindex.domain.routing import RoutingRules
from braindex.domain.tokens import count_tokens
from braindex.registry.brief_versions import keep_version, write_marks
from braindex.registry.briefs import (
    BRIEF_FILE,
    BriefRecord,
    BriefUnreadable,
    StoredBrief,
    digest_of,
    keep_edited,
    read_brief,
    read_text,
    write_brief,
    write_record,
)
from braindex.registry.failures import os_failure
from braindex.registry.index import IndexStore
from braindex.services.brief_writing import BriefWriter, Subject
from braindex.services.roots import checked_root
from braindex.services.warmup import CACHING, WarmUps
from braindex.services.workspaces import Workspaces

log = logging.getLogger(__name__)

LOCK_FILE: Final = "brief.lock"
UPDATE_WAIT: Final = 120.0  # seconds for another process that is at the same brief
_POLL: Final = 0.2  # seconds between two looks at whether a wait was cancelled
RETRY_AFTER: Final = timedelta(minutes=30)  # until a failed replacement by an engine is tried again


class NoBrief(BraindexError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no brief yet: it is made at the end of the first scan")


class BriefMisplaced(NoBrief):
    """Something that is no brief stands in its place."""

    def __init__(self, failure: BriefUnreadable) -> None:
        BraindexError.__init__(self, str(failure))


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


class BriefChanged(BraindexError):
    def __init__(self) -> None:
        super().__init__(
            "the brief was changed by somebody else meanwhile, and was left as it is; look at it, then decide anew"
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
class _Terms:
    """On what terms a new text is put in place. `allowed` looks once more at the old one, right before: an engine takes
    its time, and a hand may have been at the brief meanwhile. It may raise.
    """

    allowed: Callable[[], bool]
    cancelled: Callable[[], bool] = lambda: False


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
        """The brief's very text as every question is prefixed with it; "" while there is none that can be read."""
        try:
            return read_text(self._workspaces.folder(workspace))
        except BriefUnreadable as failure:
            log.warning("%s", failure)
            return ""

    def prefix(self, workspace: Workspace) -> str:
        """What every question to an engine begins with: the role text and the brief."""
        return system_message(self.text(workspace)).content

    def view(self, workspace: Workspace) -> BriefView:
        """The brief and how it stands. Raises NoBrief, and of it BriefMisplaced for what cannot be read as one."""
        try:
            stored = read_brief(self._workspaces.folder(workspace))
        except BriefUnreadable as failure:
            raise BriefMisplaced(failure) from failure
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
        """How the brief stands, None while there is none. What cannot be read as one is a brief of a hand, with the
        reason as its `failure`.
        """
        try:
            return self.view(workspace).state
        except BriefMisplaced as failure:
            return BriefState("none", given=True, locked="", tokens=0, edited=False, moved="", failure=str(failure))
        except NoBrief:
            return None

    def _moved(self, workspace: Workspace, record: BriefRecord) -> str:
        folder = self._workspaces.folder(workspace)
        if not IndexStore.exists(folder):
            return ""
        with self._workspaces.open_index(workspace) as store:
            now = _digests(store)
        then = record.files
        if not then:  # not known: the record is lost, or that of a brief whose replacement was cut short
            return ""
        changed = sum(now[path] != digest for path, digest in then.items() if path in now)
        added, gone = len(now.keys() - then.keys()), len(then.keys() - now.keys())
        if not changed + added + gone:
            return ""
        return f"{changed} of {len(then)} files changed, {added} added, {gone} removed since the brief was locked"

    # Making

    def after_scan(self, workspace: Workspace, root: Path, store: IndexStore) -> None:
        """Makes the first brief, from the index alone, unless there is one. The caller holds the writer lock."""
        folder = self._workspaces.folder(workspace)

        def is_missing() -> bool:
            stored, misplaced = _look(folder)
            return stored is None and not misplaced

        if store.entity_count() and is_missing():
            self._put(workspace, self._from_index(workspace, root, store), _record(store), store, _Terms(is_missing))

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
        stored, _ = _look(self._workspaces.folder(workspace))
        if stored is None or not _is_of_the_index(stored):
            return False
        return (at_once or not _failed_lately(stored.record)) and self.writer_of(Path(workspace.path)) is not None

    def upgrade(self, workspace: Workspace, *, at_once: bool = False) -> bool:
        """Has an engine write the brief that was made from the index alone; false where there is nothing to do.

        Of several processes that want the same, one does it. Raises what the engine or a section fails with: the brief
        stays as it was, and the next attempt waits half an hour, unless a person wants it `at_once`.
        """
        if not self._may_upgrade(workspace, at_once=at_once):
            return False
        folder = self._workspaces.folder(workspace)
        with self._turn(folder, 0.0) as ours:
            if not ours or not self._may_upgrade(workspace, at_once=at_once):
                return False

            def is_as_it_was() -> bool:
                stored, _ = _look(folder)
                return stored is not None and _is_of_the_index(stored)

            try:
                return self._write(workspace, _Terms(is_as_it_was))
            except BraindexError as failure:
                stored, _ = _look(folder)
                if stored is not None and _is_of_the_index(stored):
                    write_record(folder, replace(stored.record, failed=_now(), why=str(failure)))
                raise

    def update(
        self,
        workspace: Workspace,
        content: str | None = None,
        *,
        from_index: bool = False,
        replace_by_hand: bool = False,
        expected: str = "",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> BriefView:
        """Regenerates the brief (`from_index`: without the engine), or puts `content` in its place. One that another
        process has regenerated while this one waited for it is taken as it is. What is no file is moved aside.

        `expected` is the digest of the text that whoever wants this has seen; where another stands there by now,
        BriefChanged is raised.

        Raises NoBrief while there is nothing to make one of, BriefByHand for a brief that was edited or written by hand
        (unless `replace_by_hand`; its text is kept beside the new one), also while the new one was being written,
        GivenBrief for a content that can be none, BriefBusy, EngineCancelled soon after `cancelled` (called from
        several threads) turned true, and what the engine fails with. Whatever is raised, the old brief stands.
        """
        given = None if content is None else _checked(content)
        folder = self._workspaces.folder(workspace)
        if not folder.is_dir():
            raise NoBrief(workspace.name)
        before, _ = _look(folder)
        with self._turn(folder, UPDATE_WAIT, cancelled) as ours:
            if not ours:
                raise BriefBusy
            stored, _ = _look(folder)
            if content is None and stored is not None and (before is None or stored.record != before.record):
                return self.view(workspace)
            if stored is not None:
                if expected and digest_of(stored.text) != expected:
                    raise BriefChanged
                _ask(folder, stored, regenerated=given is None, may=replace_by_hand)
            spare = _Terms(lambda: _spare(folder, regenerated=given is None, may=replace_by_hand), cancelled)
            if given is not None:
                with self._workspaces.open_index(workspace) as store:
                    self._put(workspace, given, replace(_record(store), given=True), store, spare)
            else:
                self._write(workspace, spare, from_index=from_index)
        return self.view(workspace)

    def _write(self, workspace: Workspace, terms: _Terms, *, from_index: bool = False) -> bool:
        """By the engine that is configured; without one, from the index again. Whether it was put in place."""
        root = checked_root(workspace.path)
        engine = None if from_index else self.writer_of(root)
        with self._workspaces.open_index(workspace) as store:
            if not store.entity_count():
                raise NoBrief(workspace.name)
            record = _record(store)
            if engine is None:
                # Asked for, so no engine replaces it by itself.
                record = replace(record, kept=from_index)
                return self._put(workspace, self._from_index(workspace, root, store), record, store, terms)
            folder, options = self._workspaces.folder(workspace), self._parts.options(root)
            subject = Subject(workspace, root, folder, store, options)
            text = self._parts.writer.write(subject, engine, terms.cancelled)
            return self._put(workspace, text, replace(record, engine=engine.name), store, terms)

    def _from_index(self, workspace: Workspace, root: Path, store: IndexStore) -> str:
        from braindex.services.briefing.text import brief_sections  # noqa: PLC0415 - a question needs none of it

        return compose(workspace.name, brief_sections(workspace.name, root, store, self._parts.options(root)))

    def _put(self, workspace: Workspace, text: str, record: BriefRecord, store: IndexStore, terms: _Terms) -> bool:
        """Locks a text, and warms the cache of each model that will get it. A workspace dropped meanwhile has none."""
        folder = self._workspaces.folder(workspace)
        record = replace(record, files=_digests(store), entities=store.entity_count())
        if terms.cancelled():
            raise EngineCancelled
        if not folder.is_dir() or not terms.allowed():
            return False
        old, _ = _look(folder)
        if old is not None and old.text != text:
            keep_version(folder, old, datetime.now(UTC))
        write_brief(folder, text, record)
        write_marks(folder, text, store.entity_marks())
        log.info("a brief of %d tokens was locked (%s)", count_tokens(text), record.engine)
        if record.engine != "none" or record.given or not self._may_upgrade(workspace):
            rules = self._parts.rules(Path(workspace.path))
            self._parts.warm_ups.start(workspace, self._caching(rules), system_message(text))
        for listener in self._listeners:
            listener(workspace)
        return True

    def _caching(self, rules: RoutingRules) -> Iterator[Engine]:
        """The engines with a prompt cache that questions of this workspace may go to."""
        if rules.mode == "local":
            return
        for name in CACHING:
            engine = self._parts.engines.get(name)
            if engine is not None and (name != "deepseek-pro" or rules.pro):
                yield engine

    def writer_of(self, root: Path) -> Engine | None:
        """Who writes briefs: flash; Ollama in local mode or without a key; None where no engine is configured."""
        rules = self._parts.rules(root)
        if rules.mode != "local" and rules.cloud:
            return self._parts.engines.get("deepseek-flash")
        here = rules.ollama and not (rules.mode == "local" and rules.ollama_elsewhere)
        return self._parts.engines.get("ollama") if here else None

    @contextmanager
    def _turn(self, folder: Path, wait: float, cancelled: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """The lock of whoever makes this brief, across processes; false when it is held after `wait` seconds.

        A lock of its own: a scan need not wait for an engine. Raises EngineCancelled.
        """
        if not folder.is_dir():
            raise NoBrief(folder.name)
        lock = FileLock(folder / LOCK_FILE, mode=0o600)
        if not _acquired(lock, wait, cancelled):
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


def _acquired(lock: FileLock, wait: float, cancelled: Callable[[], bool]) -> bool:
    """Whether the lock was had within `wait` seconds. Raises EngineCancelled and StoreError."""
    until = time.monotonic() + wait
    while not cancelled():
        left = max(until - time.monotonic(), 0.0)
        try:
            lock.acquire(timeout=min(left, _POLL))
        except Timeout:
            if left <= _POLL:
                return False
        except OSError as error:
            raise os_failure(Path(lock.lock_file), error) from error
        else:
            return True
    raise EngineCancelled


def _look(folder: Path) -> tuple[StoredBrief | None, bool]:
    """The brief that can be read, if any, and whether something that cannot be stands in its place."""
    try:
        return read_brief(folder), False
    except BriefUnreadable as failure:
        log.warning("%s", failure)
        return None, True


def _is_of_the_index(stored: StoredBrief) -> bool:
    """Whether an engine may replace it unasked: made from the index alone, and no person had a hand in it."""
    record = stored.record
    return record.engine == "none" and not (stored.edited or record.given or record.kept)


def _ask(folder: Path, stored: StoredBrief, *, regenerated: bool, may: bool) -> None:
    """Words of a person are replaced only by who knows of them. Raises BriefByHand."""
    if not may and (stored.edited or (stored.record.given and regenerated)):
        raise BriefByHand(folder / BRIEF_FILE, given=not stored.edited)


def _spare(folder: Path, *, regenerated: bool, may: bool) -> bool:
    """Keeps the words of a person beside what replaces them. Raises BriefByHand."""
    stored, _ = _look(folder)
    if stored is not None:
        _ask(folder, stored, regenerated=regenerated, may=may)
        if stored.edited or stored.record.given:
            keep_edited(folder)
    return True


def _record(store: IndexStore) -> BriefRecord:
    return BriefRecord(sha256="", locked=_now(), entities=store.entity_count())


def _digests(store: IndexStore) -> dict[str, str]:
    """Eight bytes of each indexed file's digest: enough to tell that it changed."""
    return {path: one.digest[:8].hex() for path, one in store.files().items() if not one.refused}


def _checked(content: str) -> str:
    """A given text as a brief, ending in one newline. Raises GivenBrief."""
    text = content.replace("\r\n", "\n").strip() + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise GivenBrief("the text cannot be encoded as UTF-8 (it holds half a surrogate pair)") from None
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

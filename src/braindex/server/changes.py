"""Tells subscribers that a brief has changed, whoever changed it: up to protocol 2025-11-25 and from 2026-07-28 on.

What this process changes is told at once. What another one changed is noticed at the next call or read, and by a look
every few seconds while somebody subscribes: nothing here runs for a client that has not asked for it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from braindex.domain.display import safe
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.server.resources import BriefResources, MalformedUri, UnknownId
from braindex.services.threads import in_thread

LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")

# Often enough for a person who looks on; a look reads one small file a subscription.
LOOK_SECONDS: Final = 5.0

_Request = ServerRequestContext[Any, Any]


class BriefChanges:
    """The subscriptions of this server's one client, and what it was last told. Lives on one event loop.

    `every` is how many seconds pass between two looks for what other processes have changed.
    """

    def __init__(self, resources: BriefResources, every: float = LOOK_SECONDS) -> None:
        self.bus = InMemorySubscriptionBus()
        self._resources = resources
        self._every = every
        self._listen = ListenHandler(self.bus)
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._sessions: dict[str, ServerSession] = {}
        self._listeners: Counter[str] = Counter()
        self._told: dict[str, int] = {}
        self._list_session: ServerSession | None = None
        self._list_listeners = 0
        self._listed: frozenset[str] | None = None

    # What the client asks for

    async def subscribe(self, ctx: _Request, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe`. A known workspace without a brief will do: its first one is a change too.

        Raises:
            MCPError: the URI is malformed, or its workspace unknown.
        """
        try:
            await in_thread(lambda: self._resources.workspace(params.uri))
        except (MalformedUri, UnknownId) as error:
            raise MCPError(INVALID_PARAMS, safe(str(error))) from error
        await self._watch([params.uri])
        self._sessions[params.uri] = ctx.session
        return EmptyResult()

    async def unsubscribe(self, _: _Request, params: UnsubscribeRequestParams) -> EmptyResult:
        """`resources/unsubscribe`; of what was not subscribed to, it does nothing."""
        self._sessions.pop(params.uri, None)
        self._forget([params.uri])
        return EmptyResult()

    async def listen(self, ctx: _Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """`subscriptions/listen`: lasts until the client ends it. Promised is only what can come: the tools and the
        prompts are the same for as long as the process lives.
        """
        uris = frozenset(params.notifications.resource_subscriptions or ())
        to_list = bool(params.notifications.resources_list_changed)
        self._listeners.update(uris)
        self._list_listeners += to_list
        try:
            if to_list and self._listed is None:
                self._listed = await self._uris()
            await self._watch(uris)
            return await self._listen(ctx, params.model_copy(update={"notifications": _kept(params.notifications)}))
        finally:
            self._list_listeners -= to_list
            self._listeners.subtract(uris)
            self._forget(uris)

    def listed(self, uris: Collection[str], session: ServerSession | None) -> None:
        """What the client was told that there is; `session` is one of the older protocol, which is told of a change
        without asking for it.
        """
        self._loop = asyncio.get_running_loop()
        self._listed = frozenset(uris)
        self._list_session = session

    # What changes

    def changed(self, _: Workspace) -> None:
        """This process has put a brief in place. Any thread may say so; never raises."""
        if self._loop is None:
            return  # nobody has asked for anything
        try:
            self._loop.call_soon_threadsafe(self.look)
        except RuntimeError:  # the loop is closed: the client is gone
            LOG.debug("a changed brief was not told: the server has ended")

    def look(self) -> asyncio.Task[None] | None:
        """Begins to compare what the client wants to know of with what it was last told; where it wants nothing, this
        does nothing.
        """
        if not self._told and not self._is_list_wanted:
            return None
        task = asyncio.get_running_loop().create_task(self._look())
        self._tasks.add(task)  # the loop itself keeps no hold of its tasks
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def _is_list_wanted(self) -> bool:
        return self._list_session is not None or self._list_listeners > 0

    async def _look(self) -> None:
        async with self._turn:
            now = await self._digests(tuple(self._told))
            for uri, digest in now.items():
                if self._told.get(uri, digest) != digest:
                    self._told[uri] = digest
                    await self._tell(uri)
            listed = await self._uris() if self._is_list_wanted else None
            if listed is not None and listed != self._listed:
                self._listed = listed
                await self._tell_list()

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        session = self._sessions.get(uri)
        if session is not None:
            await session.send_resource_updated(uri)

    async def _tell_list(self) -> None:
        await self.bus.publish(ResourcesListChanged())
        if self._list_session is not None:
            await self._list_session.send_resource_list_changed()

    async def _watch(self, uris: Collection[str]) -> None:
        self._loop = asyncio.get_running_loop()
        now = await self._digests(uris)
        for uri in uris:
            self._told.setdefault(uri, now.get(uri, 0))
        if self._is_watched and (self._watching is None or self._watching.done()):
            self._watching = self._loop.create_task(self._look_on())

    @property
    def _is_watched(self) -> bool:
        return bool(self._told) or self._list_listeners > 0

    async def _look_on(self) -> None:
        while self._is_watched:
            await asyncio.sleep(self._every)
            await self._look()

    async def _digests(self, uris: Collection[str]) -> dict[str, int]:
        found = await self._read(lambda: self._resources.digests(uris)) if uris else None
        return found or {}

    async def _uris(self) -> frozenset[str] | None:
        """What there is, None where that cannot be told."""
        return await self._read(lambda: frozenset(one.uri for one in self._resources.list()))

    @staticmethod
    async def _read(read: Callable[[], T]) -> T | None:
        try:
            return await in_thread(read)
        except BraindexError as error:
            LOG.warning("the briefs could not be looked at: %s", type(error).__name__)
            return None

    def _forget(self, uris: Collection[str]) -> None:
        for uri in uris:
            if uri not in self._sessions and self._listeners[uri] <= 0:
                self._told.pop(uri, None)
                del self._listeners[uri]


def _kept(asked: SubscriptionFilter) -> SubscriptionFilter:
    return asked.model_copy(update={"tools_list_changed": None, "prompts_list_changed": None})

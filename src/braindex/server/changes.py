"""Tells subscribers that a brief has changed, whoever changed it: up to protocol 2025-11-25 and from 2026-07-28 on.

What this process changes is told at once. What another one changed is noticed at the next call or read: nothing here
runs while the server is idle.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from braindex.domain.display import safe
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.server.resources import BriefResources, MalformedUri, UnknownId, uri_of
from braindex.services.threads import in_thread

LOG: Final = logging.getLogger(__name__)

_Request = ServerRequestContext[Any, Any]


class BriefChanges:
    """The subscriptions of this server's one client, and what it was last told. Lives on one event loop."""

    def __init__(self, resources: BriefResources) -> None:
        self.bus = InMemorySubscriptionBus()
        self._resources = resources
        self._listen = ListenHandler(self.bus)
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: dict[str, ServerSession] = {}
        self._listeners: Counter[str] = Counter()
        self._told: dict[str, int] = {}
        self._listed: frozenset[str] = frozenset()

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
        """`subscriptions/listen`: lasts until the client ends it."""
        uris = frozenset(params.notifications.resource_subscriptions or ())
        self._listeners.update(uris)
        try:
            await self._watch(uris)
            return await self._listen(ctx, params)
        finally:
            self._listeners.subtract(uris)
            self._forget(uris)

    def listed(self, uris: Collection[str]) -> None:
        """What the client was told that there is."""
        self._loop = asyncio.get_running_loop()
        self._listed = frozenset(uris)

    # What changes

    def changed(self, workspace: Workspace) -> None:
        """This process has put a brief in place. Any thread may say so; never raises."""
        if self._loop is None:
            return  # nobody has asked for anything
        try:
            self._loop.call_soon_threadsafe(self.look, workspace)
        except RuntimeError:  # the loop is closed: the client is gone
            LOG.debug("a changed brief was not told: the server has ended")

    def look(self, changed: Workspace | None = None) -> asyncio.Task[None] | None:
        """Begins to compare the briefs that are subscribed to with what was last told; without any it does nothing."""
        if not self._told and changed is None:
            return None
        task = asyncio.get_running_loop().create_task(self._look(changed))
        self._tasks.add(task)  # the loop itself keeps no hold of its tasks
        task.add_done_callback(self._tasks.discard)
        return task

    async def _look(self, changed: Workspace | None) -> None:
        async with self._turn:
            now = await self._digests(tuple(self._told))
            for uri, digest in now.items():
                if self._told.get(uri, digest) != digest:
                    self._told[uri] = digest
                    await self._tell(uri)
        if changed is not None and uri_of(changed) not in self._listed:
            self._listed |= {uri_of(changed)}
            await self.bus.publish(ResourcesListChanged())

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        session = self._sessions.get(uri)
        if session is not None:
            await session.send_resource_updated(uri)

    async def _watch(self, uris: Collection[str]) -> None:
        self._loop = asyncio.get_running_loop()
        now = await self._digests(uris)
        for uri in uris:
            self._told.setdefault(uri, now.get(uri, 0))

    async def _digests(self, uris: Collection[str]) -> dict[str, int]:
        try:
            return await in_thread(lambda: self._resources.digests(uris)) if uris else {}
        except BraindexError as error:
            LOG.warning("the briefs could not be looked at: %s", type(error).__name__)
            return {}

    def _forget(self, uris: Collection[str]) -> None:
        for uri in uris:
            if uri not in self._sessions and self._listeners[uri] <= 0:
                self._told.pop(uri, None)
                del self._listeners[uri]

"""The brief as a resource, and the word that it has changed, in both protocol eras, over the real services."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscribeRequestParams,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.results import Workspace
from braindex.server.changes import BriefChanges
from braindex.server.create import create_server
from braindex.server.resources import BriefResources

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")]

MINE = "# shop\n\nSells pears.\n"


class Subscriber:
    """A client that subscribed to one URI, in whichever era it speaks."""

    def __init__(self, client: Client, updates: Any) -> None:
        self.client = client
        self._updates = updates

    async def told(self) -> str:
        """The next URI that is said to have changed."""
        with anyio.fail_after(30):
            return str(await self._updates())


@pytest.fixture
def shop(app: App, make_project) -> Workspace:
    found: Workspace = app.workspaces.open(make_project({"shop.py": "def sell(apples):\n    return apples\n"}, "shop"))
    return found


@pytest.fixture
def scanned(app: App, shop: Workspace) -> Workspace:
    app.scans.run(shop)
    return shop


def scanned_project(app: App, make_project: Any, name: str) -> Workspace:
    workspace = app.workspaces.open(make_project({"a.py": "def one():\n    pass\n"}, name))
    app.scans.run(workspace)
    return workspace


@pytest.fixture(params=["auto", "legacy"])
def era(request) -> str:
    return str(request.param)


@asynccontextmanager
async def connected(app: App, era: str, tmp_path: Path, **more: Any) -> AsyncIterator[Client]:
    server = create_server(app, environ={}, cwd=tmp_path / "shop", home=tmp_path)
    async with Client(server, mode=era, **more) as client:
        yield client


@pytest.fixture
def subscribed(app, era, tmp_path):
    @asynccontextmanager
    async def subscribe(uri: str) -> AsyncIterator[Subscriber]:
        send, receive = anyio.create_memory_object_stream[str](100)

        async def on_message(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                send.send_nowait(message.params.uri)

        async with AsyncExitStack() as stack:
            stack.enter_context(send)
            stack.enter_context(receive)
            client = await stack.enter_async_context(connected(app, era, tmp_path, message_handler=on_message))
            if era == "legacy":
                await client.subscribe_resource(uri)
                yield Subscriber(client, receive.receive)
                return
            stream = await stack.enter_async_context(client.listen(resource_subscriptions=[uri]))
            events = aiter(stream)

            async def next_uri() -> str:
                event = await anext(events)
                assert isinstance(event, ResourceUpdated)
                return event.uri

            yield Subscriber(client, next_uri)

    return subscribe


def uri_of(workspace: Workspace) -> str:
    return f"brain://{workspace.id}/brief"


async def test_the_briefs_that_there_are_are_listed_and_read(app, era, scanned, make_project, tmp_path):
    empty = app.workspaces.open(make_project({}, "empty"))
    app.scans.run(empty)
    async with connected(app, era, tmp_path) as client:
        (listed,) = (await client.list_resources()).resources
        capability = client.server_capabilities.resources
        (template,) = (await client.list_resource_templates()).resource_templates
        (read,) = (await client.read_resource(listed.uri)).contents
    assert (listed.uri, listed.name, listed.mime_type) == (uri_of(scanned), "shop", "text/markdown")
    assert listed.annotations is not None
    assert listed.annotations.audience == ["user", "assistant"]
    assert capability is not None
    assert capability.subscribe
    assert template.uri_template == "brain://{workspace_id}/brief"
    assert isinstance(read, TextResourceContents)
    assert read.text == app.briefs.text(scanned)
    assert read.mime_type == "text/markdown"
    assert "## Overview" in read.text
    assert listed.size == len(read.text.encode())


@pytest.mark.usefixtures("scanned")
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("brain://nobody/brief", "no known workspace has the id nobody"),
        ("brain://shop/brief", "no known workspace has the id shop"),
        ("brain:///brief", "is no resource of braindex: a brief is at brain://<workspace_id>/brief"),
        ("brain://a/../brief", "is no resource of braindex"),
        ("file:///etc/passwd", "is no resource of braindex"),
        ("brain://" + "x" * 90_000, "is no resource of braindex"),
    ],
)
async def test_what_is_no_brief_is_a_clear_error(app, era, tmp_path, uri, said):
    async with connected(app, era, tmp_path) as client:
        with pytest.raises(MCPError) as failed:
            await client.read_resource(uri)
        assert said in failed.value.message
        assert len(failed.value.message) < 600
        if era == "legacy":
            with pytest.raises(MCPError) as failed:
                await client.subscribe_resource(uri)
            assert said in failed.value.message


async def test_reading_never_scans(app, era, shop, tmp_path):
    app.workspaces.register(shop)
    async with connected(app, era, tmp_path) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="shop has no brief yet: it is made at the end of the first scan"):
            await client.read_resource(uri_of(shop))
    assert app.status.of(shop).state == "never"


async def test_a_brief_that_this_process_replaced_is_told_at_once(app, scanned, subscribed):
    async with subscribed(uri_of(scanned)) as subscriber:
        await subscriber.client.call_tool("update_brief", {"content": MINE})
        assert await subscriber.told() == uri_of(scanned)
        (read,) = (await subscriber.client.read_resource(uri_of(scanned))).contents
    assert read.text == MINE


async def test_a_brief_replaced_outside_of_any_call_is_told_too(app, scanned, subscribed):
    async with subscribed(uri_of(scanned)) as subscriber:
        await anyio.to_thread.run_sync(app.briefs.update, scanned, MINE)
        assert await subscriber.told() == uri_of(scanned)


async def test_the_first_brief_of_a_workspace_is_a_change(app, shop, subscribed):
    app.workspaces.register(shop)
    async with subscribed(uri_of(shop)) as subscriber:
        await subscriber.client.call_tool("scan_workspace", {})
        assert await subscriber.told() == uri_of(shop)


@pytest.mark.parametrize("noticed_by", ["call", "read"])
async def test_what_another_process_replaced_is_noticed_at_the_next_call_or_read(
    brain, scanned, subscribed, tmp_path, noticed_by
):
    other = build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path))
    async with subscribed(uri_of(scanned)) as subscriber:
        other.briefs.update(scanned, MINE)
        if noticed_by == "call":
            await subscriber.client.call_tool("list_workspaces", {})
        else:
            await subscriber.client.read_resource(uri_of(scanned))
        assert await subscriber.told() == uri_of(scanned)


async def test_what_another_process_replaced_is_noticed_without_any_call(app, brain, scanned, tmp_path):
    told = anyio.Event()

    class Waiting(Session):
        async def send_resource_updated(self, uri: str) -> None:
            await super().send_resource_updated(uri)
            told.set()

    changes, session = BriefChanges(BriefResources(app), every=0), Waiting()
    await changes.subscribe(asked_by(session), SubscribeRequestParams(uri=uri_of(scanned)))
    other = build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path))
    await anyio.to_thread.run_sync(other.briefs.update, scanned, MINE)
    with anyio.fail_after(30):
        await told.wait()
    assert session.told == [uri_of(scanned)]
    await changes.unsubscribe(asked_by(session), UnsubscribeRequestParams(uri=uri_of(scanned)))
    assert changes.look() is None


def asked_by(session: "Session") -> Any:
    """The context of a request."""
    return SimpleNamespace(session=session)


class Session:
    """The session of a client of the older protocol, as far as notifications go."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def send_resource_updated(self, uri: str) -> None:
        self.told.append(uri)


async def test_each_change_is_told_once_and_only_of_what_is_subscribed_to(app, scanned, make_project):
    other = scanned_project(app, make_project, "other")
    changes, session = BriefChanges(BriefResources(app)), Session()
    await changes.subscribe(asked_by(session), SubscribeRequestParams(uri=uri_of(scanned)))
    for text, told in ((MINE, 1), (MINE, 1), ("# two\n", 2), (MINE, 3)):
        app.briefs.update(other, text)
        app.briefs.update(scanned, text)
        for _ in range(2):
            looking = changes.look()
            assert looking is not None
            await looking
        assert session.told == [uri_of(scanned)] * told


async def test_without_subscriptions_a_call_looks_at_nothing(app, scanned):
    changes = BriefChanges(BriefResources(app))
    assert changes.look() is None
    await changes.subscribe(asked_by(Session()), SubscribeRequestParams(uri=uri_of(scanned)))
    assert changes.look() is not None
    await changes.unsubscribe(asked_by(Session()), UnsubscribeRequestParams(uri=uri_of(scanned)))
    assert changes.look() is None


async def test_a_change_without_a_client_or_after_its_end_is_passed_over(app, scanned):
    changes = BriefChanges(BriefResources(app))
    changes.changed(scanned)

    async def subscribe() -> None:
        await changes.subscribe(asked_by(Session()), SubscribeRequestParams(uri=uri_of(scanned)))

    await anyio.to_thread.run_sync(lambda: asyncio.run(subscribe()))
    changes.changed(scanned)  # the loop that it was subscribed on has been closed


async def test_after_unsubscribing_nothing_is_told(app, scanned, tmp_path):
    told: list[Any] = []

    async def on_message(message: Any) -> None:
        told.append(message)

    async with connected(app, "legacy", tmp_path, message_handler=on_message) as client:
        await client.subscribe_resource(uri_of(scanned))
        await client.unsubscribe_resource(uri_of(scanned))
        await client.unsubscribe_resource("brain://never/brief")
        await client.call_tool("update_brief", {"content": MINE})
        await client.call_tool("list_workspaces", {})
    assert told == []


async def test_a_new_brief_changes_the_list_for_a_client_of_the_older_protocol_that_was_told_it(
    app, brain, shop, make_project, tmp_path
):
    send, receive = anyio.create_memory_object_stream[Any](100)

    async def on_message(message: Any) -> None:
        if isinstance(message, ResourceListChangedNotification):
            send.send_nowait(message)

    other = build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path))
    async with send, receive, connected(app, "legacy", tmp_path, message_handler=on_message) as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.list_changed
        app.workspaces.register(shop)
        await client.call_tool("scan_workspace", {})
        await client.list_resources()
        await client.call_tool("list_workspaces", {})
        await anyio.to_thread.run_sync(scanned_project, other, make_project, "other")
        await client.call_tool("list_workspaces", {})
        with anyio.fail_after(30):
            await receive.receive()
        assert len((await client.list_resources()).resources) == 2
        assert receive.statistics().current_buffer_used == 0


async def test_only_what_can_change_is_promised_to_a_client_that_listens(app, scanned, tmp_path):
    async with (
        connected(app, "auto", tmp_path) as client,
        client.listen(
            tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=[uri_of(scanned)]
        ) as stream,
    ):
        assert client.server_capabilities.tools is not None
        assert not client.server_capabilities.tools.list_changed
        assert stream.honored.tools_list_changed is None
        assert stream.honored.prompts_list_changed is None
        assert stream.honored.resource_subscriptions == [uri_of(scanned)]


async def test_a_new_brief_changes_the_list_for_a_client_that_listens(app, shop, tmp_path):
    async with (
        connected(app, "auto", tmp_path) as client,
        client.listen(resources_list_changed=True) as stream,
    ):
        assert (await client.list_resources()).resources == []
        app.workspaces.register(shop)
        await client.call_tool("scan_workspace", {})
        with anyio.fail_after(30):
            await anext(aiter(stream))
        assert [one.uri for one in (await client.list_resources()).resources] == [uri_of(shop)]

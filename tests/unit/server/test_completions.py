"""Values for the arguments of prompts and of a brief's URI, in both protocol eras."""

from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from braindex.domain.results import Workspace
from braindex.languages import LANGUAGE_NAMES
from braindex.server.create import create_server

pytestmark = pytest.mark.anyio

TEMPLATE = ResourceTemplateReference(uri="brain://{workspace_id}/brief")
KNOWN = (
    Workspace("ab12", "shop", "/code/shop"),
    Workspace("ab99", "Workshop", "/code/workshop"),
    Workspace("c012", "api", "/code/one/api"),
    Workspace("d345", "api", "/code/two/api"),
    Workspace("e678", "pay\u202e", "/code/pay\u202e"),
)


@pytest.fixture(params=["auto", "legacy"])
def connected(request, held, project, tmp_path):
    held.workspaces.known = {one.path: one for one in KNOWN}
    return lambda: Client(create_server(held.app, environ={}, cwd=project, home=tmp_path), mode=request.param)


@pytest.fixture
def completed(connected):
    async def ask(ref: Any, argument: str, typed: str) -> list[str]:
        async with connected() as client:
            assert client.server_capabilities.completions is not None
            found = (await client.complete(ref, {"name": argument, "value": typed})).completion
        assert found.total == len(found.values)
        assert found.has_more is False
        values: list[str] = found.values
        return values

    return ask


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("", ["shop", "Workshop", "/code/one/api", "/code/two/api"]),
        ("sho", ["shop", "Workshop"]),
        ("WORK", ["Workshop"]),
        ("ap", ["/code/one/api", "/code/two/api"]),
        ("ab", ["ab12", "ab99"]),
        ("/code/t", ["/code/two/api"]),
        (" shop ", ["shop", "Workshop"]),
        ("nowhere", []),
        ("x" * 100_000, []),
    ],
)
@pytest.mark.parametrize("prompt", ["onboard", "review"])
async def test_a_workspace_is_completed_to_what_names_it_alone(completed, prompt, typed, values):
    assert await completed(PromptReference(name=prompt), "workspace", typed) == values


@pytest.mark.parametrize(
    ("typed", "ids"), [("", ["ab12", "ab99", "c012", "d345"]), ("ab1", ["ab12"]), ("api", ["c012", "d345"])]
)
async def test_the_id_in_a_brief_s_uri_is_found_by_id_and_by_name(completed, typed, ids):
    assert await completed(TEMPLATE, "workspace_id", typed) == ids


async def test_other_arguments_are_completed_as_far_as_their_values_are_known(completed):
    assert await completed(PromptReference(name="review"), "changes", "s") == ["staged"]
    assert await completed(PromptReference(name="review"), "base", "ma") == []
    languages = await completed(PromptReference(name="add_language"), "language", "")
    assert "rust" in languages
    assert not LANGUAGE_NAMES & set(languages)


@pytest.mark.parametrize(
    ("ref", "argument", "said"),
    [
        (PromptReference(name="nothing"), "workspace", "there is no prompt `nothing`; there are: onboard, review"),
        (PromptReference(name="onboard"), "nothing", "there is no argument `nothing`; there are: workspace"),
        (ResourceTemplateReference(uri="file:///{path}"), "path", "there is no template `file:///{path}`; there is: b"),
        (TEMPLATE, "workspace", "there is no argument `workspace`; there are: workspace_id"),
    ],
)
async def test_what_there_is_not_is_a_clear_error(connected, ref, argument, said):
    async with connected() as client:
        with pytest.raises(MCPError) as failed:
            await client.complete(ref, {"name": argument, "value": ""})
    assert said in failed.value.message
    assert failed.value.code == -32602


async def test_of_more_than_a_hundred_values_the_rest_is_counted(held, project, tmp_path):
    held.workspaces.known = {f"/w/{n}": Workspace(f"id{n}", f"w{n:03}", f"/w/{n}") for n in range(250)}
    async with Client(create_server(held.app, environ={}, cwd=project, home=tmp_path)) as client:
        found = (await client.complete(TEMPLATE, {"name": "workspace_id", "value": "w"})).completion
    assert (len(found.values), found.total, found.has_more) == (100, 250, True)

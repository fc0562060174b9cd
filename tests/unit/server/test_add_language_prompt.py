"""The prompt `add_language`, and that what it says is what the project says of itself."""

from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from braindex.languages import LANGUAGES
from braindex.server.create import create_server

pytestmark = pytest.mark.anyio
CONTRIBUTING = Path(__file__).resolve().parents[3] / "CONTRIBUTING.md"


@pytest.fixture
def connected(held, project, tmp_path):
    return lambda: Client(create_server(held.app, environ={}, cwd=project, home=tmp_path))


@pytest.fixture
def prompted(connected):
    async def fetch(**arguments: str) -> str:
        async with connected() as client:
            (message,) = (await client.get_prompt("add_language", arguments)).messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    return fetch


async def test_it_gives_the_steps_of_the_contributing_guide_with_the_language_filled_in(prompted):
    guide = CONTRIBUTING.read_text(encoding="utf-8")
    steps = guide[guide.index("1. Find the grammar") : guide.index("Nothing else knows a language's name")].split()
    text = await prompted(language=" C-Sharp ")
    assert " ".join(steps).replace("<language>", "c-sharp") in " ".join(text.split())
    assert "tree_sitter_c_sharp.language()" in text
    assert not {"<language>", "<module>", "<standing>"} & set(text.split())


async def test_it_shows_a_language_that_is_there_whole(prompted):
    text = await prompted(language="rust")
    assert 'grammar="tree_sitter_go:language"' in text
    assert "@definition.function" in text
    assert all(spec.name in text for spec in LANGUAGES)


async def test_a_language_that_is_parsed_already_is_to_be_improved(prompted):
    assert "It parses python already (.py" in await prompted(language="Python")


@pytest.mark.parametrize("name", ["", "  ", "../x", "a b", "x" * 41, "\u202erust", "<module>"])
async def test_what_is_no_name_is_a_clear_error(connected, name):
    async with connected() as client:
        with pytest.raises(MCPError, match="is no name of a language; give it as its grammar is called") as failed:
            await client.get_prompt("add_language", {"language": name})
    assert failed.value.code == -32602

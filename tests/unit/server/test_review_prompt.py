"""The prompt `review` over the real services and a real repository."""

from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent
from tests.fakes.repository import Repo

from braindex.domain.changes import Wanted
from braindex.server.create import create_server

pytestmark = pytest.mark.anyio
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def repo(tmp_path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.commit({"cart.py": "def add(cart):\n    return cart\n", "pay.py": "def pay(cart):\n    return add(cart)\n"})
    found.commit({"cart.py": f"def add(cart):\n    return [cart]  # token={SECRET}\n"})
    return found


@pytest.fixture
def connected(app, repo, tmp_path):
    return lambda: Client(create_server(app, environ={}, cwd=repo.root, home=tmp_path))


@pytest.fixture
def prompted(connected):
    async def fetch(**arguments: str) -> str:
        async with connected() as client:
            (message,) = (await client.get_prompt("review", arguments or None)).messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    return fetch


async def test_it_gives_the_change_with_what_it_touches_and_how_to_review_it(prompted, repo):
    text = await prompted()
    assert text.startswith(f"Review this change to shop ({repo.root}).")
    assert "query_memory" in text
    assert "changed function `add` #cart.py:1" in text
    assert "`pay` #pay.py:2" in text
    assert "     2 +    return [cart]" in text


async def test_similar_reviews_are_in_it_and_secrets_are_not(app, prompted, repo):
    workspace = app.workspaces.open(repo.root)
    app.afterwards.run(app.afterwards.of(app.reviews.review(workspace, Wanted("HEAD"))))
    repo.commit({"cart.py": f"def add(cart):\n    return [cart, cart]  # token={SECRET}\n"})
    text = await prompted(changes="HEAD")
    assert "Similar reviews from the last 90 days" in text
    assert SECRET not in text


async def test_the_changes_can_be_named(prompted, repo):
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    assert "The change: the changes" in await prompted(changes=f"{first}..HEAD")
    repo.write({"pay.py": "def pay(cart):\n    return 0\n"})
    repo.git("add", "pay.py")
    assert "The change: the staged changes." in await prompted(changes="staged")
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({}, "more")
    assert "The change: the changes since main." in await prompted(base="main")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"changes": "nowhere..HEAD"}, "no commit 'nowhere'"),
        ({"changes": "--output=x"}, "names no revision"),
        ({"changes": "HEAD", "base": "main"}, "not by both"),
        ({"changes": "HEAD..HEAD"}, "nothing to review"),
        ({"workspace": "/etc"}, "refused"),
    ],
)
async def test_what_cannot_be_reviewed_is_a_clear_error(connected, arguments: dict[str, Any], said):
    async with connected() as client:
        with pytest.raises(MCPError, match=said) as failed:
            await client.get_prompt("review", arguments)
    assert failed.value.code == -32602

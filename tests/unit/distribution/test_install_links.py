"""The links that install the server into an editor say what the one entry says."""

import base64
import json
import re
import shlex
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from distribution import install_links as links

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVER = {"command": "braindex", "args": ["serve"]}


def test_the_cursor_links_hold_the_name_and_the_entry() -> None:
    for link in (links.cursor_link(), links.cursor_page()):
        query = parse_qs(urlsplit(link).query, strict_parsing=True)
        assert query["name"] == ["braindex"]
        assert json.loads(base64.b64decode(query["config"][0], validate=True)) == SERVER


def test_the_line_for_vs_code_is_one_argument_of_json() -> None:
    command, flag, given = shlex.split(links.vscode_line())
    assert (command, flag) == ("code", "--add-mcp")
    assert json.loads(given) == {"name": "braindex", **SERVER}


def test_the_line_for_windows_escapes_each_quote() -> None:
    given = links.vscode_line_windows().removeprefix('code --add-mcp "').removesuffix('"')
    assert json.loads(given.replace('\\"', '"')) == {"name": "braindex", **SERVER}


def test_the_vs_code_link_holds_the_same() -> None:
    assert json.loads(unquote(links.vscode_link().partition("?")[2])) == {"name": "braindex", **SERVER}


def test_every_link_and_line_in_the_pages_is_the_one_that_is_made() -> None:
    written = {
        links.cursor_link(): r"cursor://[^\s)`>]+",
        links.cursor_page(): r"https://cursor\.com/[^\s)`>]*install-mcp[^\s)`>]*",
        links.vscode_line(): r"code --add-mcp '[^']*'",
        links.vscode_line_windows(): r'code --add-mcp "(?:[^"\\]|\\.)*"',
        links.vscode_link(): r"vscode:mcp/install[^\s)`>]+",
    }
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for made, pattern in written.items():
        assert set(re.findall(pattern, text)) == {made}, pattern

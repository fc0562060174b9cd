"""The links and lines that put `braindex serve` into an editor, made from one entry.

usage: python distribution/install_links.py     prints them, as README.md and docs/install.md have them

The entry names the command alone: it is on the PATH once `uv tool install` or `pipx install` has put it there. It names
no workspace, since both editors tell a server which folders are open, while `${workspaceFolder}` has no value in an
entry of the user's.
"""

import base64
import json
import shlex
from typing import Final
from urllib.parse import quote, urlencode

NAME: Final = "braindex"
ENTRY: Final = {"command": "braindex", "args": ["serve"]}

CURSOR: Final = "cursor://anysphere.cursor-deeplink/mcp/install"
# A page of Cursor's that opens the link above: hosts of README files show https links alone.
CURSOR_PAGE: Final = "https://cursor.com/en/install-mcp"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _cursor_query() -> str:
    config = base64.b64encode(_compact(ENTRY).encode()).decode()
    return urlencode({"name": NAME, "config": config})


def cursor_link() -> str:
    return f"{CURSOR}?{_cursor_query()}"


def cursor_page() -> str:
    return f"{CURSOR_PAGE}?{_cursor_query()}"


def vscode_link() -> str:
    return f"vscode:mcp/install?{quote(_compact({'name': NAME, **ENTRY}), safe='')}"


def vscode_line() -> str:
    """For bash, zsh and fish."""
    return f"code --add-mcp {shlex.quote(_compact({'name': NAME, **ENTRY}))}"


def vscode_line_windows() -> str:
    """For cmd and PowerShell 7.3 or newer, which hand the escaped quotes on as they are."""
    escaped = _compact({"name": NAME, **ENTRY}).replace('"', '\\"')
    return f'code --add-mcp "{escaped}"'


def main() -> None:
    for one in (cursor_link(), cursor_page(), vscode_line(), vscode_line_windows(), vscode_link()):
        print(one)


if __name__ == "__main__":
    main()

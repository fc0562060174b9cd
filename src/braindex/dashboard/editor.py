"""Links that open a source in an editor."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from braindex.domain.results import Workspace

# As each editor documents its own addresses: VS Code's `{scheme}://file/{path}:{line}`, which Cursor and Zed took over.
SCHEMES: Final[Mapping[str, str]] = {"vscode": "vscode", "cursor": "cursor", "zed": "zed"}
NAMES: Final[Mapping[str, str]] = {"vscode": "VS Code", "cursor": "Cursor", "zed": "Zed"}


def editor_link(editor: str, workspace: Workspace, path: str, line: int) -> str:
    """The address that opens a file of a workspace at a line; "" where no editor is chosen, or none can be."""
    scheme = SCHEMES.get(editor)
    if scheme is None or not path or ".." in path.split("/"):
        return ""
    root = workspace.path.replace("\\", "/").strip("/")  # a drive comes without a slash before it
    absolute = "/".join(part for part in (root, path) if part)
    drive = absolute[:2] if absolute[1:2] == ":" else ""
    return f"{scheme}://file/{drive}{quote(absolute[len(drive) :], safe='/', errors='replace')}:{line}"

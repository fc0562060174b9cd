"""The briefs as resources: `brain://<workspace_id>/brief`. Reading one never scans and never asks an engine."""

import re
from collections.abc import Collection
from typing import Final

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Annotations, Resource, ResourceTemplate

from braindex.bootstrap import App
from braindex.domain.display import echoed, safe, safe_line, safe_path
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.services.brief import NoBrief

MIME_TYPE: Final = "text/markdown"
_FOR_BOTH: Final = Annotations(audience=["user", "assistant"])  # a brief is written for people and for agents
ID_IN_TEMPLATE: Final = "workspace_id"
TEMPLATE: Final = ResourceTemplate(
    uri_template=f"brain://{{{ID_IN_TEMPLATE}}}/brief",
    name="brief",
    title="Project brief",
    description="What a workspace is and how it is built, in nine short sections. list_workspaces names the ids.",
    mime_type=MIME_TYPE,
    annotations=_FOR_BOTH,
)
_URI: Final = re.compile(r"brain://([^/?#]+)/brief")


class MalformedUri(BraindexError):
    def __init__(self, uri: str) -> None:
        super().__init__(
            f"{echoed(uri)} is no resource of braindex: a brief is at brain://<workspace_id>/brief, and "
            "list_workspaces names the ids"
        )


class UnknownId(BraindexError):
    def __init__(self, identifier: str) -> None:
        super().__init__(f"no known workspace has the id {echoed(identifier)}; list_workspaces names the known ones")


def uri_of(workspace: Workspace) -> str:
    return f"brain://{workspace.id}/brief"


class BriefResources:
    """The briefs of the known workspaces. Every method blocks."""

    def __init__(self, app: App) -> None:
        self._app = app

    def workspace(self, uri: str) -> Workspace:
        """The workspace whose brief a URI means. Raises MalformedUri and UnknownId."""
        match = _URI.fullmatch(uri)
        if match is None:
            raise MalformedUri(uri)
        for known in self._app.workspaces.list():
            if known.workspace.id == match[1]:
                return known.workspace
        raise UnknownId(match[1])

    def list(self) -> list[Resource]:
        """Those that can be read: of the known workspaces that have a brief."""
        known = [(one.workspace, self._app.briefs.text(one.workspace)) for one in self._app.workspaces.list()]
        return [_listed(workspace, text) for workspace, text in known if text]

    def read(self, uri: str) -> str:
        """A brief's text, safe to show.

        Raises:
            ResourceNotFoundError: the URI is malformed, its workspace unknown, or without a brief.
            ResourceError: the brief cannot be read.
        """
        try:
            return safe(self._text(self.workspace(uri)))
        except (MalformedUri, UnknownId, NoBrief) as error:
            raise ResourceNotFoundError(safe(str(error))) from error
        except BraindexError as error:
            raise ResourceError(safe(str(error))) from error

    def _text(self, workspace: Workspace) -> str:
        text = self._app.briefs.text(workspace)
        if not text:
            raise NoBrief(workspace.name)
        return text

    def digests(self, uris: Collection[str]) -> dict[str, int]:
        """What tells one text of a brief from another within this process; 0 where there is none to be read."""
        known = {uri_of(one.workspace): one.workspace for one in self._app.workspaces.list()}
        return {uri: self._digest(known.get(uri)) for uri in uris}

    def _digest(self, workspace: Workspace | None) -> int:
        text = "" if workspace is None else self._app.briefs.text(workspace)
        return hash(text) if text else 0


def _listed(workspace: Workspace, text: str) -> Resource:
    return Resource(
        uri=uri_of(workspace),
        name=safe_line(workspace.name),
        title=f"Brief of {safe_line(workspace.name)}",
        description=safe_path(workspace.path),
        mime_type=MIME_TYPE,
        size=len(safe(text).encode()),
        annotations=_FOR_BOTH,
    )

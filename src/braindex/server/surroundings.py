"""What tools share: the services, and how a call's workspace is found, the client's roots included."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import Context, ListRoots
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import InputRequiredResult, ListRootsRequest, ListRootsResult
from pydantic import ValidationError

from braindex.bootstrap import App
from braindex.domain.results import Workspace
from braindex.server.refreshing import Refreshes
from braindex.services.resolution import Surroundings, needs_roots, path_of_uri, resolve_for_tool
from braindex.services.threads import in_thread

LOG: Final = logging.getLogger(__name__)

# A client that declared roots but does not answer must not hold up the call for good.
ROOTS_TIMEOUT_SECONDS: Final = 5.0
_ROOTS: Final = "roots"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The state injected into every tool. `around` is without roots: those belong to a client, not to the
    server.
    """

    app: App
    around: Surroundings
    refreshes: Refreshes

    @property
    def reaches_out(self) -> bool:
        """Whether a call may talk to a service beyond this machine: what a tool's annotation says of an open world."""
        settings = self.app.settings
        elsewhere = bool(settings.ollama_model) and not settings.ollama_stays_here
        return settings.memory_mode != "local" and (bool(settings.deepseek_api_key) or elsewhere)

    def workspace(self, argument: str | None, roots: ListRootsResult | None) -> Workspace:
        """The workspace a call means. Blocks.

        Raises:
            BraindexError: none is named, found or allowed.
        """
        return resolve_for_tool(argument, self.around.with_roots(_folders(roots)), self.app.workspaces)

    async def client_roots(self, ctx: Context[Any, Any], workspace: str | None) -> ListRootsResult | ListRoots | None:
        """The client's roots, asked for only where they could matter and the client has them.

        Up to protocol 2025-11-25 the server asks by itself, where a client's failure to answer counts as no
        roots; from 2026-07-28 on the request travels in the call's own result, which the returned marker
        stands for.
        """
        capabilities = ctx.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return None
        workspaces = self.app.workspaces
        if not await in_thread(lambda: needs_roots(workspace, self.around, workspaces)):
            return None
        return await _asked(ctx) if ctx.session.can_send_request else ListRoots()

    async def prompt_roots(
        self, ctx: Context[Any, Any], workspace: str | None
    ) -> ListRootsResult | InputRequiredResult | None:
        """The client's roots for a prompt, which the library resolves for tools alone. An `InputRequiredResult` is
        the prompt's own result: the client fetches the prompt again, with its answer.
        """
        asked = await self.client_roots(ctx, workspace)
        if not isinstance(asked, ListRoots):
            return asked
        if ctx.input_responses is None:
            return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
        answer = ctx.input_responses.get(_ROOTS)
        return answer if isinstance(answer, ListRootsResult) else None


async def _asked(ctx: Context[Any, Any]) -> ListRootsResult | None:
    try:
        listed: ListRootsResult = await ctx.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=ROOTS_TIMEOUT_SECONDS,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        LOG.warning("the client declares roots but did not list them", exc_info=LOG.isEnabledFor(logging.DEBUG))
        return None
    return listed


def _folders(roots: ListRootsResult | None) -> list[Path]:
    """The client's roots that are folders of this machine."""
    listed = roots.roots if roots is not None else []
    found = (path_of_uri(str(root.uri)) for root in listed)
    return [path for path in found if path is not None and path.is_absolute()]

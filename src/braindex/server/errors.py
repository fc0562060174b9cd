"""The server's one error boundary: every failure of a tool call becomes a text the agent can act on."""

import logging
import time
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

from braindex.domain.display import echoed, safe, shortened
from braindex.domain.errors import BraindexError
from braindex.domain.memories import NotAReference
from braindex.domain.names import UnknownWorkspace
from braindex.services.brief import NoBrief
from braindex.services.resolution import NamedWorkspaceUnusable, NoWorkspace
from braindex.services.roots import FolderRefused

LOG: Final = logging.getLogger(__name__)

# A message that is longer has an argument in it that somebody forgot to cut.
LONGEST_MESSAGE: Final = 2000
LISTED_AT_MOST: Final = 5
# What a call can do that named no workspace, or none that there is: a command line is not the agent's to use.
_NAME_ONE: Final = (
    "Call again with `workspace`: the absolute path of the project's folder, or an id or name of `list_workspaces`. So "
    "that no call has to name it, the user can start the server with `--workspace PATH` or set BRAIN_WORKSPACE"
)
_UNNAMED: Final = (NoWorkspace, NamedWorkspaceUnusable, FolderRefused)


class GuardedTool(Tool):
    """A tool whose failures say what happened and the next safe step.

    Expected failures keep their message, wrong arguments are named one by one, and anything else is reported
    as a bug with the place of its traceback. `log_path` is where that is, or "" when there is no log file.
    """

    log_path: str = ""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Runs the tool.

        Raises:
            ToolError: for every failure; its text goes to the agent as it is.
            MCPError: where the protocol itself was misused.
        """
        self._refuse_unknown(arguments)
        arguments = self._without_nulls(arguments)
        started = time.monotonic()
        try:
            return await super().run(arguments, context, convert_result=convert_result)
        except UnexpectedToolError as error:
            raise self._told(error) from error
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise told(_wrong_arguments(self.name, error.__cause__)) from error
            raise told(str(error)) from error
        finally:
            LOG.info("%s: %d ms", self.name, (time.monotonic() - started) * 1000)

    def _refuse_unknown(self, arguments: dict[str, Any]) -> None:
        """A misspelt argument that is silently ignored gives a wrong answer that looks right."""
        known = self.parameters.get("properties", {})
        unknown = [name for name in arguments if name not in known]
        if unknown:
            accepted = ", ".join(known) or "no arguments"
            raise told(f"{self.name} has no argument {_listed(unknown)}; it takes: {accepted}")

    def _without_nulls(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments that were given: some clients send null, or the word, for one that is left out. One that is
        required stays, to be refused by name.
        """
        required = self.parameters.get("required", ())
        return {name: value for name, value in arguments.items() if value not in (None, "null") or name in required}

    def _told(self, error: UnexpectedToolError) -> ToolError:
        cause = error.__cause__
        if isinstance(cause, BraindexError):
            return told(told_to_agents(cause))
        LOG.error("%s failed unexpectedly", self.name, exc_info=cause)
        where = f" The traceback is in {self.log_path}." if self.log_path else ""
        return told(
            f"this is a bug in braindex ({type(cause).__name__} in {self.name}).{where} "
            "Nothing was lost, and scanning again will not help: go on without this call"
        )


def told(message: str) -> ToolError:
    """The error that gives an agent this message: safe to show and to encode, and of bounded length."""
    return ToolError(safe(shortened(message, LONGEST_MESSAGE)))


def told_to_agents(error: BraindexError) -> str:
    """An expected failure in words that name an agent's tools, where its own name a person's commands."""
    if isinstance(error, UnknownWorkspace):
        return f"no workspace is known as '{echoed(error.reference)}'. {_NAME_ONE}"
    if isinstance(error, _UNNAMED):
        return f"{str(error).rstrip('.')}. {_NAME_ONE}"
    if type(error) is NoBrief:
        return f"{error}; query_memory answers without one, and starts that scan where there was none"
    if isinstance(error, NotAReference):
        return f"{error}; list_memory shows the ids"
    return str(error)


def _wrong_arguments(tool: str, error: ValidationError) -> str:
    problems = [
        f"`{echoed('.'.join(map(str, one['loc'])))}`: {shortened(one['msg'].lower())}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    return f"wrong arguments for {tool}: {'; '.join(problems[:LISTED_AT_MOST])}"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{shortened(echoed(name), 60)}`" for name in names[:LISTED_AT_MOST])

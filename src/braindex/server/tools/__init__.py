"""The tools, in the order clients list them. A new tool is one file and one row."""

from collections.abc import Callable
from typing import Final

from braindex.server.errors import GuardedTool
from braindex.server.surroundings import ToolContext
from braindex.server.tools import (
    forget_memory,
    get_brief,
    list_memory,
    list_workspaces,
    query_memory,
    save_to_memory,
    scan_status,
    scan_workspace,
    update_brief,
    usage_report,
)

# Each builds its tool from the injected state and the path of the log ("" without one).
TOOLS: Final[tuple[Callable[[ToolContext, str], GuardedTool], ...]] = (
    query_memory.build,
    get_brief.build,
    scan_workspace.build,
    scan_status.build,
    update_brief.build,
    save_to_memory.build,
    list_memory.build,
    forget_memory.build,
    list_workspaces.build,
    usage_report.build,
)

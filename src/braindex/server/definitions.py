"""How a function becomes a tool: a schema that every vendor accepts, one result for text and structure."""

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from braindex.domain.display import safe
from braindex.server.errors import GuardedTool

WorkspaceArgument = Annotated[
    str | None, Field(description="Path, id or name; default: the project this client has open")
]


def define(
    function: Callable[..., Any],
    *,
    title: str,
    description: str,
    annotations: ToolAnnotations,
    output: dict[str, dict[str, Any]],
    log_path: str,
) -> GuardedTool:
    """A tool made of an async function that returns a `CallToolResult`.

    `output` are the properties that every successful structured result has; it is advertised as the output
    schema, which says nothing of further keys, so that shapes may gain some.
    """
    tool = GuardedTool.from_function(
        function, title=title, description=description, annotations=annotations, structured_output=False
    )
    assert isinstance(tool, GuardedTool)  # noqa: S101 - from_function builds its own class
    schema = {"type": "object", "properties": output, "required": list(output)}
    metadata = _Arguments(arg_model=tool.fn_metadata.arg_model, output_schema=schema)
    return tool.model_copy(update={"parameters": _lean(tool.parameters), "fn_metadata": metadata, "log_path": log_path})


class _Arguments(FuncMetadata):
    """Arguments as agents send them: a number, a truth value or a list may come as its JSON text. A text stays one,
    also where it looks like JSON, as a folder named `[id]` or a brief that begins with a brace does.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        parsed = super().pre_parse_json(data)
        return {name: data[name] if self._is_text(name) else value for name, value in parsed.items()}

    def _is_text(self, name: str) -> bool:
        known = self.arg_model.model_fields.get(name)
        return known is not None and known.annotation in (str, str | None)


def result(text: str, structured: dict[str, Any]) -> CallToolResult:
    """A successful result, its text and structure each sufficient alone. Unsafe characters are escaped."""
    return CallToolResult(content=[TextContent(type="text", text=safe(text))], structured_content=_safe(structured))


def bounded(found: dict[str, Any], at_most: int) -> dict[str, Any]:
    """A structured result that lists only so many skipped files: an agent pays for each. Their count is exact."""
    skipped = found["skipped"]
    return {**found, "skipped": skipped[:at_most], "skipped_count": len(skipped)}


def _lean(parameters: dict[str, Any]) -> dict[str, Any]:
    """The input schema without titles and null unions, which cost tokens or are refused by some vendors.

    A null is still accepted at run time, as an argument left out (`GuardedTool`): some clients send it for one.
    """
    properties = {name: _plain(schema) for name, schema in parameters.get("properties", {}).items()}
    required = {"required": parameters["required"]} if parameters.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    merged = {**(options[0] if len(options) == 1 else {}), **schema}
    dropped = {"title", "anyOf"} if options else {"title"}
    kept = {key: value for key, value in merged.items() if key not in dropped}
    if kept.get("default", ...) is None:
        del kept["default"]
    return kept


def _safe(value: Any) -> Any:
    """The same JSON value with every string made safe to show."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(key): _safe(one) for key, one in value.items()}
    return [_safe(one) for one in value] if isinstance(value, list) else value

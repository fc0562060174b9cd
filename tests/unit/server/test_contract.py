"""What the server offers, held against a committed snapshot: clients, prompts and scripts rely on it.

`python -m tests.unit.server.test_contract` writes the snapshot anew, unless something that somebody may rely on would
be lost; with `--breaking` it does so all the same.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client
from tests.unit.server.conftest import HeldApp

from braindex.server.create import create_server

pytestmark = pytest.mark.anyio

SNAPSHOT: Final = Path(__file__).resolve().parents[2] / "data" / "contract.json"
MOST_BYTES: Final = 10_000  # of all tool definitions together: every client pays for them in every conversation


async def offered() -> dict[str, Any]:
    """All that a client is told before it asks for anything, of a server that has no workspace and no engine."""
    root = Path(SNAPSHOT.anchor)
    found: dict[str, Any] = {"capabilities": {}}
    for mode in ("legacy", "auto"):
        async with Client(create_server(HeldApp().app, environ={}, cwd=root, home=root), mode=mode) as client:
            found["capabilities"][client.protocol_version] = plain(client.server_capabilities)
            found |= {
                "instructions": client.instructions,
                "tools": [plain(one) for one in (await client.list_tools()).tools],
                "prompts": [plain(one) for one in (await client.list_prompts()).prompts],
                "templates": [plain(one) for one in (await client.list_resource_templates()).resource_templates],
            }
    return found


def plain(model: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def lost(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What somebody may rely on and is not there any more; texts may change, and anything may be added."""
    return [
        *_missing("tool", before["tools"], after["tools"], _lost_of_tool),
        *_missing("prompt", before["prompts"], after["prompts"], _lost_of_prompt),
        *(
            f"template {one['uriTemplate']}"
            for one in before["templates"]
            if one["uriTemplate"] not in {other["uriTemplate"] for other in after["templates"]}
        ),
        *(
            f"capability {name} of {version}"
            for version, known in before["capabilities"].items()
            for name in known
            if name not in after["capabilities"].get(version, {})
        ),
    ]


def _missing(what: str, before: list[Any], after: list[Any], compare: Any) -> Iterator[str]:
    now = {one["name"]: one for one in after}
    for one in before:
        if one["name"] not in now:
            yield f"{what} {one['name']}"
        else:
            yield from (f"{what} {one['name']}: {loss}" for loss in compare(one, now[one["name"]]))


def _lost_of_tool(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    had, has = before["inputSchema"], after["inputSchema"]
    for name, schema in had["properties"].items():
        now = has["properties"].get(name, {})
        if now.get("type") != schema["type"] or not set(schema.get("enum", ())) <= set(now.get("enum", ())):
            yield f"argument {name} as it was"
    for name in set(has.get("required", ())) - set(had.get("required", ())):
        yield f"argument {name} was optional, or was not there"
    for name in set(before["outputSchema"]["required"]) - set(after["outputSchema"]["required"]):
        yield f"result {name}"


def _lost_of_prompt(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    now = {one["name"]: one for one in after.get("arguments", ())}
    for one in before.get("arguments", ()):
        if one["name"] not in now:
            yield f"argument {one['name']}"
    had = {one["name"] for one in before.get("arguments", ()) if one["required"]}
    yield from (f"argument {name} was optional" for name, one in now.items() if one["required"] and name not in had)


@pytest.fixture(scope="module")
def snapshot() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return found


async def test_the_server_offers_what_the_snapshot_says(snapshot):
    now = await offered()
    assert lost(snapshot, now) == []
    assert now == snapshot, "write it anew: python -m tests.unit.server.test_contract"


def changed(whole: dict[str, Any], *path: Any, to: Any = None) -> dict[str, Any]:
    """A copy in which one value is another, or is not there."""
    copy: Any = json.loads(json.dumps(whole))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    found: dict[str, Any] = copy
    return found


@pytest.mark.parametrize(
    ("change", "to", "loss"),
    [
        (("tools", 0), None, "tool query_memory"),
        (("tools", 0, "inputSchema", "properties", "limit"), None, "tool query_memory: argument limit as it was"),
        (("tools", 0, "inputSchema", "properties", "limit", "type"), "string", "argument limit as it was"),
        (("tools", 0, "inputSchema", "required"), ["query", "path"], "argument path was optional"),
        (("tools", 0, "outputSchema", "required"), ["query"], "result sources"),
        (("tools", 9, "inputSchema", "properties", "period", "enum"), ["all"], "argument period as it was"),
        (("prompts", 1), None, "prompt review"),
        (("prompts", 1, "arguments"), [], "prompt review: argument base"),
        (("prompts", 0, "arguments", 0, "required"), True, "prompt onboard: argument workspace was optional"),
        (("templates",), [], "template brain://{workspace_id}/brief"),
        (("capabilities", "2025-11-25", "completions"), None, "capability completions of 2025-11-25"),
    ],
)
def test_a_loss_is_named(snapshot, change, to, loss):
    assert any(loss in one for one in lost(snapshot, changed(snapshot, *change, to=to)))


def test_what_is_gained_or_said_otherwise_is_no_loss(snapshot):
    properties = {**snapshot["tools"][0]["inputSchema"]["properties"], "more": {"type": "string"}}
    gained = changed(snapshot, "tools", 0, "inputSchema", "properties", to=properties)
    assert lost(snapshot, changed(gained, "instructions", to="Otherwise.")) == []


# Every model vendor's and client's rules for the definition of a tool, as far as they are stricter than the protocol.

# Gemini's Schema object, the smallest of them; OpenAI (without `strict`) and Anthropic take all of these.
KEYWORDS: Final = frozenset({"type", "description", "enum", "items", "default", "minimum", "maximum"})
TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array"})
NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
LONGEST_NAME: Final = 64 - len("mcp__braindex__")  # VS Code, Cline: 64 with the server's; Claude Code: with this
OPENAI_DESCRIPTION: Final = 1_024  # characters of a tool's description


def schema_faults(schema: dict[str, Any], place: str) -> Iterator[str]:
    if unknown := schema.keys() - KEYWORDS:
        yield f"{place} has {sorted(unknown)}"
    if not isinstance(schema.get("type"), str) or schema["type"] not in TYPES:
        yield f"{place} has no single type"
    if "enum" in schema and not (schema["type"] == "string" and all(isinstance(one, str) for one in schema["enum"])):
        yield f"{place} lists values that are no strings"
    if schema.get("type") == "array":
        yield from schema_faults(schema.get("items", {}), f"{place}[]")


def definition_faults(tool: dict[str, Any]) -> Iterator[str]:
    name, schema = tool["name"], tool["inputSchema"]
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield f"{name} is no name everywhere"
    if not 0 < len(tool["description"]) <= OPENAI_DESCRIPTION or not tool["title"]:
        yield f"{name} is described too little or too long"
    if schema["type"] != "object" or schema.keys() - {"type", "properties", "required"}:
        yield f"{name} takes more than a plain object"
    if not set(schema.get("required", ())) <= schema["properties"].keys():
        yield f"{name} requires what it does not have"
    for argument, one in schema["properties"].items():
        if not NAME.fullmatch(argument) or not one.get("description"):
            yield f"{name}.{argument} has no plain name or no description"
        yield from schema_faults(one, f"{name}.{argument}")


def output_faults(schema: Any, place: str) -> Iterator[str]:
    """No vendor's model sees these; clients validate results against them, so they stay as plain as a null allows."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), list) or schema.keys() & {"$ref", "$defs", "oneOf", "allOf", "not"}:
            yield place
        for key, one in schema.items():
            yield from output_faults(one, f"{place}.{key}")
    elif isinstance(schema, list):
        for one in schema:
            yield from output_faults(one, place)


def test_every_vendor_and_client_accepts_the_definitions(snapshot):
    faults = [fault for tool in snapshot["tools"] for fault in definition_faults(tool)]
    faults += [fault for tool in snapshot["tools"] for fault in output_faults(tool["outputSchema"], tool["name"])]
    assert faults == []
    assert all(tool["outputSchema"]["type"] == "object" for tool in snapshot["tools"])


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": ["string", "null"]}, "has no single type"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "has ['anyOf']"),
        ({"$ref": "#/$defs/a"}, "has ['$ref']"),
        ({"type": "array"}, "[] has no single type"),
        ({"type": "integer", "enum": [1]}, "no strings"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties"),
    ],
)
def test_what_a_vendor_refuses_is_seen(schema, fault):
    assert any(fault in one for one in schema_faults(schema, "it"))


def test_all_definitions_together_stay_below_what_is_promised(snapshot):
    assert len(json.dumps(snapshot["tools"], separators=(",", ":")).encode()) <= MOST_BYTES
    assert len(snapshot["instructions"].encode()) < 2_000


def test_the_annotations_tell_reading_from_writing_and_destroying(snapshot):
    hints = {tool["name"]: tool["annotations"] for tool in snapshot["tools"]}
    assert {name for name, one in hints.items() if not one["readOnlyHint"]} == {
        "scan_workspace", "update_brief", "save_to_memory", "forget_memory",
    }  # fmt: skip
    assert {name for name, one in hints.items() if one.get("destructiveHint")} == {
        "scan_workspace", "update_brief", "forget_memory",
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    now = asyncio.run(offered())
    losses = lost(json.loads(SNAPSHOT.read_text(encoding="utf-8")), now) if SNAPSHOT.exists() else []
    for one in losses:
        sys.stderr.write(f"lost: {one}\n")
    if losses and "--breaking" not in arguments:
        return 1
    SNAPSHOT.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

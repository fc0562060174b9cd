"""Writes the references of this folder from the program itself.

    python docs/reference.py

commands.md gets every command and option of the command line, tools.md every tool, prompt and resource of the MCP
server. What stands above the marker in each page is written by hand and stays. tests/test_docs.py fails where a page is
behind.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp.server import MCPServer
from mcp_types import PromptArgument, Tool

from braindex.bootstrap import build_app
from braindex.cli.parser import build_parser
from braindex.config import load_settings
from braindex.server.create import create_server

FOLDER: Final = Path(__file__).resolve().parent
MARKER: Final = "<!-- From here on made by `python docs/reference.py`: change the program, not this text. -->"


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Every command that can be run, with what `--help` says of it; one that only has actions is not."""
    for group in _groups(parser):
        told = {choice.dest: choice.help or "" for choice in group._choices_actions}  # noqa: SLF001 - has no public name
        for name, below in group.choices.items():
            if not any(one.required for one in _groups(below)):
                yield below, told.get(name, "")
            yield from commands(below)


def arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a command takes, without `--help` and without what is not shown."""
    ours = (one for one in parser._actions if not isinstance(one, argparse._HelpAction | argparse._SubParsersAction))  # noqa: SLF001 - argparse has no public way to ask
    return [one for one in ours if one.help != argparse.SUPPRESS]


def command_reference() -> str:
    return "\n".join(line for parser, told in commands(build_parser()) for line in _command(parser, told))


def tool_reference() -> str:
    """Of a server with nothing configured."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        app = build_app(load_settings({"BRAIN_DIR": str(root / "brain")}, root))
        try:
            server = create_server(app, environ={}, cwd=root, home=root)
            return "\n".join(asyncio.run(_server(server)))
        finally:
            app.close()


def merged(page: str, made: str) -> str:
    """A page with what is made below its marker."""
    head, marker, _ = page.partition(MARKER)
    if not marker:
        raise SystemExit("the page has lost its marker; put this line where the reference begins:\n" + MARKER)
    return f"{head}{MARKER}\n\n{made.rstrip()}\n"


PAGES: Final = {"commands.md": command_reference, "tools.md": tool_reference}


def _groups(parser: argparse.ArgumentParser) -> list[Any]:
    return [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001 - as above


def _command(parser: argparse.ArgumentParser, told: str) -> Iterator[str]:
    yield from (f"## {parser.prog}", "", _sentence(told or parser.description or ""), "")
    taken = arguments(parser)
    if taken:
        yield from ("| argument | what it is |", "| --- | --- |")
        yield from (f"| {_written(one)} | {_cell(_help(one))} |" for one in taken)
        yield ""


def _written(action: argparse.Action) -> str:
    """`--limit N`; `[PATH]` for one that may be left out, `TEXT …` for one that may be repeated."""
    value = "" if action.nargs == 0 else _value(action)
    if action.option_strings:
        return _cell(" ".join(filter(None, [f"`{', '.join(action.option_strings)}", value])) + "`")
    return _cell(f"`{value}`")


def _value(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else None
    if name is None:
        name = "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": "braindex"}


async def _server(server: MCPServer[Any]) -> list[str]:
    lines = ["## Tools", ""]
    for tool in await server.list_tools():
        lines += _tool(tool)
    lines += ["## Prompts", ""]
    for prompt in await server.list_prompts():
        lines += [f"### {prompt.name}", "", _sentence(prompt.description or ""), ""]
        lines += _table((_argument(one) for one in prompt.arguments or ()), "| argument | what it is |")
    lines += ["## Resources", "", "| address | type | what it is |", "| --- | --- | --- |"]
    for one in await server.list_resource_templates():
        lines.append(f"| `{one.uri_template}` | `{one.mime_type}` | {_cell(one.description or '')} |")
    return lines


def _tool(tool: Tool) -> list[str]:
    schema = tool.input_schema
    required = schema.get("required", [])
    rows = (_parameter(name, one, name in required) for name, one in schema.get("properties", {}).items())
    gives = ", ".join(f"`{name}`" for name in (tool.output_schema or {}).get("required", []))
    return [
        f"### {tool.name}", "", _sentence(tool.description or ""), "",
        *_table(rows, "| parameter | type | default | what it is |"),
        f"Clients see it marked as {_hint(tool)}. Its result has {gives}.", "",
    ]  # fmt: skip


def _hint(tool: Tool) -> str:
    hints = tool.annotations
    if hints is not None and hints.read_only_hint:
        return "read-only"
    return "destructive" if hints is None or hints.destructive_hint is not False else "additive"


def _parameter(name: str, schema: dict[str, Any], required: bool) -> str:
    kind = schema.get("type", "")
    if kind == "array":
        kind = f"list of {schema.get('items', {}).get('type', 'any')}s"
    if "enum" in schema:
        kind = " or ".join(f"`{one}`" for one in schema["enum"])
    if "minimum" in schema:
        kind += f", {schema['minimum']} " + (f"to {schema['maximum']}" if "maximum" in schema else "or more")
    default = f"`{str(schema['default']).lower()}`" if "default" in schema else "needed" if required else ""
    return f"| `{name}` | {kind} | {default} | {_cell(schema.get('description', ''))} |"


def _argument(argument: PromptArgument) -> str:
    return f"| `{argument.name}` | {_cell(argument.description or '')} |"


def _table(rows: Iterator[str], head: str) -> list[str]:
    """With an empty line behind it; nothing where there are no rows."""
    found = list(rows)
    return [head, "|" + " --- |" * (head.count("|") - 1), *found, ""] if found else []


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _cell(text: str) -> str:
    """Text in a cell of a table: bars, stars and tags in it are text; between backquotes a bar alone is escaped."""
    parts = " ".join(text.split()).replace("|", r"\|").split("`")
    return "`".join(part if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    return text.replace("*", r"\*").replace("<", "&lt;")


def main() -> None:
    for name, made in PAGES.items():
        page = FOLDER / name
        page.write_text(merged(page.read_text(encoding="utf-8"), made()), encoding="utf-8")
        print(f"{page.name}: written")


if __name__ == "__main__":
    main()

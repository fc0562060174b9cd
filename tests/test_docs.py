"""What the documentation says, held against the program: commands, tools, links, examples."""

import ast
import asyncio
import json
import re
from dataclasses import fields
from typing import Any

import pytest
from bench.costs import table
from docs.reference import MARKER, PAGES, commands, merged
from tests.docs.pages import DOCS, ROOT, Page, guides, page, pages

from braindex.cli.parser import build_parser
from braindex.domain.entities import KINDS
from braindex.domain.question import QuestionType
from braindex.domain.ranking import WEIGHTS
from braindex.llm.prices import load_prices
from braindex.server.create import create_server

EVERY_PAGE = pytest.mark.parametrize("one", pages(), ids=lambda one: one.name)
EVERY_GUIDE = pytest.mark.parametrize("one", guides(), ids=lambda one: one.name)


def _hand_written(one: Page) -> str:
    return one.text.partition(MARKER)[0]


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_says_what_the_program_says(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert merged(text, PAGES[name]()) == text, "run `python docs/reference.py`"


def test_every_command_is_named_in_a_guide():
    """Beside the reference, which has them all: somebody has to be told what a command is for."""
    told = "\n".join(_hand_written(one) for one in guides())
    for parser, _ in commands(build_parser()):
        name = parser.prog.removeprefix("braindex ")
        group, _, action = name.rpartition(" ")
        listed = rf"braindex {group} [\w| ]*\b{action}\b" if group else rf"braindex {name}\b"
        assert re.search(listed, told), f"no guide names {parser.prog}"


def test_every_tool_and_prompt_is_named_in_the_readme(app, tmp_path):
    server = create_server(app, environ={}, cwd=tmp_path, home=tmp_path)
    offered = [*asyncio.run(server.list_tools()), *asyncio.run(server.list_prompts())]
    assert {one.name for one in offered} <= set(page("README.md").spans)


@EVERY_PAGE
def test_every_link_leads_somewhere(one):
    for link in one.links:
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (one.path.parent / path).resolve() if path else one.path
        assert target.exists(), f"{link}: there is no such file"
        assert target.is_relative_to(ROOT), f"{link}: it leaves the repository"
        if anchor:
            assert anchor in Page(target).anchors, f"{link}: there is no such heading"


@EVERY_GUIDE
def test_every_command_line_is_understood(one, capsys):
    named = {parser.prog for parser, _ in commands(build_parser())}
    for line, arguments in one.braindex_lines():
        if line in named:  # said of a command, which may need more when it is run
            continue
        try:
            build_parser().parse_args(arguments)
        except SystemExit as leaving:
            if leaving.code:  # --help and --version leave with 0
                pytest.fail(f"{line}: {capsys.readouterr().err}")


@EVERY_PAGE
def test_every_json_example_is_json(one):
    for block in one.blocks:
        if block.language == "json":
            json.loads(block.text)


@EVERY_GUIDE
def test_every_client_is_told_a_command_that_there_is(one, capsys):
    for block in one.blocks:
        if block.language == "json":
            for arguments in _started(json.loads(block.text)):
                try:
                    build_parser().parse_args(arguments)
                except SystemExit:
                    pytest.fail(f"{arguments}: {capsys.readouterr().err}")


@EVERY_GUIDE
def test_every_python_example_imports_what_there_is(one):
    examples = [block.text for block in one.blocks if block.language == "python"]
    examples += [span for span in one.spans if span.startswith(("from braindex", "import braindex"))]
    for example in examples:
        imports: list[ast.stmt] = [
            node for node in ast.parse(example).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), one.name, "exec"), {})  # noqa: S102 - nothing but the imports


@EVERY_PAGE
def test_every_measurement_can_be_made(one):
    """Each `python bench/….py` is a file, and has the options that the page gives it."""
    text = one.text.replace("\\\n", " ")
    for name, options in re.findall(r"python (bench/\w+\.py)((?:[^`\n]|`(?!\w))*)", text):
        script = ROOT / name
        assert script.is_file(), name
        source = "".join(part.read_text(encoding="utf-8") for part in script.parent.glob(f"{script.stem}*.py"))
        for option in re.findall(r"(?<!\S)--[a-z-]+", options):
            assert f'"{option}"' in source, f"{name} {option}"


@EVERY_GUIDE
def test_every_citation_of_this_repository_is_right(one):
    """Of what a page shows as output: `name` #path:line, where the path is one of ours."""
    for name, path, line in re.findall(r"`(\w+)` #(src/braindex/[\w/.]+):(\d+)", one.text):
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        assert re.search(rf"\b(?:def|class) {name}\b", lines[int(line) - 1]), f"{name} #{path}:{line}"


def test_the_weights_are_those_that_rank():
    columns: tuple[QuestionType, ...] = ("phrase", "symbol", "action", "web")
    rows = page("docs/retrieval.md").text.partition("| weight |")[2].partition("\n\n")[0].splitlines()[2:]
    told: dict[tuple[str, str], float] = {}
    for name, *cells in ([cell.strip() for cell in row.strip("|").split("|")] for row in rows):
        told |= {(column, name): float(cell or 0) for column, cell in zip(columns, cells, strict=True)}
    used = {
        (column, field.name): getattr(WEIGHTS[column], field.name)
        for column in columns
        for field in fields(WEIGHTS[column])
    }
    assert told == used


def test_the_costs_are_those_of_the_price_table():
    assert table(load_prices()) in page("docs/engines.md").text, "run `python bench/costs.py`"


def test_every_capture_and_setting_of_a_query_is_explained():
    told = set(page("docs/adding-a-language.md").spans)
    queries = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("queries/*.scm"))
    captures = {re.sub(r"^@definition\..*", "@definition.<kind>", one) for one in re.findall(r"@[a-z][\w.-]*", queries)}
    assert captures - {"@theme"} <= told  # CSS's own at-rule, which is matched by its name
    assert set(re.findall(r"#set! (\w+)", queries)) <= told
    assert KINDS - {"file", "note", "episode"} <= told


def test_the_steps_for_a_language_are_the_same_in_both_places():
    theirs, ours = (_steps(page(name).text) for name in ("CONTRIBUTING.md", "docs/adding-a-language.md"))
    assert len(theirs) == 5
    assert [one for one in theirs if "captures" not in one and one not in ours] == theirs[
        2:3
    ]  # which has its table there


def test_the_contents_of_the_site_are_all_pages():
    listed = [
        line.strip()
        for block in page("docs/index.md").blocks
        if block.language == "{toctree}"
        for line in block.text.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    assert sorted(listed) == sorted(path.stem for path in DOCS.glob("*.md") if path.name != "index.md")


def test_the_readme_begins_with_two_commands():
    """`.ci/run` takes them from there: the first block under each heading, of one line."""
    for heading, last in (("### Install and ask", "braindex ask"), ("### Install and test", "/pytest")):
        under = page("README.md").text.partition(f"\n{heading}\n")[2]
        block = re.search(r"^```\n(.*?)^```", under, re.MULTILINE | re.DOTALL)
        assert block is not None
        assert block[1].count("\n") == 1
        assert last in block[1]


def _started(value: Any) -> list[list[str]]:
    """The arguments of braindex in a client's configuration."""
    if isinstance(value, list):
        return [found for one in value for found in _started(one)]
    if not isinstance(value, dict):
        return []
    command = value.get("command")
    found = [found for one in value.values() for found in _started(one)]
    if isinstance(command, str) and re.search(r"(^|/)braindex$", command):
        found.append(value.get("args", []))
    if isinstance(command, str) and command.startswith("braindex "):
        found.append(command.split()[1:])
    return found


def _steps(text: str) -> list[str]:
    """The numbered steps from `1. Find the grammar` on, each on one line."""
    listed = text[text.index("1. Find the grammar") :]
    found = re.findall(r"^\d\. (.+?)(?=^\d\. |^\n\S|\Z)", listed, re.MULTILINE | re.DOTALL)
    return [" ".join(one.split()) for one in found][:5]

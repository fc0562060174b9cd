"""What a reviewing engine may look at: the memory, files and entities of one workspace, and nothing else."""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from braindex.domain.citations import citation
from braindex.domain.conversing import ToolCall, ToolDefinition
from braindex.domain.display import echoed, safe_line, shortened
from braindex.domain.errors import BraindexError
from braindex.domain.lines import split_lines
from braindex.domain.options import WorkspaceOptions
from braindex.domain.relations import relatives_lines
from braindex.domain.results import Question, Skipped, Source, Workspace
from braindex.domain.review_prompt import result_block
from braindex.domain.secrets import redacted
from braindex.domain.tokens import count_tokens
from braindex.domain.units import EntityFilter
from braindex.indexing.decode import read_text
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore
from braindex.services.ask import Asking, path_below
from braindex.services.reviewing.agent import RESULT_TOKENS
from braindex.services.reviewing.structure import Indexing, never
from braindex.services.workspaces import Workspaces

MOST_LINES: Final = 300  # of one reading
_MOST_ENTITIES: Final = 150
_MOST_SOURCES: Final = 8
_LONGEST_LINE: Final = 400  # characters
_PATH: Final = {"type": "string", "description": "from the workspace's root, with /"}


def _definition(name: str, description: str, required: str, **properties: dict[str, str]) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": [required], "additionalProperties": False}
    return ToolDefinition(name, description, schema)


DEFINITIONS: Final = (
    _definition(
        "query_memory",
        "Search the code, notes and earlier reviews of this workspace: where something is defined, how it works, what "
        "was decided. 'who calls NAME' and 'subclasses of NAME' are answered by name.",
        "query",
        query={"type": "string", "description": "a question, or a name to find"},
        path={"type": "string", "description": "only below this folder, file or glob"},
        kind={"type": "string", "description": "only this kind: function, class, method, heading, note, episode, …"},
    ),
    _definition(
        "read_file",
        f"Read lines of one file as it is on disk now, at most {MOST_LINES}.",
        "path",
        path=_PATH,
        line={"type": "integer", "description": "the first line (default 1)"},
        end_line={"type": "integer", "description": "the last line"},
    ),
    _definition(
        "list_entities",
        "List the functions, classes and other entities of a file, or of all files below a folder, with their lines.",
        "path",
        path=_PATH,
    ),
)


class Misused(BraindexError):
    """A call that cannot be run; the message says why, to the engine."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the tools of one review read: the workspace, its root, its options, and what its index held at the start."""

    workspace: Workspace
    root: Path
    options: WorkspaceOptions
    indexed: Indexing


class ToolBox:
    """The tools over one workspace. Whatever a call asks for, its result is text."""

    definitions: Sequence[ToolDefinition] = DEFINITIONS

    def __init__(self, around: Surroundings, asking: Asking, workspaces: Workspaces) -> None:
        self._around = around
        self._asking = asking
        self._workspaces = workspaces
        self._tools: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "query_memory": self._query,
            "read_file": self._read,
            "list_entities": self._entities,
        }

    def run(self, call: ToolCall) -> str:
        """What a call finds, at most RESULT_TOKENS, without secrets, quoted as data; why it cannot be run otherwise."""
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                raise Misused(f"no tool is called {echoed(call.name)!r}; there are: {', '.join(self._tools)}")
            found = redacted(tool(_arguments(call.arguments)))
        except BraindexError as error:
            found = f"error: {error}"
        return result_block(call.name if tool else "", _within(found.split("\n"), RESULT_TOKENS))

    def is_known(self, path: str) -> bool:
        """Whether a file is one of the workspace's."""
        return path in self._around.indexed.files

    def _query(self, arguments: Mapping[str, Any]) -> str:
        text, path, kind = (_text(arguments, name) for name in ("query", "path", "kind"))
        question = Question(text, _MOST_SOURCES, path or None, kind or None)
        answer = self._asking.sources(self._around.workspace, question)
        parts = [_told(one) for one in answer.sources] or [answer.reason]
        if answer.related is not None:
            parts.append("\n".join(relatives_lines(answer.related)))
        return "\n\n".join([*parts, *([answer.coverage] if answer.coverage else [])])

    def _read(self, arguments: Mapping[str, Any]) -> str:
        path = self._checked(_text(arguments, "path"))
        lines = self._lines(path)
        first = max(1, _number(arguments, "line", 1))
        last = min(len(lines), first + MOST_LINES - 1, max(first, _number(arguments, "end_line", len(lines))))
        if first > len(lines):
            raise Misused(f"{path} has {len(lines)} lines")
        shown = (f"{number:>6}  {shortened(lines[number - 1], _LONGEST_LINE)}" for number in range(first, last + 1))
        return "\n".join([f"{path}, lines {first}-{last} of {len(lines)}:", *shown])

    def _entities(self, arguments: Mapping[str, Any]) -> str:
        path = path_below(self._around.root, _text(arguments, "path"))

        def look(store: IndexStore) -> str:
            rows = store.rows(EntityFilter(path))
            found = [one.entity for one in store.entities(rows[: _MOST_ENTITIES * 2]).values()]
            listed = [one for one in found if one.kind not in {"file", "code-block"}][:_MOST_ENTITIES]
            lines = [f"{one.path}:{one.line}-{one.end_line} {one.kind} {_signature(one.signature)}" for one in listed]
            more = [f"… the rest is left out of {len(rows)}: name a file"] if len(listed) < len(found) else []
            return "\n".join([*lines, *more]) or f"nothing is indexed at {path or 'the root'}"

        return self._workspaces.with_index(self._around.workspace, look)

    def _checked(self, given: str) -> str:
        """A path of a file that the index holds: what is ignored, secret or outside of the root is none of them."""
        path = unicodedata.normalize("NFC", path_below(self._around.root, given) or "")
        if self.is_known(path):
            return path
        reason = never(path) or self._around.indexed.reason(path)
        raise Misused(f"{echoed(path or given)} cannot be read: {reason or 'the workspace has no such file'}")

    def _lines(self, path: str) -> list[str]:
        """The file's lines, under its name or the decomposed one that macOS may have given it."""
        source: Any = None
        for name in dict.fromkeys((path, unicodedata.normalize("NFD", path))):
            found = Found(path, 0, 0, real=name, kept=True)
            source = read_text(self._around.root, found, self._around.options.max_file_bytes)
            if not isinstance(source, Skipped):
                return split_lines(source.text)
        raise Misused(f"{path} cannot be read: {source.reason}")


def _told(source: Source) -> str:
    place = citation(source.name, source.path, source.line, None)
    return "\n".join(part for part in (f"{place} ({source.kind})", source.signature, source.excerpt) if part)


def _signature(text: str) -> str:
    return shortened(safe_line(text), 160)


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise Misused("the arguments are no JSON") from None
    if not isinstance(found, dict):
        raise Misused("the arguments are no JSON object")
    return found


def _text(arguments: Mapping[str, Any], name: str) -> str:
    found = arguments.get(name, "")
    if found is not None and not isinstance(found, str):
        raise Misused(f"{name} has to be a text")
    return found or ""


def _number(arguments: Mapping[str, Any], name: str, default: int) -> int:
    found = arguments.get(name)
    if found is None:
        return default
    text = str(found).strip()
    if not text.lstrip("-").isdecimal() or len(text) > 9:
        raise Misused(f"{name} has to be a whole number")
    return int(text)


def _within(lines: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    for one in lines:
        budget -= count_tokens(one) + 1
        if budget < 0:
            return "\n".join([*kept, f"… {len(lines) - len(kept)} more lines: ask for less"])
        kept.append(one)
    return "\n".join(kept)

"""Changes of a JSON file by the names of its members: one way in, and the same way out."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from braindex.cli.setup.jsonc import Child, Node, added, parse, replaced, without
from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError

_KINDS: Final = {"{": "an object", "[": "an array", "": "a plain value"}

Steps = Sequence[str]


class WrongShape(BraindexError):
    def __init__(self, steps: Steps, found: str, wanted: str) -> None:
        where = f"`{echoed('.'.join(steps))}`" if steps else "the whole"
        super().__init__(f"{where} is {_KINDS[found]}, where {_KINDS[wanted]} belongs; correct it by hand")


def with_values(text: str, steps: Steps, values: Mapping[str, Any]) -> str:
    """The text in which an object has these values; what else it has stays. Objects on the way to it are made.

    Raises:
        InvalidJson, WrongShape: nothing can be put there.
    """
    node, rest = reached(parse(text), steps)
    if rest:
        return added(text, node, _nested(rest[1:], dict(values)), rest[0])
    for key, value in values.items():
        there = node.member(key)
        if there is None:
            text = added(text, node, value, key)
        elif there.node.value != value:
            text = replaced(text, there.node, value)
        node, _ = reached(parse(text), steps)
    return text


def without_member(text: str, steps: Steps) -> str:
    """The text without a member, however often it is there, and without the objects that held nothing else."""
    # A client's file may have megabytes: what does not name it is not read.
    while json.dumps(steps[-1]) in text and (found := _found(parse(text), steps)) is not None:
        text = _cut(text, found)
    return text


def with_handler(text: str, steps: Steps, item: Mapping[str, Any], command: re.Pattern[str]) -> str:
    """The text in which an array has this item; one whose command is ours by its look is brought up to date in place.

    An item is a handler with its `command`, or a group whose `hooks` are handlers. Raises as `with_values` does.
    """
    node, rest = reached(parse(text), steps, last="[")
    if rest:
        return added(text, node, _nested(rest[1:], [dict(item)]), rest[0])
    ours = next(_handlers(node, command), None)
    if ours is None:
        return added(text, node, dict(item))
    wanted = _handler_of(item)["command"]
    there = ours[-1].node.member("command")
    if there is None or there.node.value == wanted:
        return text
    return replaced(text, there.node, wanted)


def without_handlers(text: str, steps: Steps, command: re.Pattern[str]) -> str:
    """The text without the handlers whose command is ours, and without what held nothing else."""
    while "hook" in text:
        found = _found(parse(text), steps)
        if found is None or found[-1][1].node.kind != "[":
            return text
        ours = next(_handlers(found[-1][1].node, command), None)
        if ours is None:
            return text
        text = _cut(text, [*found, *_between(found[-1][1].node, ours)])
    return text


_Way = list[tuple[Node, Child]]
"""Containers and the child of each that is gone through, from the outermost on."""


def reached(root: Node, steps: Steps, last: str = "{") -> tuple[Node, Steps]:
    """How far the steps lead: the last container that is there, and the steps that are not. Raises WrongShape."""
    node = root
    for at, step in enumerate(steps):
        _expect(node, "{", steps[:at])
        child = node.member(step)
        if child is None:
            return node, steps[at:]
        node = child.node
    _expect(node, last, steps)
    return node, ()


def _expect(node: Node, kind: str, steps: Steps) -> None:
    if node.kind != kind:
        raise WrongShape(steps, node.kind, kind)


def _nested(steps: Steps, value: Any) -> Any:
    for step in reversed(steps):
        value = {step: value}
    return value


def _found(root: Node, steps: Steps) -> _Way | None:
    """The way to a member, None where it is not there."""
    way: _Way = []
    node = root
    for step in steps:
        child = node.member(step) if node.kind == "{" else None
        if child is None:
            return None
        way.append((node, child))
        node = child.node
    return way


def _cut(text: str, way: _Way) -> str:
    """The text without the end of a way, and without the containers on it that have nothing else in them."""
    last = len(way) - 1
    while last and _holds_only(text, *way[last]):
        last -= 1
    return without(text, *way[last])


def _holds_only(text: str, container: Node, child: Child) -> bool:
    """Whether a container has that child alone, and no comment."""
    end = child.node.end if child.comma is None else child.comma + 1
    around = text[container.start + 1 : child.start] + text[end : container.end - 1]
    return len(container.children) == 1 and not around.strip()


def _handlers(array: Node, command: re.Pattern[str]) -> Iterator[list[Child]]:
    """The ways from an array to the handlers in it that are ours."""
    for item in array.children:
        if _is_ours(item.node, command):
            yield [item]
        hooks = item.node.member("hooks") if item.node.kind == "{" else None
        if hooks is not None and hooks.node.kind == "[":
            yield from ([item, hooks, one] for one in hooks.node.children if _is_ours(one.node, command))


def _is_ours(node: Node, command: re.Pattern[str]) -> bool:
    there = node.member("command") if node.kind == "{" else None
    return there is not None and isinstance(there.node.value, str) and bool(command.search(there.node.value))


def _between(array: Node, ours: Sequence[Child]) -> _Way:
    """The way as containers and children; a group whose hooks were ours alone goes as a whole."""
    if len(ours) == 1 or len(ours[1].node.children) == 1:
        return [(array, ours[0])]
    return [(array, ours[0]), (ours[0].node, ours[1]), (ours[1].node, ours[2])]


def _handler_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = item["hooks"][0] if "hooks" in item else item
    return found

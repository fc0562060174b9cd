"""Node's manifest: package.json."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from braindex.services.briefing.manifest import Command, EntryPoint, Manifest, string, strings, table
from braindex.services.briefing.reading import line_of

_LINE: Final = re.compile(r'^[^\S\n]*+"([^"\\]++)"\s*+:', re.MULTILINE)
_PINNED: Final = re.compile(r"(\w+)@([\w.-]+)")
_CONFIGURED: Final = (
    "eslintConfig", "prettier", "jest", "mocha", "ava", "nyc", "c8", "babel", "browserslist", "lint-staged", "husky",
    "standard", "xo", "tsup", "vitest",
)  # fmt: skip


def package_json(path: str, text: str) -> Manifest | None:
    """None for a file that is no JSON object."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    lines = _lines(text)
    return Manifest(
        path, "Node",
        name=string(data.get("name")), name_line=lines.get("name", 0),
        description=string(data.get("description")), description_line=lines.get("description", 0),
        version=string(data.get("version")),
        licence=string(data.get("license")) or string(table(data.get("license")).get("type")),
        requires=_requires(data),
        builds=_package_manager(data),
        dependencies=(*table(data.get("dependencies")), *table(data.get("peerDependencies"))),
        dev_dependencies=tuple(table(data.get("devDependencies"))),
        commands=tuple(_scripts(path, text, data)),
        entry_points=tuple(_entry_points(path, data)),
        keywords=strings(data.get("keywords")),
        members=_members(data.get("workspaces")),
        settings=tuple((name, "") for name in _CONFIGURED if name in data),
    )  # fmt: skip


def _lines(text: str) -> dict[str, int]:
    """The line of the first member of each name, in one pass."""
    found: dict[str, int] = {}
    at, line = 0, 1
    for match in _LINE.finditer(text):
        line += text.count("\n", at, match.start(1))
        at = match.start(1)
        found.setdefault(match.group(1), line)
    return found


def _requires(data: Mapping[str, Any]) -> str:
    engines = table(data.get("engines"))
    asked = [
        f"{'Node' if name == 'node' else name} {string(engines[name])}" for name in engines if string(engines[name])
    ]
    return ", ".join(asked[:3])


def _package_manager(data: Mapping[str, Any]) -> str:
    match = _PINNED.match(string(data.get("packageManager")))
    return f"{match.group(1)} {match.group(2)}" if match else ""


def _members(given: object) -> tuple[str, ...]:
    return strings(given) or strings(table(given).get("packages"))


def _scripts(path: str, text: str, data: Mapping[str, Any]) -> Iterator[Command]:
    manager = (string(data.get("packageManager")).partition("@")[0] or "npm").strip()
    for name, body in table(data.get("scripts")).items():
        if string(body):
            needed = "" if name in {"test", "start"} or manager in {"yarn", "pnpm"} else "run "
            yield Command(f"{manager} {needed}{name}", string(body), path, line_of(text, f'"{name}"', ":"))


def _entry_points(path: str, data: Mapping[str, Any]) -> Iterator[EntryPoint]:
    given = data.get("bin")
    for name, target in (table(given) or ({string(data.get("name")): given} if string(given) else {})).items():
        if string(target):
            yield EntryPoint("command", name, string(target), path)
    for key in ("main", "module", "source", "types", "browser"):
        if string(data.get(key)):
            yield EntryPoint(key, string(data.get("name")), string(data.get(key)), path)
    exports = data.get("exports")
    for name, value in ({".": exports} if not isinstance(exports, dict) else exports).items():
        target = _first_target(value)
        if target:
            yield EntryPoint("export", str(name), target, path)


def _first_target(value: object) -> str:
    """The path an export leads to: that of its source where it names one, else of its first condition."""
    for _ in range(4):
        if not isinstance(value, dict):
            break
        sources = [one for key, one in value.items() if str(key).startswith(("@", "source", "development"))]
        value = next(iter([*sources, *value.values()]), None)
    return string(value)

"""Manifests of other ecosystems: go.mod, Cargo.toml, composer.json, Gemfile; those of the JVM by name."""

import json
import re
import tomllib
from typing import Final

from braindex.services.briefing.manifest import EntryPoint, Manifest, string, strings, table
from braindex.services.briefing.quoting import without_elements
from braindex.services.briefing.reading import line_of

_GO_MODULE: Final = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_GO_VERSION: Final = re.compile(r"^go\s+(\S+)", re.MULTILINE)
_GO_REQUIRED: Final = re.compile(
    r"^(?:require\s++|\t)([\w.~/-][\w~/-]*+\.[\w.~/-]++)\s++v\S++[ \t]*+(// indirect)?", re.MULTILINE
)
_GEM: Final = re.compile(r"^[^\S\n]*+gem\s++['\"]([\w.-]++)['\"]", re.MULTILINE)
_ARTIFACT: Final = re.compile(r"<artifactId>([\w.-]++)</artifactId>")
_NOT_OWN: Final = re.compile(r"<(parent|dependencies|build|dependencyManagement)>")


def go_mod(path: str, text: str) -> Manifest | None:
    module = _GO_MODULE.search(text)
    if module is None:
        return None
    version = _GO_VERSION.search(text)
    return Manifest(
        path, "Go", name=module.group(1), name_line=line_of(text, "module", module.group(1)),
        requires=f"Go {version.group(1)}" if version else "",
        dependencies=tuple(one.group(1) for one in _GO_REQUIRED.finditer(text) if not one.group(2)),
    )  # fmt: skip


def cargo(path: str, text: str) -> Manifest | None:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    package, workspace = table(data.get("package")), table(data.get("workspace"))
    name, description = string(package.get("name")), string(package.get("description"))
    rust, edition = string(package.get("rust-version")), string(package.get("edition"))
    asked = [f"Rust {rust}" if rust else "", f"edition {edition}" if edition else ""]
    binaries = data.get("bin") if isinstance(data.get("bin"), list) else []
    return Manifest(
        path, "Rust",
        name=name, name_line=line_of(text, "name", name) if name else 0,
        description=description, description_line=line_of(text, description.split("\n")[0]) if description else 0,
        version=string(package.get("version")), licence=string(package.get("license")),
        requires=", ".join(one for one in asked if one),
        dependencies=tuple(table(data.get("dependencies"))) or tuple(table(workspace.get("dependencies"))),
        dev_dependencies=tuple(table(data.get("dev-dependencies"))),
        entry_points=tuple(
            EntryPoint("command", string(table(one).get("name")), string(table(one).get("path")), path)
            for one in binaries or [] if string(table(one).get("name"))
        ),
        keywords=strings(package.get("keywords")), members=strings(workspace.get("members")),
    )  # fmt: skip


def composer(path: str, text: str) -> Manifest | None:
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    required = table(data.get("require"))
    php = string(required.get("php"))
    name, description = string(data.get("name")), string(data.get("description"))
    return Manifest(
        path, "PHP", name=name, name_line=line_of(text, '"name"', name) if name else 0,
        description=description, description_line=line_of(text, '"description"') if description else 0,
        version=string(data.get("version")), licence=string(data.get("license")),
        requires=f"PHP {php}" if php else "",
        dependencies=tuple(one for one in required if "/" in one),
        dev_dependencies=tuple(table(data.get("require-dev"))), keywords=strings(data.get("keywords")),
    )  # fmt: skip


def gemfile(path: str, text: str) -> Manifest | None:
    return Manifest(path, "Ruby", dependencies=tuple(one.group(1) for one in _GEM.finditer(text)))


def pom(path: str, text: str) -> Manifest | None:
    """The project's own name is the artifact outside its parent, its dependencies and its plugins."""
    own = _ARTIFACT.search(without_elements(text, _NOT_OWN))
    name = own.group(1) if own else ""
    inside, is_closed, _ = text.partition("<dependencies>")[2].partition("</dependencies>")
    names = _ARTIFACT.findall(inside) if is_closed else []
    return Manifest(path, "Java (Maven)", name=name, dependencies=tuple(dict.fromkeys(names)))


def by_name(kind: str, path: str) -> Manifest:
    """A manifest that is code: that it is there is all that is said."""
    return Manifest(path, kind)

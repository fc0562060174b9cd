"""Python's manifests: pyproject.toml, setup.cfg and requirements files."""

import configparser
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from braindex.services.briefing.manifest import Command, EntryPoint, Manifest, requirement_names, string, strings, table
from braindex.services.briefing.reading import line_of

_SHOWN: Final = 3  # settings of a tool that are named
_TOLD: Final = {
    "ruff": ("line-length", "target-version"),
    "black": ("line-length", "target-version"),
    "mypy": ("strict", "python_version"),
    "pyright": ("typeCheckingMode", "pythonVersion"),
    "isort": ("profile",),
    "pytest": ("testpaths", "addopts"),
    "coverage": ("fail_under",),
}


def pyproject(path: str, text: str) -> Manifest | None:
    """None for a file that is no TOML."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    tools = table(data.get("tool"))
    poetry = table(tools.get("poetry"))
    project = {**poetry, **table(data.get("project"))}
    name, description = string(project.get("name")), string(project.get("description"))
    return Manifest(
        path, "Python",
        name=name, name_line=line_of(text, "name", name) if name else 0,
        description=description, description_line=line_of(text, description.split("\n")[0]) if description else 0,
        version=string(project.get("version")),
        licence=_licence(project),
        requires=_requires(project),
        builds=string(table(data.get("build-system")).get("build-backend")),
        dependencies=_dependencies(project),
        dev_dependencies=_development(data, project, poetry),
        commands=tuple(_commands(path, text, tools)),
        entry_points=tuple(_scripts(path, project)),
        keywords=strings(project.get("keywords")),
        status=_status(strings(project.get("classifiers"))),
        members=strings(table(table(tools.get("uv")).get("workspace")).get("members")),
        settings=tuple(_settings(tools)),
    )  # fmt: skip


def _licence(project: Mapping[str, Any]) -> str:
    given = project.get("license")
    named = string(given) or string(table(given).get("text"))
    return named if "\n" not in named else ""  # else it is the licence itself


def _status(classifiers: Iterable[str]) -> str:
    given = (one.split("::") for one in classifiers)
    return next((one[-1].strip() for one in given if one[0].strip() == "Development Status"), "")


def _requires(project: Mapping[str, Any]) -> str:
    poetry = table(project.get("dependencies")).get("python")
    asked = string(project.get("requires-python")) or string(poetry)
    return f"Python {asked}" if asked else ""


def _dependencies(project: Mapping[str, Any]) -> tuple[str, ...]:
    given = project.get("dependencies")
    return requirement_names(strings(given)) or tuple(name for name in table(given) if name != "python")


def _development(data: Mapping[str, Any], project: Mapping[str, Any], poetry: Mapping[str, Any]) -> tuple[str, ...]:
    groups = [*table(project.get("optional-dependencies")).values(), *table(data.get("dependency-groups")).values()]
    found = [one for group in groups for one in requirement_names(strings(group))]
    for group in table(poetry.get("group")).values():
        found += table(table(group).get("dependencies"))
    found += table(poetry.get("dev-dependencies"))
    own = string(project.get("name")).lower()
    return tuple(one for one in dict.fromkeys(found) if one.lower() != own)


def _scripts(path: str, project: Mapping[str, Any]) -> Iterator[EntryPoint]:
    for group in ("scripts", "gui-scripts"):
        for name, target in table(project.get(group)).items():
            if string(target):
                yield EntryPoint("command", name, string(target), path)


def _commands(path: str, text: str, tools: Mapping[str, Any]) -> Iterator[Command]:
    tox = table(tools.get("tox"))
    for name in table(tox.get("env")):
        yield Command(f"tox -e {name}", "", path, line_of(text, f"[tool.tox.env.{name}]"))
    for tool, run in (("poe", "poe"), ("pdm", "pdm run"), ("taskipy", "task")):
        key = "scripts" if tool == "pdm" else "tasks"
        for name, body in table(table(tools.get(tool)).get(key)).items():
            yield Command(f"{run} {name}", string(body) or string(table(body).get("cmd")), path, line_of(text, name))


def _settings(tools: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The tools that are configured, with the settings that shape the code."""
    for name in tools:
        options = table(tools[name])
        if name == "pytest":
            options = table(options.get("ini_options")) or options
        if name == "coverage":
            options = table(options.get("report"))
        told = [(key, options.get(key)) for key in _TOLD.get(name, ()) if options.get(key) not in (None, [], "")]
        yield name, ", ".join(f"{key} = {_shown(value)}" for key, value in told[:_SHOWN])


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(one) for one in value[:6])
    return str(value).lower() if isinstance(value, bool) else str(value)


def setup_cfg(path: str, text: str) -> Manifest | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None

    def value(section: str, key: str) -> str:
        return parser.get(section, key, fallback="").strip()

    name, description = value("metadata", "name"), value("metadata", "description")
    requires = value("options", "python_requires")
    scripts = [
        one.partition("=") for one in value("options.entry_points", "console_scripts").splitlines() if "=" in one
    ]
    extras = parser.items("options.extras_require") if parser.has_section("options.extras_require") else []
    return Manifest(
        path, "Python",
        name=name, name_line=line_of(text, "name", name) if name else 0,
        description=description, description_line=line_of(text, description.split("\n")[0]) if description else 0,
        version=value("metadata", "version"),
        licence=value("metadata", "license"),
        requires=f"Python {requires}" if requires else "",
        dependencies=requirement_names(value("options", "install_requires").splitlines()),
        dev_dependencies=requirement_names(line for _, lines in extras for line in lines.splitlines()),
        entry_points=tuple(EntryPoint("command", a.strip(), b.strip(), path) for a, _, b in scripts),
        settings=tuple(
            (name.removeprefix("tool:"), "") for name in parser.sections() if name in
            {"tool:pytest", "flake8", "mypy", "isort", "coverage:run", "pylint"}
        ),
    )  # fmt: skip


def requirements(path: str, text: str) -> Manifest | None:
    """A list of requirements; one whose name says dev, test, lint or docs holds those of the work on the project."""
    names = requirement_names(
        line for line in text.split("\n")[:400] if line.strip() and not line.lstrip().startswith(("#", "-"))
    )
    is_dev = any(word in path.lower() for word in ("dev", "test", "lint", "doc", "ci", "typing", "bench"))
    if is_dev:
        return Manifest(path, "Python", dev_dependencies=names)
    return Manifest(path, "Python", dependencies=names)

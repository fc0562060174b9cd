import pytest

from braindex.services.briefing.manifest import requirement_names
from braindex.services.briefing.manifest_node import package_json
from braindex.services.briefing.manifest_others import cargo, composer, gemfile, go_mod, pom
from braindex.services.briefing.manifest_python import pyproject, requirements, setup_cfg

PYPROJECT = """
[build-system]
build-backend = "hatchling.build"

[project]
name = "shop"
description = "Sells things."
version = "1.2.0"
license = {text = "MIT"}
requires-python = ">=3.11"
dependencies = ["flask>=3", "psycopg[binary] ; python_version < '4'", "own @ https://example.org/own.zip"]
keywords = ["web"]
classifiers = ["Development Status :: 4 - Beta", "Typing :: Typed"]
scripts = {shop = "shop.cli:main"}

[project.optional-dependencies]
all = ["shop[web]", "redis"]

[dependency-groups]
test = ["pytest>=8", {include-group = "all"}]

[tool.ruff]
line-length = 120

[tool.pytest.ini_options]
testpaths = ["tests"]
"""


def test_pyproject_is_read() -> None:
    found = pyproject("pyproject.toml", PYPROJECT)
    assert found is not None
    assert (found.name, found.name_line, found.description, found.description_line) == ("shop", 6, "Sells things.", 7)
    assert (found.version, found.licence, found.requires) == ("1.2.0", "MIT", "Python >=3.11")
    assert found.dependencies == ("flask", "psycopg", "own")
    assert found.dev_dependencies == ("redis", "pytest")
    assert [(one.name, one.target) for one in found.entry_points] == [("shop", "shop.cli:main")]
    assert (found.builds, found.status, found.keywords) == ("hatchling.build", "4 - Beta", ("web",))
    assert dict(found.settings) == {"ruff": "line-length = 120", "pytest": "testpaths = tests"}


def test_poetry_is_read() -> None:
    text = '[tool.poetry]\nname = "shop"\n[tool.poetry.dependencies]\npython = "^3.12"\nflask = "*"\n'
    found = pyproject("pyproject.toml", text + '[tool.poetry.group.dev.dependencies]\npytest = "*"\n')
    assert found is not None
    assert (found.requires, found.dependencies, found.dev_dependencies) == ("Python ^3.12", ("flask",), ("pytest",))


def test_package_json_is_read() -> None:
    found = package_json(
        "package.json",
        """{
  "name": "shop", "version": "2.0.0",
  "description": "Sells things.",
  "license": "MIT", "engines": {"node": ">=20"}, "packageManager": "pnpm@9.1.0+sha512.abc",
  "main": "lib/index.js", "bin": {"shop": "bin/shop.js"},
  "exports": {".": {"types": "./x.d.ts", "@shop/source": "./src/index.ts"}},
  "scripts": {
    "test": "vitest",
    "lint": "eslint ."
  },
  "dependencies": {"express": "^5"}, "devDependencies": {"vitest": "^4"}, "workspaces": {"packages": ["packages/*"]}
}""",
    )
    assert found is not None
    assert (found.name, found.description_line, found.requires, found.builds) == ("shop", 3, "Node >=20", "pnpm 9.1.0")
    assert [(one.name, one.text, one.line) for one in found.commands] == [
        ("pnpm test", "vitest", 8), ("pnpm lint", "eslint .", 9),
    ]  # fmt: skip
    assert [(one.what, one.name, one.target) for one in found.entry_points] == [
        ("command", "shop", "bin/shop.js"), ("main", "shop", "lib/index.js"), ("export", ".", "./src/index.ts"),
    ]  # fmt: skip
    assert (found.dependencies, found.dev_dependencies, found.members) == (("express",), ("vitest",), ("packages/*",))


def test_other_ecosystems_are_read() -> None:
    go = go_mod(
        "go.mod",
        "module example.org/shop\n\ngo 1.22\n\nrequire (\n\tgithub.com/a/b v1.0.0\n\tc.d/e v2 // indirect\n)\n",
    )
    assert go is not None
    assert (go.name, go.requires, go.dependencies) == ("example.org/shop", "Go 1.22", ("github.com/a/b",))
    rust = cargo("Cargo.toml", '[package]\nname = "shop"\nedition = "2021"\n[dependencies]\nserde = "1"\n')
    assert rust is not None
    assert (rust.name, rust.requires, rust.dependencies) == ("shop", "edition 2021", ("serde",))
    php = composer("composer.json", '{"name": "a/shop", "require": {"php": ">=8", "b/c": "*"}}')
    assert php is not None
    assert (php.requires, php.dependencies) == ("PHP >=8", ("b/c",))
    ruby = gemfile("Gemfile", "source 'x'\ngem 'rails', '~> 7'\n")
    assert ruby is not None
    assert ruby.dependencies == ("rails",)
    java = pom(
        "pom.xml",
        "<project><parent><artifactId>top</artifactId></parent><artifactId>shop</artifactId>"
        "<dependencies><dependency><artifactId>junit</artifactId></dependency></dependencies></project>",
    )
    assert java is not None
    assert (java.name, java.dependencies) == ("shop", ("junit",))


def test_setup_cfg_is_read() -> None:
    found = setup_cfg(
        "setup.cfg",
        "[metadata]\nname = shop\n[options]\ninstall_requires =\n    flask\n[options.entry_points]\nconsole_scripts =\n    shop = shop:main\n",
    )
    assert found is not None
    assert (found.name, found.dependencies) == ("shop", ("flask",))
    assert [(one.name, one.target) for one in found.entry_points] == [("shop", "shop:main")]


def test_requirements_of_the_work_on_a_project_are_told_apart() -> None:
    text = "# comment\n-r base.txt\nflask==3.0  # pinned\nhttps://example.org/x.zip\ngit+https://example.org/y\n"
    plain, dev = requirements("requirements.txt", text), requirements("requirements-dev.txt", text)
    assert plain is not None
    assert dev is not None
    assert (plain.dependencies, plain.dev_dependencies) == (("flask",), ())
    assert (dev.dependencies, dev.dev_dependencies) == ((), ("flask",))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (pyproject, "[project\nname ="),
        (pyproject, "a = " + "[" * 50_000),
        (package_json, "{broken"),
        (package_json, "[" * 50_000),
        (package_json, '["no", "object"]'),
        (setup_cfg, "no section\n"),
        (go_mod, "nothing here"),
        (cargo, "x = = 1"),
        (composer, "null"),
    ],
)
def test_a_broken_manifest_is_none(read, text: str) -> None:
    assert read("manifest", text) is None


def test_values_of_an_unexpected_type_count_as_not_given() -> None:
    found = package_json(
        "package.json",
        '{"name": 5, "scripts": ["x"], "dependencies": "no", "bin": [], "exports": 3, "keywords": {"a": 1}, "license": [], "workspaces": 1, "engines": []}',
    )
    assert found is not None
    assert (found.name, found.commands, found.dependencies, found.entry_points, found.keywords) == ("", (), (), (), ())
    project = pyproject("pyproject.toml", 'project = 3\ntool = "x"\n')
    assert project is not None
    assert project.name == ""
    assert pyproject("pyproject.toml", "[project]\ndependencies = 7\nscripts = [1]\n[tool]\nruff = 1\n") is not None


def test_requirement_names_are_bare() -> None:
    lines = ["urllib3>=1.26,<3", "a.b_c[x,y] ~= 1", "@scope/name@1", "", "  ; marker"]
    assert requirement_names(lines) == ("urllib3", "a.b_c", "@scope/name")

"""Which file of a project imports which, read from the import lines of Python, JavaScript and TypeScript."""

import posixpath
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from braindex.services.briefing.reading import ProjectFiles

_PY_IMPORT: Final = re.compile(
    r"^[ \t]*+(?:from[ \t]++([\w.]*+)[ \t]++import[ \t]++(\((?:[^()#]++|#[^\n]*+)*+\)|[^\n#;]++)"
    r"|import[ \t]+([\w., \t]++))",
    re.MULTILINE,
)
_PY_NAME: Final = re.compile(r"(\w+)(?:\s+as\s+\w+)?\s*(?:#[^\n]*)?")
_JS_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
# What stands between `import` and the path, `type` and `from` included, up to a line that begins with the next one.
_JS_STATIC: Final = re.compile(
    r"^[ \t]*+(?:import\b|export\s*+(?:type\s*+)?+(?=[{*]))"
    r"((?:[\w*{},$]++|[^\S\n]++|\n(?![ \t]*+(?:import|export)\b))*+)['\"]([^'\"\n]++)['\"]",
    re.MULTILINE,
)
_JS_CALL: Final = re.compile(r"(require|import)\(\s*+['\"]([^'\"\n]++)['\"]\s*+\)")
_JS_BOUND: Final = re.compile(r"(\{[^{}]*+\})\s*+=\s*+(?:await\s++)?\Z")
_JS_RENAMED: Final = re.compile(r"(?<!\s)\s++as\s++|:")
_LOOK_BACK: Final = 400  # characters before a `require` in which its names may stand
_JS_LINE_COMMENT: Final = re.compile(r"^[ \t]*//[^\n]*", re.MULTILINE)
_JS_SUFFIXES: Final = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_JS_WRITTEN: Final = re.compile(r"\.(?:[cm]?jsx?)$")  # TypeScript imports its own files under the names they compile to
_NODE_BUILTIN: Final = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain"
    " events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl"
    " stream string_decoder sys test timers tls tty url util v8 vm wasi worker_threads zlib".split()
)


@dataclass(slots=True)
class Imports:
    """What the files read import.

    `edges` are the project's own files by importer; `names` count, for (file, name), the files that import that name
    from it; `outside` are the importers of each library; `relative` and `absolute` count Python's two styles, `modules`
    and `commonjs` JavaScript's.
    """

    edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: Counter[tuple[str, str]] = field(default_factory=Counter)
    outside: dict[str, list[str]] = field(default_factory=dict)
    relative: int = 0
    absolute: int = 0
    modules: int = 0
    commonjs: int = 0

    def importers(self) -> Counter[str]:
        """How many other files import each file."""
        return Counter(one for source, targets in self.edges.items() for one in targets if one != source)


@dataclass(frozen=True, slots=True)
class _Import:
    """One import: of a module or path as written, with the names it takes from it."""

    target: str
    names: tuple[str, ...] = ()
    commonjs: bool = False


class ImportReader:
    """Resolves imports among the files of one project. `packages` are folders by the name they are imported under."""

    def __init__(self, files: ProjectFiles, packages: Mapping[str, str]) -> None:
        self._files = files
        self._packages = packages
        self._modules = _python_modules(files)
        self._tops = {one.partition(".")[0] for one in self._modules}

    def read(self, texts: Iterable[tuple[str, str]]) -> Imports:
        """The imports of these (path, text) pairs."""
        found = Imports()
        for path, text in texts:
            language = self._files.language(path)
            if language == "python":
                self._python(path, text, found)
            elif language in {"javascript", "jsx", "typescript", "tsx"}:
                self._javascript(path, text, found)
        return found

    def module_file(self, module: str) -> str:
        """The file of a Python module; "" for one that is not the project's."""
        return self._modules.get(module, "")

    def script_file(self, folder: str, target: str) -> str:
        """The file a JavaScript path means, seen from a folder; "" where none is in the index."""
        base = posixpath.normpath(posixpath.join(folder, target))
        if base.startswith(".."):
            return ""
        bare = _JS_WRITTEN.sub("", base)
        tried = [base, *(base + one for one in _JS_SUFFIXES), *(bare + one for one in _JS_SUFFIXES)]
        tried += [posixpath.join("" if base == "." else base, "index" + one) for one in _JS_SUFFIXES]
        return next((one for one in tried if one in self._files), "")

    def _python(self, path: str, text: str, found: Imports) -> None:
        targets: dict[str, None] = {}
        for module, names in _python_imports(text):
            found.relative += module.startswith(".")
            absolute = _absolute(path, module)
            top = absolute.partition(".")[0]
            if module.startswith(".") or top in self._tops:
                self._python_own(absolute, names, targets, found)
                found.absolute += not module.startswith(".")
            elif top and top not in sys.stdlib_module_names:
                _add_outside(found, top, path)
        found.edges[path] = tuple(one for one in targets if one != path)

    def _python_own(self, module: str, names: Sequence[str], targets: dict[str, None], found: Imports) -> None:
        file = self._modules.get(module, "")
        for name in names:
            inner = self._modules.get(f"{module}.{name}" if module else name, "")
            if inner:
                targets[inner] = None
            elif file:
                targets[file] = None
                found.names[file, name] += 1
        while not names and module and not file:  # `import a.b.c`, where c may be what another file builds
            module = module.rpartition(".")[0]
            file = self._modules.get(module, "")
        if file and not names:
            targets[file] = None

    def _javascript(self, path: str, text: str, found: Imports) -> None:
        targets: dict[str, None] = {}
        folder = posixpath.dirname(path)
        for one in _javascript_imports(text):
            found.commonjs += one.commonjs
            found.modules += not one.commonjs
            if one.target.startswith("."):
                file = self.script_file(folder, one.target)
            else:
                file = self._package_file(one.target)
            if file:
                targets[file] = None
                found.names.update((file, name) for name in one.names)
            elif not one.target.startswith((".", "/", "#", "~", "@/", "virtual:")):
                _add_outside(found, _package_name(one.target), path)
        found.edges[path] = tuple(one for one in targets if one != path)

    def _package_file(self, target: str) -> str:
        """The file of the project that one of its own packages, or a path inside it, is imported from."""
        name = _package_name(target)
        if name not in self._packages:
            return ""
        folder, inner = self._packages[name], target[len(name) :].strip("/")
        tried = [inner, f"src/{inner}"] if inner else ["src/index", "index", "src", "lib/index", "src/main"]
        return next((found for one in tried if (found := self.script_file(folder, one))), "")


def _python_modules(files: ProjectFiles) -> dict[str, str]:
    """Files by dotted module name: a package begins below the innermost folder that is none itself."""
    packages = {posixpath.dirname(path) for path in files.by_name.get("__init__.py", ())}
    packages.update(posixpath.dirname(path) for path in files.by_name.get("__init__.pyi", ()))
    found: dict[str, str] = {}
    for path in files.paths:
        if files.language(path) != "python":
            continue
        stem = path.rpartition(".")[0]
        top = posixpath.dirname(path)
        while top and top in packages:  # the root itself may be a package
            top = posixpath.dirname(top)
        for base in dict.fromkeys((top, "src", "")):  # the last two: namespace packages have no __init__.py
            if not base or stem.startswith(f"{base}/"):
                dotted = stem[len(base) :].strip("/").replace("/", ".").removesuffix(".__init__")
                found.setdefault(dotted, path)
    return found


def _absolute(path: str, module: str) -> str:
    """A dotted name from the root for a relative import, which `_python_modules` knows too."""
    dots = len(module) - len(module.lstrip("."))
    if not dots:
        return module
    parts = path.split("/")[:-dots]
    return ".".join([*parts, module[dots:]]).strip(".")


def _python_imports(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    at, is_open = 0, False  # an odd number of triple quotes before it: the line is an example in a docstring
    for match in _PY_IMPORT.finditer(text):
        is_open ^= bool((text.count('"""', at, match.start()) + text.count("'''", at, match.start())) % 2)
        at = match.start()
        module, names, plain = match.groups()
        if is_open:
            continue
        if plain:
            yield from ((one.split()[0], ()) for one in plain.split(",") if one.strip())
        elif module:
            yield module, tuple(_PY_NAME.findall(names.strip("()")))


def _javascript_imports(text: str) -> Iterator[_Import]:
    text = _JS_LINE_COMMENT.sub("", text) if "//" in text else text
    if "/*" in text:
        text = _JS_COMMENT.sub("", text)
    for match in _JS_STATIC.finditer(text):
        yield _Import(match.group(2), _bound(match.group(1)))
    for match in _JS_CALL.finditer(text):
        start = match.start()
        if not (start and (text[start - 1].isalnum() or text[start - 1] in "_$.")):
            names = _JS_BOUND.search(text[max(0, start - _LOOK_BACK) : start])
            yield _Import(match.group(2), _bound(names.group(1) if names else ""), commonjs=match.group(1) == "require")


def _bound(text: str) -> tuple[str, ...]:
    """The names between the braces of an import, as the other file exports them."""
    inside = text[text.find("{") + 1 : text.rfind("}")] if "{" in text else ""
    names = (_JS_RENAMED.split(one.strip().removeprefix("type "))[0].strip() for one in inside.split(","))
    return tuple(name for name in names if name)


def _package_name(target: str) -> str:
    parts = target.split("/")
    return "/".join(parts[: 2 if target.startswith("@") else 1])


def _add_outside(found: Imports, name: str, path: str) -> None:
    bare = name.removeprefix("node:")
    if bare in _NODE_BUILTIN or name.startswith("node:") or not bare:
        return
    importers = found.outside.setdefault(name, [])
    if not importers or importers[-1] != path:
        importers.append(path)

"""Which entities a name means: its definitions, however much of their place is named with it."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, EntityHead
from braindex.domain.penalties import is_test
from braindex.languages import LANGUAGES, language_for
from braindex.registry.index import IndexStore

_SUFFIXES: Final = tuple(suffix for spec in LANGUAGES for suffix in spec.suffixes)
_DEFINED: Final = CALLABLE_KINDS | TYPE_KINDS
_LONGEST_QUALIFIED: Final = 4  # parts of a qualified name that a module's name may lead to
_UNNAMED: Final = frozenset({"file", "code-block"})  # what is not called by the name of its entity


def definitions(store: IndexStore, name: str) -> list[EntityHead]:
    """What a name means: the entities that are called so, bare or qualified (`Van.load`, `Van#load`, `Van::load`), else
    those of a module (`shop.vans.Van`), else files (`vans.py`, `shop/vans.py`, `shop.vans`, `vans`).

    Those that are spelt so, else those that differ in case alone; functions and types first, tests after the rest.
    """
    bare = name.strip().removesuffix("()")
    dotted = bare.replace("::", ".").replace("#", ".").strip(".")
    return (
        _called(store, [bare])
        or _called(store, [dotted])
        or _in_module(store, dotted)
        or _of_path(store, bare)
        or modules(store, bare)
    )


def importable(store: IndexStore, name: str) -> list[EntityHead]:
    """What a name means where somebody imports it: the modules that are called so before anything else."""
    bare = name.strip()
    spelt = [one for one in definitions(store, bare) if one.kind == "file" or _is(one, [bare])]
    found = modules(store, bare)
    known = {one.id for one in found}
    return [*found, *(one for one in spelt if one.id not in known)] if found else definitions(store, bare)


def modules(store: IndexStore, name: str) -> list[EntityHead]:
    """The files that are imported by a name, which may lead to it (`shop.vans`)."""
    name = name.strip("./")
    last = name.replace("/", ".").rpartition(".")[2]
    if not last:
        return []
    files = store.heads([*store.rows_by_name([last + suffix for suffix in _SUFFIXES]), *store.files_in(last)]).values()
    found = {one.id: one for one in files if one.kind == "file" and module_name(one.path) == last}
    return _sorted(one for one in found.values() if _lies_in(one.path, name, whole=True))


def module_name(path: str) -> str:
    """The bare name by which a file is imported: its stem up to the first dot, or its folder's name where that is the
    module."""
    return _way(path).rpartition("/")[2]


def full_name(head: EntityHead) -> str:
    """A name that hardly anything else has: the module's way and the qualified name; of a file its path."""
    way = _way(head.path).replace("/", ".")
    return head.path if head.kind == "file" else f"{way}.{head.qualified_name}".strip(".")


def _called(store: IndexStore, names: Sequence[str]) -> list[EntityHead]:
    forms = [unicodedata.normalize(form, one) for one in names for form in ("NFC", "NFD")]
    heads = [one for one in store.heads(store.rows_by_name([*names, *forms])).values() if one.kind not in _UNNAMED]
    return _sorted([one for one in heads if _is(one, names)] or heads)


def _is(head: EntityHead, names: Sequence[str]) -> bool:
    known = {unicodedata.normalize("NFC", one) for one in names}
    return any(unicodedata.normalize("NFC", one) in known for one in (head.name, head.qualified_name))


def _in_module(store: IndexStore, dotted: str) -> list[EntityHead]:
    """The entities of `a.b.C` that lie in a file or a folder `a/b`, as much of it as is given."""
    parts = dotted.replace("/", ".").split(".")
    for at in range(max(1, len(parts) - _LONGEST_QUALIFIED), len(parts)):
        module, name = ".".join(parts[:at]), ".".join(parts[at:])
        found = [one for one in _called(store, [name]) if _lies_in(one.path, module)]
        if found:
            return found
    return []


def _of_path(store: IndexStore, path: str) -> list[EntityHead]:
    """The files of a name or of the end of a path."""
    found = store.heads(store.files_called(path.rpartition("/")[2]).values()).values()
    return _sorted(one for one in found if f"/{one.path}".endswith(f"/{path}"))


def _lies_in(path: str, module: str, *, whole: bool = False) -> bool:
    """Whether a dotted name is the end of the way to a file, or unless it must be the `whole` way, to its folder."""
    end = module.replace("/", ".")
    ways = (_way(path),) if whole else (_way(path), path.rpartition("/")[0])
    return any(f"/{way}".replace("/", ".").endswith(f".{end}") for way in ways)


def _way(path: str) -> str:
    """`shop/vans` of `shop/vans.py` and of `shop/vans/__init__.py`: the file without what its name says of its kind, or
    its folder where that is the module.
    """
    folder, slash, base = path.rpartition("/")
    stem, spec = base.partition(".")[0], language_for(path)
    is_folder = spec is not None and (spec.module == "folder" or stem in spec.folder_stems)
    return folder if is_folder else f"{folder}{slash}{stem}"


def _sorted(heads: Iterable[EntityHead]) -> list[EntityHead]:
    return sorted(heads, key=lambda one: (one.kind not in _DEFINED, is_test(one.path), one.path, one.line))

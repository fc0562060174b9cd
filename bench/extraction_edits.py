"""How much of a file is still found while it is being edited: one bracket or quote of a real file is left out."""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS
from braindex.domain.errors import BraindexError
from braindex.indexing.extract import extract_entities, language_of

SIGNS = frozenset(b"()[]{}\"'`")
LANGUAGES = frozenset({"python", "javascript", "jsx", "typescript", "tsx", "go"})
EDITS_A_FILE = 3
LARGEST = 150_000  # bytes
FEWEST = 6  # definitions in a file that is looked at


@dataclass
class Edits:
    """Of one language: edits made, definitions there were, found after the edit, and found only then."""

    edits: int = 0
    known: int = 0
    kept: int = 0
    invented: int = 0
    below_half: int = 0

    def line(self, language: str) -> str:
        if not self.known:
            return f"{language:12} nothing to edit"
        return (
            f"{language:12} {self.edits:5} edits  kept {self.kept / self.known:.4f}  "
            f"invented {self.invented / self.known:.4f}  files that lost half {self.below_half}"
        )


def measure(folders: list[Path], files: int = 200, seed: int = 1) -> Iterator[str]:
    """A line a language, over at most `files` files of each, chosen by the seed."""
    chance = random.Random(seed)
    by_language: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            if (language := language_of(path.name)) in LANGUAGES:
                by_language[language].append(path)
    for language, paths in sorted(by_language.items()):
        chance.shuffle(paths)
        edits = Edits()
        for path in paths[:files]:
            _edit(path, edits, chance)
        yield edits.line(language)


def _edit(path: Path, edits: Edits, chance: random.Random) -> None:
    data = path.read_bytes()
    known = _names(path, data)
    places = [at for at, byte in enumerate(data) if byte in SIGNS]
    if len(data) > LARGEST or len(known) < FEWEST:
        return
    for place in chance.sample(places, min(EDITS_A_FILE, len(places))):
        found = _names(path, data[:place] + data[place + 1 :])
        edits.edits += 1
        edits.known += len(known)
        edits.kept += len(known & found)
        edits.invented += len(found - known)
        edits.below_half += len(known & found) * 2 < len(known)


def _names(path: Path, data: bytes) -> set[str]:
    try:
        entities = extract_entities(path.name, data)
    except BraindexError:
        return set()
    return {one.qualified_name for one in entities if one.kind in CALLABLE_KINDS or one.kind in TYPE_KINDS}

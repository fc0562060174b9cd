"""Questions and what answers them, from source trees: the training pairs of the bundled table.

usage: python training/pairs.py OUT.jsonl FOLDER [FOLDER …] [--licences TSV] [--without FOLDER …] [--held-out NAME …]

Each FOLDER holds one source tree a package. Of each entity that braindex finds, its doc comment asks for it; the text
that answers is the passage the product embeds, made from a copy of the file in which all doc comments are blanked.
Also: a comment inside a body for the block below it, a name's words for the body without the name, a test's name for
its body, a heading for its section, a section's first sentence for the rest of it, an HTML label for its element.

Left out are packages in `--held-out`, paths that name one, and passages whose body stands in a tree of `--without`
(compared without white space), so that nothing of an evaluation set is learned.
"""

import argparse
import ast
import hashlib
import json
import random
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.results import Skipped
from braindex.domain.words import subwords
from braindex.indexing.decode import read_text
from braindex.indexing.extract import extract_entities
from braindex.indexing.passages import Indexed, index_file
from braindex.indexing.walk import WalkRules, walk

MOST_FILES = 600  # of a package, by chance
MOST_PAIRS = 5_000  # of a package
MOST_TESTS = 800  # of a package
MOST_REPEATED = 12  # times that one question may be asked
LONGEST_FILE = 400_000  # bytes
BODY = 2_000  # characters that the product embeds
SUFFIXES = (
    ".py",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".ts",
    ".tsx",
    ".mts",
    ".cts",
    ".css",
    ".html",
    ".md",
    ".vue",
    ".svelte",
)
SCRIPTS = {"javascript", "jsx", "typescript", "tsx", "go"}
NAMED_KINDS = CALLABLE_KINDS | TYPE_KINDS
TEST = re.compile(
    r"(^|/)(tests?|__tests__|specs?|testing)/|(^|/)(test_|conftest)|[._](test|spec)s?\.\w+$", re.IGNORECASE
)
NOT_SOURCE = re.compile(
    r"(^|/)(node_modules|vendor|third_party|dist-types|locale?s?|i18n)/|\.min\.|[-.]lock\b", re.IGNORECASE
)
PARAGRAPH_END = re.compile(r"\n\s*\n|\n\s*(@|:\w+|Args:|Parameters\b|Returns?:|Raises:|Example)")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s")
MARKUP = re.compile(r":[\w:]+:(?=`)|`|\{@\w+\s+|<[^>]{1,80}>|\*\*|__")
LINE_COMMENT = re.compile(r"^(?P<indent>\s*)(?:#|//)\s?(?P<text>\S.*)$")
TEST_NAME = re.compile(r"\b(?:it|test|specify)\(\s*(['\"`])(?P<text>[^'\"`\n]{12,120})\1")
LABEL = re.compile(r"(?:aria-label|title|alt|placeholder)=\"(?P<text>[^\"\n]{8,90})\"")
NOISE = re.compile(
    r"eslint|prettier|noqa|pragma|type: ignore|@ts-|istanbul|pylint|mypy|copyright|licen[cs]e|todo|fixme|xxx|https?:",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Pair:
    """A question, the paragraph it is the first sentence of, and the fields of the passage that answers."""

    kind: str
    package: str
    language: str
    question: str
    paragraph: str
    path: str
    parent: str
    name: str
    signature: str
    body: str


def plain(text: str) -> str:
    return " ".join(MARKUP.sub("", text).split())


def first_sentence(text: str) -> str:
    return SENTENCE_END.split(plain(PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]), maxsplit=1)[0]


def is_question(text: str) -> bool:
    words = subwords(text)
    return 3 <= len(words) <= 40 and not NOISE.search(text)


def digest(text: str) -> str:
    return hashlib.blake2b("".join(text.split()).encode("utf-8", "replace"), digest_size=10).hexdigest()


def source_files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Path and UTF-8 text of a tree's files, as a scan would take them in."""
    rules = WalkRules(max_file_bytes=LONGEST_FILE)
    for one in walk(root, rules):
        if isinstance(one, Skipped) or not one.path.lower().endswith(SUFFIXES) or NOT_SOURCE.search(one.path):
            continue
        text = read_text(root, one, LONGEST_FILE)
        if not isinstance(text, Skipped):
            yield one.path, text.data


# Blanking doc comments


def blank(text: bytearray, start: int, end: int) -> None:
    text[start:end] = re.sub(rb"[^\r\n]", b" ", bytes(text[start:end]))


def blanked_python(data: bytes) -> bytes:
    """Without docstrings; comments stay, they are part of what the product reads."""
    with warnings.catch_warnings(action="ignore"):
        tree = ast.parse(data)
    starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", data))]
    text = bytearray(data)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            start = starts[first.lineno - 1] + first.col_offset
            blank(text, start, starts[(first.end_lineno or first.lineno) - 1] + (first.end_col_offset or 0))
            text[start : start + 3] = b"..."
    return bytes(text)


def blanked_above(data: bytes, entities: Iterable[CodeEntity]) -> bytes:
    """Without the comments that end just above a definition."""
    text = bytearray(data)
    for one in entities:
        if not one.has_docstring:
            continue
        head = data[: one.start].rstrip()
        if head.endswith(b"*/"):
            blank(text, max(0, head.rfind(b"/*")), len(head))
        elif head.endswith(b"-->"):
            blank(text, max(0, head.rfind(b"<!--")), len(head))
        else:
            while True:
                line = head.rfind(b"\n") + 1
                if not head[line:].lstrip().startswith((b"//", b"#")):
                    break
                blank(text, line, len(head))
                head = head[:line].rstrip()
    return bytes(text)


def key(entity: CodeEntity) -> tuple[str, str, int]:
    return entity.kind, entity.qualified_name, entity.ordinal


# Pairs of one file


def file_pairs(package: str, path: str, data: bytes, chance: random.Random) -> Iterator[Pair]:
    try:
        whole = index_file(path, data)
        entities = [one.entity for one in whole if one.entity.kind not in {"file", "code-block"}]
        if path.endswith(".md"):
            yield from prose_pairs(package, whole)
            return
        bare = blanked_python(data) if path.endswith(".py") else blanked_above(data, entities)
        passages = {key(one.entity): one for one in index_file(path, bare)}
    except (BraindexError, SyntaxError, ValueError, RecursionError):
        return
    language = whole[0].entity.language if whole else ""
    for one in whole:
        answer = passages.get(key(one.entity))
        if answer is not None:
            yield from entity_pairs(package, path, one, answer, chance)
    lines = data.decode("utf-8", "replace").split("\n")
    yield from comment_pairs(package, path, language, lines, entities)
    if TEST.search(path):
        yield from script_tests(package, path, language, lines)
    if language == "html":
        yield from label_pairs(package, whole)


def pair(kind: str, package: str, question: str, paragraph: str, one: Indexed, **changed: str) -> Pair:
    fields = {
        "path": one.passage.path, "parent": one.passage.parent, "name": one.passage.name,
        "signature": one.passage.signature, "body": one.passage.body[:BODY], **changed,
    }  # fmt: skip
    return Pair(kind, package, one.entity.language, question, paragraph, **fields)


def entity_pairs(package: str, path: str, one: Indexed, answer: Indexed, chance: random.Random) -> Iterator[Pair]:
    doc, entity = one.entity.docstring, one.entity
    sentence = first_sentence(doc) if doc else ""
    if sentence and is_question(sentence):
        yield pair("doc", package, sentence, plain(doc)[:400], answer)
    if entity.kind in NAMED_KINDS and len(subwords(entity.name)) >= 2:
        lines = entity.end_line - entity.line
        test = entity.name.startswith("test") and TEST.search(path)
        if lines >= 3 and (test or chance.random() < 0.12):
            words = " ".join(subwords(entity.name.removeprefix("test")))
            masked = re.sub(rf"(?<!\w){re.escape(entity.name)}(?!\w)", " ", answer.passage.body)
            signature = answer.passage.signature.replace(entity.name, " ")
            if len(words.split()) >= 2:
                kind = "test" if test else "name"
                yield pair(kind, package, words, words, answer, name="", signature=signature, body=masked[:BODY])


def comment_pairs(
    package: str, path: str, language: str, lines: Sequence[str], entities: Sequence[CodeEntity]
) -> Iterator[Pair]:
    """A comment of its own lines asks for the lines below it, up to a blank one or a smaller indent."""
    documented = {one.line for one in entities}
    index = 0
    while index < len(lines):
        match = LINE_COMMENT.match(lines[index])
        if not match or language not in SCRIPTS | {"python"}:
            index += 1
            continue
        words = []
        while index < len(lines) and (more := LINE_COMMENT.match(lines[index])) and more["indent"] == match["indent"]:
            words.append(more["text"])
            index += 1
        below = []
        while index + len(below) < len(lines) and len(below) < 14:
            line = lines[index + len(below)]
            if not line.strip() or (line.startswith(match["indent"]) is False) or LINE_COMMENT.match(line):
                break
            below.append(line)
        question = first_sentence(" ".join(words))
        if below and index + 1 not in documented and is_question(question) and len(question.split()) >= 4:
            body = "\n".join(below)
            if len(body) > 40:
                around = [one.name for one in entities if one.line <= index < one.end_line and one.kind in NAMED_KINDS]
                parent = around[-1] if around else ""
                yield Pair(
                    "comment",
                    package,
                    language,
                    question,
                    plain(" ".join(words))[:400],
                    path,
                    parent,
                    "",
                    "",
                    body[:BODY],
                )


def script_tests(package: str, path: str, language: str, lines: Sequence[str]) -> Iterator[Pair]:
    for index, line in enumerate(lines):
        match = TEST_NAME.search(line)
        body = "\n".join(lines[index + 1 : index + 16])
        if match and is_question(match["text"]) and len(body) > 60:
            text = re.sub(r"^should\s+", "", match["text"])
            yield Pair("test", package, language, text, text, path, "", "", "", body[:BODY])


def prose_pairs(package: str, whole: Iterable[Indexed]) -> Iterator[Pair]:
    """A heading asks for its section without the heading; the first sentence of a section for the rest of it."""
    for one in whole:
        body = one.passage.body
        if one.entity.kind != "heading" or len(body) < 120:
            continue
        text = body.split("\n", 1)[1] if "\n" in body else ""
        title = plain(one.entity.name)
        if 2 <= len(subwords(title)) <= 14 and not NOISE.search(title):
            yield pair(
                "heading",
                package,
                title,
                f"{one.entity.parent} {title}".strip(),
                one,
                name="",
                signature="",
                body=text[:BODY],
            )
        sentence = first_sentence(re.sub(r"```.*?```", " ", text, flags=re.DOTALL))
        rest = text.replace(sentence, " ", 1)
        if is_question(sentence) and len(sentence.split()) >= 6 and len(rest.strip()) > 200:
            yield pair("section", package, sentence, sentence, one, body=rest[:BODY])


def label_pairs(package: str, whole: Iterable[Indexed]) -> Iterator[Pair]:
    for one in whole:
        match = LABEL.search(one.passage.signature) if one.entity.kind == "element" else None
        if match and is_question(match["text"]):
            hidden = {
                "signature": one.passage.signature.replace(match["text"], " "),
                "body": one.passage.body.replace(match["text"], " ")[:BODY],
            }
            yield pair("label", package, match["text"], match["text"], one, **hidden)


# Packages


def package_pairs(root: Path, name: str, excluded: frozenset[str]) -> list[Pair]:
    chance = random.Random(name)
    files = sorted(source_files(root))
    if len(files) > MOST_FILES:
        files = chance.sample(files, MOST_FILES)
    found: dict[tuple[str, str], Pair] = {}
    tests = 0
    chance.shuffle(files)
    for path, data in files:
        for one in file_pairs(name, path, data, chance):
            tests += one.kind == "test"
            if one.kind == "test" and tests > MOST_TESTS:
                continue
            body = digest(one.body)
            if body not in excluded and len(one.body.strip()) > 15:
                found.setdefault((one.question.lower(), body), one)
    pairs = list(found.values())
    return chance.sample(pairs, MOST_PAIRS) if len(pairs) > MOST_PAIRS else pairs


def bodies(roots: Iterable[Path]) -> frozenset[str]:
    """Digests of all passages' bodies, with and without doc comments."""
    found: set[str] = set()
    for root in roots:
        for path, data in source_files(root):
            try:
                bare = (
                    blanked_python(data) if path.endswith(".py") else blanked_above(data, extract_entities(path, data))
                )
                for text in (data, bare):
                    found.update(digest(one.passage.body[:BODY]) for one in index_file(path, text))
            except (BraindexError, SyntaxError, ValueError, RecursionError):
                continue
    return frozenset(found)


def permitted(licences: Path | None) -> frozenset[str] | None:
    """Names of the packages that may be taken, or None where no list was given."""
    if licences is None:
        return None
    rows = [line.split("\t") for line in licences.read_text(encoding="utf-8").splitlines()]
    return frozenset(f"{row[0]}/{row[1].replace('@', '').replace('/', '-')}" for row in rows if row[-1] == "yes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--licences", type=Path)
    parser.add_argument("--without", nargs="*", type=Path, default=[])
    parser.add_argument("--bodies", type=Path, help="JSON list of digests to leave out as well")
    parser.add_argument("--held-out", nargs="*", default=[])
    given = parser.parse_args()
    excluded = bodies(given.without)
    if given.bodies:
        excluded |= frozenset(json.loads(given.bodies.read_text(encoding="utf-8")))
    held = {one.lower() for one in given.held_out}
    counts: Counter[str] = Counter()
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    with given.out.open("w", encoding="utf-8") as out:
        for folder in given.folders:
            names = permitted(given.licences)
            for root in sorted(one for one in folder.iterdir() if one.is_dir()):
                label = f"{folder.name}/{root.name}"
                if root.name.lower() in held or (
                    names is not None and folder.name in {"pypi", "npm"} and label not in names
                ):
                    continue
                for one in package_pairs(root, label, excluded):
                    if (
                        held.intersection(re.split(r"[/_.-]", one.path.lower()))
                        or counts[one.question.lower()] >= MOST_REPEATED
                    ):
                        continue
                    counts[one.question.lower()] += 1
                    tally[one.kind][one.language] += 1
                    out.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
    for kind, languages in sorted(tally.items()):
        print(kind, sum(languages.values()), dict(languages.most_common()))


if __name__ == "__main__":
    main()

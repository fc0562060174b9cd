"""Questions with known answers, made from a repository itself, written by hand, or read from a file.

  docstring  the first sentence of a Python docstring, for its function
  jsdoc      the first sentence of a /** */ comment, for its function in JavaScript or TypeScript
  comment    a comment above a CSS rule or an HTML element, for what it stands above
  error      what a program would print for a raise or throw with a literal message, for the function around it
  symbol     `where is NAME defined` or NAME alone, in turn, for names that are defined once; headings and rules too
  test       the name of a test, for the one source file that its own file is named after (a question for a file)
  commit     the subject of a commit that changed a single source file, for that file
  topic      questions of bench/questions/topics.tsv, where the repository is among them, for files

The first three are asked of a copy without any docstring or doc comment, in which every line is where it was; the rest
of the repository as it is. Left out are sentences of fewer than 5 or more than 40 words, those that stand twice or
anywhere else in the copy, or hold the function's own name; functions under 3 lines; answers in tests and declaration
files.
"""

import ast
import json
import random
import re
import subprocess
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.domain.words import subwords
from braindex.indexing.decode import read_text
from braindex.indexing.extract import extract_entities, language_of
from braindex.indexing.walk import WalkRules, walk
from braindex.services.entities import list_entities

SETS = ("docstring", "jsdoc", "comment", "error", "symbol", "test", "commit", "topic")
BARE = frozenset({"docstring", "jsdoc", "comment"})
SCRIPTS = {"javascript", "jsx", "typescript", "tsx"}
TOPICS = Path(__file__).parent / "questions" / "topics.tsv"
SYMBOL_KINDS = CALLABLE_KINDS | TYPE_KINDS | {
    "namespace", "variable", "constant", "property", "heading", "rule", "keyframes", "at-rule", "element",
}  # fmt: skip
FEWEST_QUESTIONS = 10
FEWEST_LINES = 3
LONGEST_NAME = 60
MOST_COMMITS = 6_000

LINE_END = re.compile(rb"\r\n|\r|\n")
TEST = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)(test_|conftest)|[._-](test|spec)s?\.\w+$", re.IGNORECASE)
DECLARATION = re.compile(r"\.(d\.[cm]?ts|pyi)$")
ELSEWHERE = re.compile(r"(^|/)(docs?|examples?|bench\w*|dist|website|scripts)/")
PARAGRAPH_END = re.compile(r"\n\s*\n|\n\s*(@|:\w+)")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s")
LINK = re.compile(r"\{@\w+\s+([^}]*)\}")
MARKUP = re.compile(r":[\w:]+:(?=`)|`")
TEST_STEM = re.compile(r"(\.(test|spec|tests))?\.\w+$|^test[_-]|[_-]test$")
SCRIPT_TEST = re.compile(r"\b(?:it|test)\(\s*(['\"])(?P<name>[^'\"\n]{15,100})\1")
PYTHON_TEST = re.compile(r"def test_(?P<name>\w{12,80})\(")
ROUTINE = re.compile(
    r"\b(bump|release|version|typos?|lint|prettier|format(ting)?|merge|changelog|revert|wip|eslint|deps?|dependabot|docs?"
    r"|readme|comment|black|ruff|isort|pre-commit|flake8|mypy|types?|whitespace|tests?)\b",
    re.IGNORECASE,
)
THROWN = re.compile(r"throw new (?P<name>\w*Error)\(\s*(?P<quote>['\"`])(?P<text>[^'\"`\n]{15,160})(?P=quote)")
HOLE = re.compile(r"\$\{[^}]*\}")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """What answers: a file, or lines of it where `line` is not 0."""

    path: str
    line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set, the language of its answer, and the places that answer it, each as good as the other."""

    text: str
    answers: tuple[Place, ...]
    set: str = ""
    language: str = ""

    @property
    def spans(self) -> tuple[Place, ...]:
        return tuple(one for one in self.answers if one.line)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(one.path for one in self.answers)


def read_files(root: Path) -> dict[str, bytes]:
    """The text of every file that a scan would take in, as UTF-8."""
    limit = WorkspaceOptions().max_file_bytes
    found: dict[str, bytes] = {}
    for one in walk(root, WalkRules(max_file_bytes=limit)):
        source = one if isinstance(one, Skipped) else read_text(root, one, limit)
        if not isinstance(source, Skipped):
            found[one.path] = source.data
    return found


# Sentences above and inside definitions


def first_sentence(text: str) -> str:
    """The first sentence of a comment on one line, without markup."""
    paragraph = PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]
    plain = MARKUP.sub("", LINK.sub(r"\1", " ".join(paragraph.split())))
    return SENTENCE_END.split(plain, maxsplit=1)[0]


def is_question(sentence: str, name: str) -> bool:
    """Whether a sentence of 5 to 40 words tells of a function without naming it."""
    named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE)
    return 5 <= len(sentence.split()) <= 40 and not named and not sentence.startswith("@")


def blanked(data: bytes, ranges: Iterable[Range]) -> bytes:
    """The text with these byte ranges turned into spaces, every line end where it was."""
    text = bytearray(data)
    for start, end in ranges:
        text[start:end] = re.sub(rb"[^\r\n]", b" ", data[start:end])
    return bytes(text)


def docstrings(tree: ast.Module) -> Iterator[tuple[Documented, ast.Expr, str]]:
    """Every definition with a docstring, the statement it stands in, and its text."""
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(node, Documented) and node.body else None
        if isinstance(node, Documented) and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            text = first.value.value
            if isinstance(text, str) and text.strip():
                yield node, first, text


def bare_python(path: str, data: bytes) -> tuple[list[Asked], bytes]:
    """Questions of a module, and its text with `...` for each docstring. Nothing of one that is no Python 3."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(data.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError):
        return [], data
    starts = [0, *(match.end() for match in LINE_END.finditer(data))]
    questions: list[Asked] = []
    text = bytearray(data)
    for node, statement, doc in docstrings(tree):
        last = statement.end_lineno or statement.lineno
        start = starts[statement.lineno - 1] + statement.col_offset
        end = starts[last - 1] + (statement.end_col_offset or 0)
        text[start:end] = blanked(data[start:end], [(0, end - start)])
        if isinstance(node, ast.Module):
            continue
        text[start : start + 3] = b"..."
        end_line, doc_lines = node.end_lineno or node.lineno, last - statement.lineno + 1
        sentence = first_sentence(doc)
        long_enough = end_line - node.lineno + 1 - doc_lines >= FEWEST_LINES
        if not isinstance(node, ast.ClassDef) and long_enough and is_question(sentence, node.name):
            questions.append(Asked(sentence, (Place(path, node.lineno, end_line),), "docstring", "python"))
    return questions, bytes(text)


def comment_above(data: bytes, start: int) -> Range | None:
    """The block comment that ends just before a definition."""
    head = data[:start].rstrip()
    for opening, closing in ((b"/*", b"*/"), (b"<!--", b"-->")):
        begin = head.rfind(opening)
        if head.endswith(closing) and begin >= 0:
            return begin, len(head)
    return None


def bare_script(path: str, data: bytes) -> tuple[list[Asked], bytes]:
    """Questions of a file with block comments above its definitions, and its text without them."""
    try:
        entities = extract_entities(path, data)
    except BraindexError:
        return [], data
    above = [(one, comment_above(data, one.start)) for one in entities if one.has_docstring]
    questions = [
        Asked(sentence, (Place(path, one.line, one.end_line),), "jsdoc" if asks_script else "comment", one.language)
        for one, comment in above
        if comment and (asks_script := one.language in SCRIPTS) in {one.kind in CALLABLE_KINDS, False}
        if not asks_script or (data.startswith(b"/**", comment[0]) and one.end_line - one.line + 1 >= FEWEST_LINES)
        if is_question(sentence := first_sentence(one.docstring), one.name)
    ]
    return questions, blanked(data, [comment for _, comment in above if comment])


def make_bare(files: Mapping[str, bytes], copy: Path) -> list[Asked]:
    """Writes the copy without docstrings and comments; returns every question about it."""
    found: list[Asked] = []
    bare: dict[str, bytes] = {}
    for path, data in files.items():
        language = language_of(path)
        questions: list[Asked] = []
        text = data
        if language == "python":
            questions, text = bare_python(path, data)
        elif language in SCRIPTS | {"css", "html"}:
            questions, text = bare_script(path, data)
        bare[path] = text
        found += questions
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(text)
    return usable(found, bare)


def folded(text: str) -> str:
    return " ".join(text.lower().split())


def usable(questions: Sequence[Asked], bare: Mapping[str, bytes]) -> list[Asked]:
    """Without tests and declarations, and without sentences that are written twice or still stand in the copy."""
    counts = Counter(folded(one.text) for one in questions)
    rest = "\n".join(folded(text.decode("utf-8", "replace")) for text in bare.values())
    return [
        one
        for one in questions
        if counts[folded(one.text)] == 1 and folded(one.text).rstrip(".!?") not in rest
        if not any(TEST.search(path) or DECLARATION.search(path) for path in one.paths)
    ]


# Names, messages, tests and commits


def symbols(root: Path) -> list[Asked]:
    """The definitions, headings, rules and elements whose name no other has."""
    listed = list_entities(root, WorkspaceOptions(), root / ".brain")
    entities = [one for one in listed if isinstance(one, CodeEntity) and one.kind in SYMBOL_KINDS]
    counts = Counter(one.name for one in entities)
    return [
        Asked(one.name, (Place(one.path, one.line, one.end_line),), "symbol", one.language)
        for one in entities
        if counts[one.name] == 1 and len(one.name) <= LONGEST_NAME and one.name.strip()
    ]


def innermost(entities: Sequence[CodeEntity], line: int) -> CodeEntity | None:
    around = [one for one in entities if one.kind in CALLABLE_KINDS and one.line <= line <= one.end_line]
    return max(around, key=lambda one: one.line, default=None)


def errors(files: Mapping[str, bytes]) -> Iterator[Asked]:
    """`TypeError: expected 7 items` for each literal message, its holes filled in, that stands once."""
    for path, data in files.items():
        language = language_of(path) or ""
        if TEST.search(path) or language not in SCRIPTS | {"python"}:
            continue
        try:
            entities = extract_entities(path, data)
        except BraindexError:
            continue
        for line, text in raised(data) if language == "python" else thrown(data):
            around = innermost(entities, line)
            if around is not None and len(subwords(text)) >= 6:
                yield Asked(text, (Place(path, around.line, around.end_line),), "error", language)


def raised(data: bytes) -> Iterator[tuple[int, str]]:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        called = node.exc if isinstance(node, ast.Raise) else None
        if (
            isinstance(node, ast.Raise)
            and isinstance(called, ast.Call)
            and isinstance(called.func, ast.Name)
            and called.args
        ):
            message = literal(called.args[0])
            if message and called.func.id.endswith(("Error", "Exception")):
                yield node.lineno, f"{called.func.id}: {message}"


def literal(node: ast.expr) -> str:
    """A string with its holes filled in, or "" where it is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " ".join(re.sub(r"%[rsd]|\{[^}]*\}", "'seven'", node.value).split())
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "'seven'" for part in node.values]
        return " ".join("".join(str(part) for part in parts).split())
    return ""


def thrown(data: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        match = THROWN.search(line)
        if match:
            yield number, f"{match['name']}: {HOLE.sub('seven', match['text'])}"


def sources(files: Mapping[str, bytes]) -> set[str]:
    """Files of code that are neither tests nor examples."""
    kept = {path for path in files if (language_of(path) or "markdown") != "markdown"}
    return {path for path in kept if not TEST.search(path) and not ELSEWHERE.search(path)}


def tests(files: Mapping[str, bytes]) -> Iterator[Asked]:
    by_stem: dict[str, list[str]] = defaultdict(list)
    for path in sources(files):
        by_stem[path.rsplit("/", 1)[-1].split(".")[0].lower()].append(path)
    for path, data in files.items():
        stem = TEST_STEM.sub("", TEST_STEM.sub("", path.rsplit("/", 1)[-1])).lower()
        if not TEST.search(path) or len(by_stem.get(stem, [])) != 1 or stem in {"index", "utils"}:
            continue
        answer = by_stem[stem][0]
        text = data.decode("utf-8", "replace")
        names = [match["name"] for match in SCRIPT_TEST.finditer(text)]
        names += [match["name"].replace("_", " ") for match in PYTHON_TEST.finditer(text)]
        for name in names:
            question = re.sub(r"^should\s+", "", name.strip(), flags=re.IGNORECASE)
            if 3 <= len(question.split()) <= 16:
                yield Asked(question, (Place(answer),), "test", language_of(answer) or "")


def commits(git: Path, files: Mapping[str, bytes]) -> Iterator[Asked]:
    """Subjects of commits that changed one source file, which is still there and is not named in it."""
    command = [
        "git",
        "--git-dir",
        str(git),
        "log",
        "--no-merges",
        "-n",
        str(MOST_COMMITS),
        "--name-only",
        "--format=%x01%s",
    ]
    log = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    known = sources(files)
    for block in log.split("\x01")[1:]:
        subject, *changed = [line for line in block.split("\n") if line.strip()] or [""]
        answers = [path for path in changed if path in known]
        question = re.sub(r"\s*\(?#\d+\)?", "", subject)
        question = re.sub(r"^\w+(\([^)]*\))?!?:\s*|^\W*:\w+:\s*|^\[\w+\]\s*", "", question).strip(" .")
        if (
            len(answers) == 1
            and len(changed) <= 4
            and 4 <= len(question.split()) <= 16
            and not ROUTINE.search(question)
        ):
            stem = answers[0].rsplit("/", 1)[-1].split(".")[0].lower()
            if len(stem) <= 3 or stem not in re.sub(r"[-_ ]", "", question.lower()):
                yield Asked(question, (Place(answers[0]),), "commit", language_of(answers[0]) or "")


def topics(repository: str) -> Iterator[Asked]:
    for line in TOPICS.read_text(encoding="utf-8").splitlines():
        name, question, *places = line.split("\t")
        if name == repository:
            paths = [path for place in places for path in place.split(";") if path]
            yield Asked(question, tuple(Place(path) for path in paths), "topic", language_of(paths[0]) or "")


def make_questions(root: Path, copy: Path, count: int, seed: int, git: Path | None = None) -> dict[str, list[Asked]]:
    """At most `count` questions a set, the same for the same seed; sets with too few are left out."""
    files = read_files(root)
    history = git or root / ".git"
    pools: dict[str, list[Asked]] = defaultdict(list)
    every = [*make_bare(files, copy), *symbols(root), *errors(files), *tests(files), *topics(root.name)]
    every += commits(history, files) if history.exists() else []
    for one in every:
        pools[one.set].append(one)
    chosen: dict[str, list[Asked]] = {}
    for name in SETS:
        counts = Counter(folded(one.text) for one in pools[name])
        pool = sorted(
            (one for one in pools[name] if counts[folded(one.text)] == 1), key=lambda one: (str(one.answers), one.text)
        )
        picked = random.Random(f"{seed} {name}").sample(pool, min(count, len(pool)))
        if len(picked) >= FEWEST_QUESTIONS or (picked and name == "topic"):
            chosen[name] = picked
    chosen["symbol"] = [
        replace(one, text=one.text if index % 2 else f"where is {one.text} defined")
        for index, one in enumerate(chosen.get("symbol", []))
    ]
    return {name: questions for name, questions in chosen.items() if questions}


def write(path: Path, repository: str, questions: Iterable[Asked]) -> None:
    """Adds labelled questions to a file, a JSON object a line."""
    with path.open("a", encoding="utf-8") as out:
        for one in questions:
            out.write(json.dumps({"repository": repository, **asdict(one)}, ensure_ascii=False) + "\n")


def read(path: Path, repository: str) -> dict[str, list[Asked]]:
    """The questions of a file, as `write` wrote them, that are about a repository, by set."""
    found: dict[str, list[Asked]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["repository"] == repository:
            answers = tuple(Place(**place) for place in row["answers"])
            found[row["set"]].append(Asked(row["text"], answers, row["set"], row["language"]))
    return found

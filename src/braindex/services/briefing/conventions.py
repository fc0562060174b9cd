"""Conventions as the code itself shows them: every line is a count, of what was measured."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity
from braindex.services.briefing.quoting import code as code_span
from braindex.services.briefing.quoting import counted, listed, place
from braindex.services.briefing.structure import Code

# In these and all patterns of the brief no two neighbours can take the same characters: a name or a line that was made
# to be slow is read in time that grows with its length.
_STYLES: Final = (
    ("UPPER_CASE", re.compile(r"_*+[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)*+_*+")),
    ("snake_case", re.compile(r"_*+[a-z][a-z0-9]*+(?:_[a-z0-9]++)++_*+")),
    ("camelCase", re.compile(r"[_$]*+[a-z][a-z0-9]*+[A-Z][A-Za-z0-9]*+")),
    ("PascalCase", re.compile(r"_*+[A-Z][A-Z0-9]*+[a-z][A-Za-z0-9]*+")),
    ("kebab-case", re.compile(r"[a-z][a-z0-9]*+(?:-[a-z0-9]++)++")),
)
_FAMILIES: Final = (
    ("Python", frozenset({"python"})),
    ("JavaScript", frozenset({"javascript", "jsx"})),
    ("TypeScript", frozenset({"typescript", "tsx"})),
)
_MINOR: Final = 10  # a language with less than a tenth of the definitions sets no conventions
_FEW: Final = 10  # below which a share says nothing
_ENTRY: Final = re.compile(r"__\w+__")
_DOC_STYLES: Final = (
    (
        "reStructuredText fields (`:param …:`)",
        re.compile(r"^[^\S\n]*+:(?:param|returns?|rtype|raises?)\b", re.MULTILINE),
    ),
    ("Google sections (`Args:`)", re.compile(r"^[^\S\n]*+(?:Args|Returns|Raises):[^\S\n]*+$", re.MULTILINE)),
    ("NumPy sections", re.compile(r"^[^\S\n]*+(?:Parameters|Returns)[^\S\n]*+\n\s*+-{3}", re.MULTILINE)),
    ("JSDoc tags (`@param`)", re.compile(r"^[^\S\n]*+@(?:param|returns?|throws)\b", re.MULTILINE)),
)
_ERROR: Final = re.compile(r"\w*(?:Error|Exception|Warning)")
_INDENTED: Final = re.compile(r"^\S[^\n]*[:{(]\n(\t| ++)\S", re.MULTILINE)
_SEMICOLON: Final = re.compile(r"(?:from |require\()['\"][^'\"\n]++['\"]\)?(;?)[ \t]*+$", re.MULTILINE)
_JS_QUOTE: Final = re.compile(r"(?:from |require\()(['\"])")


def style_of(name: str) -> str:
    """The naming style of a name, "" for one of a single lower-case word, which fits several."""
    return next((style for style, pattern in _STYLES if pattern.fullmatch(name)), "")


def share(part: int, whole: int) -> str:
    """`87 % (52 of 60)`."""
    return f"{100 * part // whole if whole else 0} % ({part:,} of {whole:,})"


def conventions(code: Code, texts: Sequence[tuple[str, str]]) -> list[str]:
    """One sentence a convention, the most telling first. Empty where there is too little code to tell."""
    entities = list(code.all_entities())
    lines: list[str] = []
    for family, languages in _FAMILIES:
        own = [one for one in entities if one.language in languages]
        if len(own) * _MINOR >= len(entities):
            lines += _family(family, own)
    lines += _imports(code)
    lines += _layout(texts)
    lines += _decorators(entities)
    lines += _errors(entities)
    lines += _files(code)
    return lines


def _family(family: str, entities: Sequence[CodeEntity]) -> Iterator[str]:
    functions = [one for one in entities if one.kind in CALLABLE_KINDS and not _ENTRY.fullmatch(one.name)]
    types = [one for one in entities if one.kind in TYPE_KINDS]
    if len(functions) + len(types) < _FEW:
        return
    named = [_named("functions", functions), _named("types", types)]
    named.append(_named("constants", [one for one in entities if one.kind == "constant"]))
    told = [one for one in named if one]
    if told:
        yield f"{family} names of several words: {', '.join(told)}."
    yield from _typed(family, functions)
    yield from _documented(family, [*functions, *types])
    lengths = [one.end_line - one.line + 1 for one in functions]
    if len(lengths) >= _FEW and median(lengths) > 2:
        waiting = sum(one.signature.startswith("async ") or " async " in one.signature[:60] for one in functions)
        is_async = f", {waiting:,} of them async" if waiting else ""
        half = int(median(lengths))
        yield f"{family} functions: {len(functions):,} measured{is_async}, half of them at most {half} lines long."


def _named(what: str, entities: Sequence[CodeEntity]) -> str:
    styles = Counter(style for one in entities if (style := style_of(one.name)))
    total = sum(styles.values())
    if total < 5:
        return ""
    style, count = min(styles.items(), key=lambda one: (-one[1], one[0]))
    return f"{what} {style} {share(count, total)}"


def _typed(family: str, functions: Sequence[CodeEntity]) -> Iterator[str]:
    if family == "JavaScript" or len(functions) < _FEW:
        return
    typed = sum(one.return_type is not None for one in functions)
    yield f"{family} return types are written on {share(typed, len(functions))} functions."


def _documented(family: str, entities: Sequence[CodeEntity]) -> Iterator[str]:
    public = [one for one in entities if not one.name.startswith("_")]
    if len(public) < _FEW:
        return
    documented = [one for one in public if one.docstring]
    styles = [(sum(bool(found.search(one.docstring)) for one in documented), name) for name, found in _DOC_STYLES]
    count, style = max(styles)
    form = f", {counted(count, 'has', 'have')} {style}" if count >= max(5, len(documented) // 10) else ""
    what = "docstring" if family == "Python" else "doc comment"
    yield f"{family} public definitions with a {what}: {share(len(documented), len(public))}{form}."


def _imports(code: Code) -> Iterator[str]:
    found = code.imports
    if found.relative + found.absolute >= _FEW:
        yield (
            f"Python imports of the project's own modules: {found.relative:,} relative, {found.absolute:,} absolute."
        )
    if found.modules + found.commonjs >= _FEW:
        told = [(found.modules, "`import` or `export … from`"), (found.commonjs, "`require`")]
        yield f"Script imports: {' and '.join(f'{count:,} by {how}' for count, how in told if count)}."


def _layout(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    indents: Counter[str] = Counter()
    quotes: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for path, text in texts:
        head = text[:20_000]
        first = _indent(head)
        if first:
            indents[first] += 1
        if path.endswith((".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts")):
            quotes.update(_JS_QUOTE.findall(head))
            ends.update(_SEMICOLON.findall(head))
    told = []
    if sum(indents.values()) >= 3:
        indent, count = min(indents.items(), key=lambda one: (-one[1], one[0]))
        told.append(f"indentation by {indent} in {count:,} of {sum(indents.values()):,} files")
    if ends.total() >= _FEW:
        told.append(f"`;` at the end of {share(ends[';'], ends.total())} import lines")
    if quotes.total() >= _FEW:
        mark, count = min(quotes.items(), key=lambda one: (-one[1], one[0]))
        told.append(
            f"{'single' if mark == chr(39) else 'double'} quotes in {share(count, quotes.total())} import paths"
        )
    if told:
        yield f"Layout: {'; '.join(told)}."


def _indent(text: str) -> str:
    """What most blocks of a file are indented by: the first line after a colon or an opening brace."""
    found = Counter(_INDENTED.findall(text))
    if not found:
        return ""
    first = min(found.items(), key=lambda one: (-one[1], one[0]))[0]
    return "tabs" if first == "\t" else f"{len(first)} spaces"


def _decorators(entities: Iterable[CodeEntity]) -> Iterator[str]:
    counts = Counter(
        name for one in entities for text in one.decorators if (name := text.lstrip("@").partition("(")[0].strip())
    )
    top = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = [f"{code_span('@' + name)} {count:,}" for name, count in top if count >= 3]
    if shown:
        yield f"Decorators used most: {listed(shown[:5], 5)}."


def _errors(entities: Iterable[CodeEntity]) -> Iterator[str]:
    found = [one for one in entities if one.kind == "class" and _ERROR.fullmatch(one.name)]
    homes = Counter(one.path for one in found)
    if len(found) >= 4:
        path, count = min(homes.items(), key=lambda one: (-one[1], one[0]))
        yield f"Error classes: {len(found):,}, {count:,} of them in {place(path)}."


def _files(code: Code) -> Iterator[str]:
    stems = [path.rpartition("/")[2].partition(".")[0] for path in code.source]
    styles = Counter(style for stem in stems if not _ENTRY.fullmatch(stem) and (style := style_of(stem)))
    total = styles.total()
    if total >= _FEW:
        style, count = min(styles.items(), key=lambda one: (-one[1], one[0]))
        yield f"File names of several words: {style} {share(count, total)}."


def test_naming(paths: Sequence[str], patterns: Sequence[tuple[str, Callable[[str], bool]]]) -> str:
    """How most test files are named, as "41 of them named `test_*.py`"; "" without any."""
    counts = Counter(name for path in paths for name, fits in patterns if fits(path.rpartition("/")[2]))
    if not counts:
        return ""
    name, count = min(counts.items(), key=lambda one: (-one[1], one[0]))
    return f"{count:,} of them named `{name}`"

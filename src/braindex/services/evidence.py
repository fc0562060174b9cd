"""What a question says word for word: texts, names and places in files, which count however far the vectors lie."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from braindex.domain.entities import CodeEntity, EntityHead
from braindex.domain.mentions import Mention, shingles
from braindex.domain.question import Analysis, analyse, bare_name, compound_terms, phrase_terms
from braindex.domain.ranking import inverse_frequency
from braindex.domain.spelling import SHORTEST, meant, starts
from braindex.domain.units import EntityFilter, StoredEntity
from braindex.registry.index import IndexStore

WRITTEN_FEW: Final = 12  # places in which a name or a sentence may stand before it says less about each of them …
WRITTEN_MOST: Final = 60  # … and beyond which it says nothing
NAMED_LIMIT: Final = 200  # entities of the very name asked for
MOST_SHINGLES: Final = 12  # of an error message are looked up, the rarest
_FEW_SHARE: Final = 20  # an acronym in over a twentieth of the entities is a word like others …
_FEW_LEAST: Final = 50  # … unless these are so few that a twentieth of them says nothing
_OUTER: Final = 0.85  # what the next frame of a trace is worth, beside the one before
_MEMBER: Final = 0.5  # what lies in the file that a path names, beside the file
_MOST_MEMBERS: Final = 40


def written_rows(store: IndexStore, analysis: Analysis, narrowed: EntityFilter) -> dict[int, float]:
    """Rows that hold the question word for word, the symbol it asks for, or the fixed words of its error message: an
    option, a key, the line that raises.

    1 where that is in few places, less where it is in many, nothing where it is everywhere.
    """
    found = _message_rows(store, analysis.message, narrowed) if analysis.message else {}
    for words in (phrase_terms(analysis), compound_terms(analysis)):
        rows = store.search_phrase(words, WRITTEN_MOST + 1, narrowed)
        if len(rows) <= WRITTEN_MOST:
            worth = min(1.0, WRITTEN_FEW / max(1, len(rows)))
            found.update((row, max(worth, found.get(row, 0.0))) for row in rows)
    return found


def _message_rows(store: IndexStore, message: str, narrowed: EntityFilter) -> dict[int, float]:
    """The share of a message's runs of words, weighted by how rare their words are, that a row holds."""
    runs = shingles(message)
    total = store.entity_count()
    counts = store.frequencies({term for run in runs for term in run})
    weights = {run: sum(inverse_frequency(counts[term], total) for term in run) for run in runs}
    rarest = sorted((run for run in runs if all(counts[term] for term in run)), key=lambda run: -weights[run])
    found: dict[int, float] = defaultdict(float)
    for run in rarest[:MOST_SHINGLES]:
        rows = store.search_phrase(run, WRITTEN_MOST + 1, narrowed)
        if len(rows) <= WRITTEN_MOST:
            for row in rows:
                found[row] += weights[run]
    most = sum(
        sorted(weights.values())[-MOST_SHINGLES:]
    )  # runs that stand nowhere count: a text of other words is another
    return {row: worth / most for row, worth in found.items()}


def as_meant(store: IndexStore, analysis: Analysis) -> Analysis:
    """The question with a name that nothing has replaced by the one it probably means: a slip of the fingers, or the
    beginning of a name.
    """
    asked = analysis.name or next(iter(analysis.identifiers), "")
    last = bare_name(asked)
    if len(last) < SHORTEST or store.rows_by_name([asked, last]):
        return analysis
    known: dict[str, int] = {}
    for start in starts(last.casefold()):
        known.update(store.names_beginning(start))
    folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    found = meant(last.casefold(), {key: known[name] for key, name in folded.items()}, 1)
    if not found:
        return analysis
    name = folded[found[0]]
    if analysis.name:
        return replace(analyse(name), type="symbol", name=name, whole=analysis.whole, kind_hint=analysis.kind_hint)
    return replace(analyse(analysis.text.replace(asked, name)), type=analysis.type, whole=analysis.whole)


def with_acronyms(store: IndexStore, analysis: Analysis) -> Analysis:
    """The question with those of its acronyms as terms that something here is called by."""
    counts = store.frequencies(analysis.acronyms)
    most = max(store.entity_count() // _FEW_SHARE, _FEW_LEAST)
    used = [one for one in analysis.acronyms if 0 < counts[one] <= most and store.in_names(one)]
    return replace(analysis, terms=tuple(dict.fromkeys([*analysis.terms, *used]))) if used else analysis


def named_rows(store: IndexStore, analysis: Analysis, narrowed: EntityFilter) -> list[int]:
    """Rows whose very name the question is, asks for or holds."""
    names = [name for name in (analysis.name, analysis.whole, *analysis.identifiers) if name]
    last_parts = [bare_name(name) for name in names]
    return store.rows_by_name([*names, *last_parts], narrowed)[:NAMED_LIMIT]


def pointed_rows(store: IndexStore, analysis: Analysis, narrowed: EntityFilter) -> dict[int, float]:
    """Rows at the places that the question names: 1 for the first that is in the workspace, less for each next.

    A place with a line is the innermost entity around it, or the one that its frame names. A path that is the whole
    question stands for its file, and a little for what is in it. Where kinds or languages are left out, so are they
    here: the place is the innermost entity that is not, or the nearest in its file.
    """
    found: dict[int, float] = {}
    worth = 1.0
    for mention in analysis.mentions:
        files = _files(store, mention.path, narrowed)
        inside = [row for path in files for row in _inside(store, path, mention, narrowed)]
        rows = inside or _let_through(store, files.values(), narrowed)
        for row in rows:
            found.setdefault(row, worth)
        worth *= _OUTER if rows else 1.0
    if analysis.type == "symbol" and len(analysis.mentions) == 1 and found:
        _add_members(store, analysis.mentions[0], found, narrowed)
    return found


def _add_members(store: IndexStore, mention: Mention, found: dict[int, float], narrowed: EntityFilter) -> None:
    for path in _files(store, mention.path, narrowed):
        inside = [one for one in store.of_file(path) if _is_let_through(one.entity, narrowed)]
        members = [one for one in inside if one.row not in found and (narrowed.kind or not one.entity.parent)]
        longest = sorted(members, key=lambda one: (one.entity.line - one.entity.end_line, one.entity.line))
        found.update((one.row, _MEMBER) for one in longest[:_MOST_MEMBERS])


def _files(store: IndexStore, written: str, narrowed: EntityFilter) -> Mapping[str, int]:
    """Row by path of the files that a written path may mean: those that share most of its last parts. What they hold
    may be of another kind and language than they are.

    An absolute path has the file's whole path at its end, a relative one stands at the end of it; where neither is so
    (another checkout, an installed copy) a folder has to agree as well as the name.
    """
    parts = written.casefold().split("/")
    called = store.files_called(parts[-1], EntityFilter(narrowed.path))
    shared = {path: _shared(parts, path.casefold().split("/")) for path in called}
    fitting = {
        path: count for path, count in shared.items() if count >= min(2, len(parts)) or count == path.count("/") + 1
    }
    most = max(fitting.values(), default=0)
    return {path: called[path] for path, count in fitting.items() if count == most}


def _shared(one: list[str], other: list[str]) -> int:
    """How many parts two paths have in common at their ends."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _inside(store: IndexStore, path: str, mention: Mention, narrowed: EntityFilter) -> list[int]:
    if mention.line is None:
        return []
    everything = store.around(path, mention.line)
    around = {row: everything[row] for row in _let_through(store, everything, narrowed)}
    named = [row for row, name in around.items() if name == mention.name]
    if mention.name and not named:  # the file has moved on since: the function of that name is where the frame was
        named = [
            one.row
            for one in store.of_file(path)
            if one.entity.name == mention.name and _is_let_through(one.entity, narrowed)
        ]
    return named[:1] or list(around)[:1] or _nearest(store, path, mention.line, narrowed)


def _nearest(store: IndexStore, path: str, line: int, narrowed: EntityFilter) -> list[int]:
    """The entity of a file that is nearest to a line, where some are left out; none where none is."""
    if not (narrowed.kind or narrowed.language):
        return []
    inside = [one for one in store.of_file(path) if _is_let_through(one.entity, narrowed)]

    def lines_away(one: StoredEntity) -> int:
        return max(one.entity.line - line, line - one.entity.end_line, 0)

    return [min(inside, key=lines_away).row] if inside else []


def _let_through(store: IndexStore, rows: Iterable[int], narrowed: EntityFilter) -> list[int]:
    """The rows whose kind and language are asked for, in their order."""
    found = list(rows)
    if not (narrowed.kind or narrowed.language):
        return found
    heads = store.heads(found)
    return [row for row in found if row in heads and _is_let_through(heads[row], narrowed)]


def _is_let_through(entity: CodeEntity | EntityHead, narrowed: EntityFilter) -> bool:
    return narrowed.kind in {None, entity.kind} and narrowed.language in {None, entity.language}

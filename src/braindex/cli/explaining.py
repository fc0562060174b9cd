"""How an explanation of an answer looks on a terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from braindex.cli.output import Style
from braindex.domain.display import safe_line, safe_path
from braindex.domain.explanation import SIGNALS_SAID, Corrected, Dropped, Explanation, Placed, Word, by_points

CUT_SHOWN: Final = 10
_INDENT: Final = "    "


def explanation_lines(found: Explanation, style: Style) -> Iterator[str]:
    """The question as it was understood, each source's score in its parts, then what did not become a source."""
    yield style.bold("Why in this order")
    yield f"{_INDENT}{safe_line(found.type_said)}"
    if found.words:
        yield f"{_INDENT}words: {', '.join(map(_word, found.words))}"
    yield f"{_INDENT}{found.candidates:,} candidates, {len(found.cut):,} more cut at the distance {found.threshold:g}"
    yield ""
    for rank, one in enumerate(found.placed, start=1):
        yield from _placed_lines(rank, one, style)
    yield from _listed("changed on disk since the scan:", found.corrected, style)
    yield from _listed("no room left:", found.following, style)
    yield from _listed("cut:", found.cut, style)


def _word(one: Word) -> str:
    kind = "" if one.telling else ", common"
    return f"{safe_line(one.term)} ({one.entities:,} entities{kind})"


def _placed_lines(rank: int, one: Placed, style: Style) -> Iterator[str]:
    place = f" {safe_path(one.path)}:{one.line}" if one.path else ""
    yield f"{style.dim(f'{rank:>2}')}  {style.bold(safe_line(one.name))}{place}  score {one.before:.4f}"
    for signal in by_points(one.signals):
        said = SIGNALS_SAID[signal.name]
        yield f"{_INDENT}{signal.points:+.3f}  {signal.name} {signal.value:.3f} × {signal.weight:g}  {style.dim(said)}"
    for factor in one.factors:
        yield f"{_INDENT}× {factor.factor:.3g}  {style.dim(factor.reason)}"
    if one.place_factor != 1.0:
        yield f"{_INDENT}× {one.place_factor:.3g}  {style.dim(f'source {one.file_place} of its file')}"
    measured = list(_measured(one))
    if measured:
        yield _INDENT + style.dim("; ".join(measured))
    yield ""


def _measured(one: Placed) -> Iterator[str]:
    if one.distance is not None:
        rank = f", {one.dense_rank}. by meaning" if one.dense_rank else ""
        yield f"distance {one.distance:.4f}{rank}"
    if one.words:
        rank = f"{one.lexical_rank}. by words, " if one.lexical_rank else ""
        yield f"{rank}holds {', '.join(map(safe_line, one.words))} (BM25F {one.lexical:.2f})"
    if one.found_by:
        yield f"found by {', '.join(one.found_by)}"
    if one.remark:
        yield safe_line(one.remark)


def _listed(title: str, items: Sequence[Dropped | Corrected], style: Style) -> Iterator[str]:
    if not items:
        return
    yield style.bold(title)
    for one in items[:CUT_SHOWN]:
        why = one.why if isinstance(one, Dropped) else one.said
        yield f"{_INDENT}{safe_line(one.name)} {safe_path(one.path)}:{one.line}  {style.dim(safe_line(why))}"
    if len(items) > CUT_SHOWN:
        yield f"{_INDENT}and {len(items) - CUT_SHOWN:,} more (--json lists them all)"
    yield ""

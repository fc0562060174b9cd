"""A review as text for a terminal, and as Markdown for a pull request. Text of files and engines is made safe."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from braindex.domain.citations import citation
from braindex.domain.display import safe, safe_line, safe_path, shortened
from braindex.domain.opinions import Finding, Opinion
from braindex.domain.penalties import is_test
from braindex.domain.reviews import Callers, FileSummary, PastReview, Reminder, Review, Touched
from braindex.domain.spending import dollars

_VERDICTS: Final = {"approve": "approved", "comment": "commented", "request_changes": "changes requested"}
_ENTITIES_SHOWN: Final = 8  # of one file and one kind of change
_FILES_SHOWN: Final = 50
_PAST: Final = 160  # characters of what a past review was about, and of what it said
_NOTE: Final = 300  # characters of a note
NOT_JUDGED: Final = "not judged"
_SUBJECT_FILES: Final = 20
_SUBJECT_NAMES: Final = 25  # of one kind of change
_SUBJECT_DOCS: Final = 6
# Outside of code no tag may begin, and no link or image lead anywhere. A span that the next line ends is not taken for
# one, nor a fence that is indented: a reader may see either as text.
_FENCE: Final = re.compile(r"```[^`]*")
_CODE_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)")
_MARKUP: Final = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])(?=[(\[])|(?<=!)(?=\[)")


def review_lines(review: Review) -> Iterator[str]:
    """Blocks for a terminal: the verdict and its findings, what changed, similar reviews, callers, and how it came."""
    yield _headline(review)
    opinion = review.opinion
    if opinion:
        if opinion.summary:
            yield f"\n{safe(opinion.summary)}"
        for number, one in enumerate(opinion.findings, start=1):
            yield f"\n{number:>2}. {_placed(one)}"
        if opinion.remarks:
            yield "\nremarks, whose place is none of the diff:"
            yield from (f"  {_placed(one)}" for one in opinion.remarks)
    yield "\nchanged:"
    yield from (line for one in review.files[:_FILES_SHOWN] for line in _file_lines(one))
    yield from _more(len(review.files) - _FILES_SHOWN, "file")
    if review.similar:
        yield "\nsimilar reviews of the last 90 days:"
        yield from (f"  {_past(one)}" for one in review.similar)
    if review.reminders:
        yield "\nnotes that have to do with it:"
        yield from (f"  {_reminder(one)}" for one in review.reminders)
    if review.callers:
        yield "\ncalled by, by name:"
        yield from (line for one in review.callers for line in _caller_lines(one))
    yield f"\n{' · '.join(_terms(review))}"


def review_markdown(review: Review) -> Iterator[str]:
    """The same for a pull request's comment."""
    yield f"## Review: {quoted_markdown(_headline(review))}"
    opinion = review.opinion
    if opinion:
        if opinion.summary:
            yield f"\n{quoted_markdown(safe(opinion.summary))}"
        if opinion.findings:
            yield "\n### Findings\n"
            yield from (_markdown_finding(one) for one in opinion.findings)
        if opinion.remarks:
            yield "\n### Remarks, whose place is none of the diff\n"
            yield from (_markdown_finding(one) for one in opinion.remarks)
    yield "\n### Changed\n"
    yield from (line for one in review.files[:_FILES_SHOWN] for line in _nested(_file_lines(one)))
    yield from (f"- {one.strip()}" for one in _more(len(review.files) - _FILES_SHOWN, "file"))
    if review.similar:
        yield "\n### Similar reviews of the last 90 days\n"
        yield from (f"- {quoted_markdown(_past(one))}" for one in review.similar)
    if review.reminders:
        yield "\n### Notes that have to do with it\n"
        yield from (f"- {quoted_markdown(_reminder(one))}" for one in review.reminders)
    if review.callers:
        yield "\n### Called by, by name\n"
        yield from (line for one in review.callers for line in _nested(_caller_lines(one)))
    yield f"\n{quoted_markdown(' · '.join(_terms(review)))}"


def quoted_markdown(text: str) -> str:
    """Text that renders as text and code: no tag, and no link or image, which would lead a reader elsewhere."""
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = _FENCE.fullmatch(line) is not None
        lines.append(line if in_code or is_fence else _without_markup(line))
        in_code ^= is_fence
    return "\n".join([*lines, "```"] if in_code else lines)


def _without_markup(line: str) -> str:
    parts: list[str] = []
    at = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_plain(line[at : span.start()]), span.group()]
        at = span.end()
    return "".join([*parts, _plain(line[at:])])


def status_description(review: Review) -> str:
    """What a commit's status says beside its colour; GitHub takes 140 characters."""
    if review.opinion is None:
        return shortened(f"not reviewed: {safe_line(review.reason)}", 140)
    said = _VERDICTS[review.opinion.verdict]
    return shortened(f"{said}: {_found(review.opinion)} by {review.engine}", 140)


def episode_summary(review: Review) -> str:
    """What a stored review says: its verdict, its words and its findings, each on a line."""
    opinion = review.opinion
    if opinion is None:
        return NOT_JUDGED
    lines = [opinion.summary] if opinion.summary else []
    said = (*opinion.findings, *opinion.remarks)
    lines += [" ".join([f"{one.severity}:", one.place, *one.text.split()]).replace(":  ", ": ") for one in said]
    return "\n".join(lines) or _VERDICTS[opinion.verdict]


def structural_subject(files: Sequence[FileSummary]) -> str:
    """What a change is about, from its structure alone: the names of its entities, with what documents the first of
    them, and its files. Each word of ours stands there once, and no number: what every change says would make unrelated
    changes look alike. Tests come last, since they are about the rest.
    """
    ordered = sorted(files, key=lambda one: is_test(one.diff.path))
    groups = (
        ("changed", [entity for one in ordered for entity in one.changed]),
        ("added", [entity for one in ordered for entity in one.added]),
        ("removed", [entity for one in ordered for entity in one.removed]),
    )
    lines = [f"{word}: {_named(entities)}" for word, entities in groups if entities]
    # Of a path the last two parts: what all files lie in tells none from another.
    paths = ["/".join(one.diff.path.split("/")[-2:]) for one in ordered[:_SUBJECT_FILES]]
    return "\n".join([*lines, f"files: {', '.join(map(safe_path, dict.fromkeys(paths)))}"])


def _named(entities: Sequence[Touched]) -> str:
    names = list(dict.fromkeys(safe_line(one.head.qualified_name or one.name) for one in entities))[:_SUBJECT_NAMES]
    docs = [shortened(safe_line(one.doc), 100) for one in entities[:_SUBJECT_DOCS] if one.doc]
    return "; ".join([", ".join(names), *docs])


def _headline(review: Review) -> str:
    what = f"{safe_line(review.changes.label)}, {_counted(len(review.files), 'file')}"
    if review.opinion is None:
        return f"no verdict on {what}"
    return f"{review.opinion.verdict}: {_found(review.opinion)} in {what}"


def _found(opinion: Opinion) -> str:
    found = _counted(len(opinion.findings), "finding")
    return f"{found} and {_counted(len(opinion.remarks), 'remark')}" if opinion.remarks else found


def _terms(review: Review) -> list[str]:
    """How the review came about: who wrote it, what it cost, and what is not as one would expect."""
    spent, opinion = review.spent, review.opinion
    parts = [f"{review.engine}: {review.reason}" if review.engine != "none" else review.reason]
    if spent.calls:
        cost = "cost unknown" if spent.cost is None else dollars(spent.cost)
        parts.append(f"{_counted(spent.calls, 'call')}, {cost}")
    if opinion and opinion.dropped:
        were = "was" if opinion.dropped == 1 else "were"
        parts.append(f"{_counted(opinion.dropped, 'finding')} without a place in this workspace {were} dropped")
    if opinion and opinion.remarks:
        lost = _counted(len(opinion.remarks), "finding")
        parts.append(f"{lost} cited no line of the diff and became {'a remark' if lost[:2] == '1 ' else 'remarks'}")
    if opinion and opinion.lowered:
        parts.append("the engine requested changes, but no finding supports it: it counts as a comment")
    return [safe_line(one) for one in (*parts, *review.notes) if one]


def _file_lines(one: FileSummary) -> Iterator[str]:
    """A file and, indented below it, the entities that changed."""
    moved = one.diff.old_path and one.diff.old_path != one.diff.path
    origin = f" (from {safe_path(one.diff.old_path)})" if moved else ""
    yield f"  {one.diff.kind} {safe_path(one.diff.path)}{origin}{_sizes(one)}"
    for word, entities in (("added", one.added), ("changed", one.changed), ("removed", one.removed)):
        yield from (f"    {word} {_entity(entity)}" for entity in entities[:_ENTITIES_SHOWN])
        yield from (f"    {word} {more.strip()}" for more in _more(len(entities) - _ENTITIES_SHOWN, "entity"))


def _sizes(one: FileSummary) -> str:
    if one.withheld:
        return f": content withheld, {safe_line(one.withheld)}"
    added, removed = one.diff.counts()
    counts = ", binary" if one.diff.binary else f" (+{added} -{removed})"
    return counts + (f", {safe_line(one.remark)}" if one.remark else "")


def _entity(one: Touched) -> str:
    return f"{one.kind} {citation(one.name, one.path, one.line, None)}"


def _nested(lines: Iterable[str]) -> Iterator[str]:
    """A line and what is indented below it, as a list with a list in it."""
    first, *rest = lines
    yield f"- {quoted_markdown(first.strip())}"
    yield from (f"  - {quoted_markdown(line.strip())}" for line in rest)


def _markdown_finding(one: Finding) -> str:
    text = quoted_markdown(safe(one.text)).replace("\n", "\n  ")
    place = one.place.replace("`", "'")
    return f"- **{one.severity}**{f' `{place}`' if place else ''}\n  {text}"


def _placed(one: Finding) -> str:
    return f"{f'[{one.severity}] {one.place}'.rstrip()}\n{_indented(safe(one.text))}"


def _past(one: PastReview) -> str:
    near = "" if one.distance is None else f" ({one.distance:.2f})"
    commit = f" of {safe_line(one.commit[:10])}" if one.commit else ""
    head = f"{safe_line(one.created[:10])} {safe_line(one.outcome) or 'no verdict'}{commit}{near}"
    said = [shortened(safe_line(text), _PAST) for text in (one.subject, one.summary) if text not in {"", NOT_JUDGED}]
    return ": ".join([head, " → ".join(said)]) if said else head


def _reminder(one: Reminder) -> str:
    stale = f" (may be stale: {safe_line(one.stale)})" if one.stale else ""
    head = " ".join(part for part in (one.created[:10], one.category) if part)
    return f"{safe_line(head)}{stale}: {shortened(safe_line(one.text), _NOTE)}"


def _caller_lines(one: Callers) -> Iterator[str]:
    yield f"  {citation(one.entity.name, one.entity.path, one.entity.line, None)}"
    for link in one.links:
        others = f" (one of {link.others + 1} of this name)" if link.others else ""
        yield f"    {citation(link.name, link.path, link.line, None)}{others}"
    yield from _more(one.left_out, "caller")


def _more(count: int, noun: str) -> Iterator[str]:
    if count > 0:
        yield f"    … and {_counted(count, noun)} more"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _plain(text: str) -> str:
    return _MARKUP.sub(lambda match: "&lt;" if match.group() else "\\", text)


def _counted(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{count:,} {noun}s"

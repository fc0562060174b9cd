"""How notes and episodes look on a terminal: a few lines each in a list, all of one where it is asked for."""

from typing import Final

from braindex.domain.display import safe, safe_line, safe_path, shortened
from braindex.domain.memories import Episode, Memory, Note

_INDENT: Final = "    "
_SAID: Final = 200  # characters of a prompt or an answer in a list
_FILES: Final = 6  # of an episode in a list


def note_lines(note: Note, stale: str = "") -> str:
    """`stale` says in a line what the note is about and has changed since, else ""."""
    about = ", ".join(tie.written for tie in note.about)
    parts = [note.id, note.created[:10], safe_line(note.category), f"about {safe_line(about)}" if about else ""]
    parts.append(f"(may be stale: {safe_line(stale)})" if stale else "")
    return "\n".join([_head(*parts), *_indented(note.text)])


def episode_lines(episode: Episode) -> str:
    """What it was, what was asked, what came of it and which files it touched, in a line each."""
    lines = [_episode_head(episode)]
    lines += [f"{_INDENT}asked: {_short(episode.prompt)}"] * bool(episode.prompt.strip())
    lines += [f"{_INDENT}said: {_short(episode.summary)}"] * bool(episode.summary.strip())
    if episode.files:
        more = len(episode.files) - _FILES
        named = ", ".join(map(safe_path, episode.files[:_FILES]))
        lines.append(f"{_INDENT}files: {named}" + (f" and {more} more" if more > 0 else ""))
    return "\n".join(lines)


def memory_lines(memory: Memory, stale: str = "") -> str:
    """All that there is of a note or an episode."""
    if isinstance(memory, Note):
        said = [note_lines(memory, stale)]
        said += [f"{_INDENT}by {safe_line(memory.author)}"] * bool(memory.author)
        said += [f"{_INDENT}updated {memory.updated}"] * (memory.updated != memory.created)
        return "\n".join(said)
    lines = [_episode_head(memory)]
    lines += [f"{_INDENT}conversation {safe_line(memory.session)}"] * bool(memory.session)
    for title, text in (("asked:", memory.prompt), ("said:", memory.summary)):
        lines += ["", title, *_indented(text)] if text.strip() else []
    lines += ["", "files:", *(f"{_INDENT}{safe_path(path)}" for path in memory.files)] if memory.files else []
    return "\n".join(lines)


def _episode_head(one: Episode) -> str:
    by = f"by {safe_line(one.client)}" if one.client else ""
    when = one.created[:16].replace("T", " ")
    at = f"at {safe_line(one.commit[:10])}" if one.commit else ""
    return _head(one.id, when, safe_line(one.kind), by, safe_line(one.outcome), at)


def _head(*parts: str) -> str:
    return "  ".join(part for part in parts if part)


def _short(text: str) -> str:
    return safe_line(shortened(" ".join(text.split()), _SAID))


def _indented(text: str) -> list[str]:
    return [(_INDENT + line).rstrip() for line in safe(text).strip().split("\n")]

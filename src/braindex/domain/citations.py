"""The citation form that VS Code makes clickable: `` `name` #path/from/root.py:184 (0.35) ``."""

from braindex.domain.display import safe_line, safe_path


def citation(name: str, path: str, line: int, distance: float | None) -> str:
    """One citation line; the distance (L2, to the question) is left out where none exists, the place where `path` is
    empty: a note has none.
    """
    tail = "" if distance is None else f" ({distance:.2f})"
    if not path:
        return f"`{safe_line(name)}`{tail}"
    return f"`{safe_line(name)}` #{safe_path(path)}:{line}{tail}"

"""HTML out of templates. Every value is escaped, and characters that could fool a reader are shown as escapes."""

from datetime import UTC, datetime
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from braindex.domain.display import safe, safe_line, safe_path
from braindex.domain.health import megabytes
from braindex.domain.identity import short_id
from braindex.domain.spending import dollars

MINUTE, HOUR, DAY = 60, 3600, 86_400
_MOST_DAYS: Final = 60


def environment(**shared: Any) -> Environment:
    """The templates' surroundings, with what is `shared` by all. A name that is misspelt in one is an error."""
    made = Environment(
        loader=PackageLoader("braindex.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.filters |= {
        "ago": ago,
        "as_it_is": as_it_is,
        "as_value": as_value,
        "count": count,
        "dollars": dollars,
        "line": safe_line,
        "megabytes": megabytes,
        "path": safe_path,
        "short": short_id,
    }
    made.globals |= shared
    return made


def shown(value: Any) -> Any:
    """Any text as it may be shown: source, notes and names may hold control and bidirectional characters."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def as_it_is(text: str) -> Markup:
    """Text for a field in which it is edited: escaped for HTML, its invisible characters kept. A newline comes first,
    since HTML takes one away.
    """
    return Markup("\n") + escape(text)


def as_value(text: str) -> Markup:
    """Text for the value of a field: escaped for HTML, its invisible characters kept."""
    return escape(text)


def count(number: int, noun: str = "", plural: str = "") -> str:
    """`1,200` or `1,200 files`."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ago(when: str | None, now: datetime | None = None) -> str:
    """How long ago a UTC time in ISO 8601 was, in words; the day of what is long ago."""
    try:
        then = datetime.fromisoformat(when or "")
    except ValueError:
        return "at an unknown time" if when else "never"
    seconds = ((now or datetime.now(UTC)) - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return f"{count(int(seconds // MINUTE), 'minute')} ago"
    if seconds < 2 * DAY:
        return f"{count(int(seconds // HOUR), 'hour')} ago"
    if seconds < _MOST_DAYS * DAY:
        return f"{count(int(seconds // DAY), 'day')} ago"
    return f"on {then.date()}"

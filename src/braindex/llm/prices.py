"""The price table: the shipped data file, and a user's own laid over it."""

import json
import stat
from decimal import Decimal, InvalidOperation
from importlib import resources
from pathlib import Path
from typing import Any, Final

from braindex.domain.display import echoed
from braindex.domain.errors import UsageError
from braindex.domain.prices import PriceTable

SETTING: Final = "PRICES_FILE"
LARGEST: Final = 1_000_000  # bytes; what is larger is no price table
_LONGEST_NUMBER: Final = 40  # characters; the time to read a number grows with the square of its length


class PricesUnreadable(UsageError):
    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{SETTING} names {echoed(str(path))}, which {why}; correct it, or unset it to use the shipped prices"
        )


def load_prices(users: Path | None = None) -> PriceTable:
    """The shipped prices, with those of the user's file laid over them.

    Raises PricesUnreadable, and InvalidPrices with every mistake that the user's file has.
    """
    shipped = _parsed(resources.files("braindex.llm").joinpath("prices.json").read_text(encoding="utf-8"))
    table = PriceTable.parse(shipped, "the shipped price file")
    if users is None:
        return table
    try:
        data = _parsed(_text(users))
    except (ValueError, RecursionError) as error:
        raise PricesUnreadable(users, f"is not valid JSON in UTF-8 ({error})") from error
    return table.overlaid(PriceTable.parse(data, f"{SETTING} ({echoed(str(users))})"))


def _parsed(text: str) -> Any:
    """Numbers stay as they are written: a price is no binary fraction. NaN and Infinity come as numbers, and are
    refused as prices.
    """
    return json.loads(text, parse_float=_fraction, parse_int=_whole)


def _fraction(text: str) -> Decimal:
    try:
        return Decimal(_bounded(text))
    except InvalidOperation:  # an exponent beyond what the type takes
        raise ValueError(f"no price has the exponent of {text}") from None


def _whole(text: str) -> int:
    return int(_bounded(text))


def _bounded(text: str) -> str:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number has {len(text):,} characters")
    return text


def _text(path: Path) -> str:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise PricesUnreadable(path, "is not a regular file")
        if found.st_size > LARGEST:
            raise PricesUnreadable(path, f"is larger than {LARGEST:,} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise
    except ValueError:  # a NUL character in it
        raise PricesUnreadable(path, "is no path") from None
    except OSError as error:
        raise PricesUnreadable(path, f"cannot be read ({error.strerror or error})") from error

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from braindex.domain.prices import InvalidPrices
from braindex.domain.usage import Usage
from braindex.llm.prices import LARGEST, PricesUnreadable, load_prices

MILLION = 1_000_000
HITS = Usage(MILLION, 0, MILLION, 0)
MISSES = Usage(MILLION, 0, 0, MILLION)
OUTPUT = Usage(0, MILLION)


def dollars(model: str, when: str) -> tuple[str, str, str] | None:
    """Dollars per million hits, misses and output tokens."""
    table, moment = load_prices(), datetime.fromisoformat(when).replace(tzinfo=UTC)
    costs = [table.cost(model, moment, usage) for usage in (HITS, MISSES, OUTPUT)]
    return None if None in costs else tuple(f"{cost / 10**12:g}" for cost in costs)  # type: ignore[operator,return-value]


@pytest.mark.parametrize(
    ("model", "when", "expected"),
    [
        ("deepseek-v4-flash", "2026-06-01T02:00", ("0.0028", "0.14", "0.28")),
        ("deepseek-chat", "2026-06-01", ("0.0028", "0.14", "0.28")),
        ("deepseek-reasoner", "2026-06-01", ("0.0028", "0.14", "0.28")),
        ("deepseek-chat", "2026-11-30", None),
        ("deepseek-v4-pro", "2026-06-01", ("0.003625", "0.435", "0.87")),
        ("deepseek-v4-pro", "2026-08-16T15:59:59", ("0.003625", "0.435", "0.87")),
        ("deepseek-v4-pro", "2026-08-16T16:00:00", ("0.022", "0.66", "1.98")),
        ("deepseek-v4-pro", "2026-08-17T01:00:00", ("0.044", "1.32", "3.96")),
        ("deepseek-v4-flash", "2026-08-17T00:59:59", ("0.007", "0.22", "0.66")),
        ("deepseek-v4-flash", "2026-08-17T09:59:59", ("0.014", "0.44", "1.32")),
        ("deepseek-v4-flash", "2026-08-22T06:00:00", ("0.014", "0.44", "1.32")),  # a Saturday, still with a peak
        ("deepseek-v4-flash", "2026-08-23T06:00:00", ("0.007", "0.22", "0.66")),  # the Sunday after
        ("deepseek-v4-flash", "2026-09-10T03:59:59", ("0.014", "0.44", "1.32")),
        ("deepseek-v4-flash", "2026-09-10T04:00:00", ("0.003", "0.15", "0.6")),
        ("deepseek-flash", "2026-09-10T03:59:59", None),
        ("deepseek-flash", "2026-11-30T06:00:00", ("0.006", "0.3", "1.2")),
        ("deepseek-v4.1-flash", "2026-11-30T10:00:00", ("0.003", "0.15", "0.6")),
        ("deepseek-flash", "2026-11-29T06:00:00", ("0.003", "0.15", "0.6")),  # Sunday
        ("deepseek-flash", "2026-10-05T06:00:00", ("0.003", "0.15", "0.6")),  # a Monday, and a holiday
        ("deepseek-v4-pro", "2026-11-30T06:00:00", ("0.044", "1.32", "3.96")),
        ("deepseek-v4-pro", "2026-11-30T05:00:00", ("0.022", "0.66", "1.98")),
        ("deepseek-v4-pro", "2026-10-05T06:00:00", ("0.022", "0.66", "1.98")),
        ("text-embedding-3-small", "2026-11-30", ("0.02", "0.02", "0")),
        ("text-embedding-3-large", "2026-11-30", ("0.13", "0.13", "0")),
        ("llama3.2", "2026-11-30", None),
    ],
)
def test_the_shipped_table_has_the_published_prices(model, when, expected):
    assert dollars(model, when) == expected


def test_off_peak_is_half_of_peak_and_every_row_names_its_source():
    rows = {row.since: row for prices in load_prices().by_model.values() for row in prices}.values()
    assert all("https://" in row.source for row in rows)
    peaks = [(row.rates, row.peak.rates) for row in rows if row.peak is not None]
    assert peaks
    for rates, peak in peaks:
        assert (peak.cache_hit, peak.cache_miss, peak.output) == (
            2 * rates.cache_hit, 2 * rates.cache_miss, 2 * rates.output,
        )  # fmt: skip


def users(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


OWN = {
    "models": ["deepseek-flash"],
    "from": "2026-10-01",
    "source": "mine",
    "cache_hit": 0.1,
    "cache_miss": 1,
    "output": 2,
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_users_file_is_laid_over_the_shipped_prices(tmp_path, mark):
    table = load_prices(users(tmp_path / "prices.json", mark + json.dumps({"prices": [OWN]}).encode()))
    assert table.cost("deepseek-flash", datetime(2026, 11, 30, 6, tzinfo=UTC), HITS) == 10**11
    assert table.cost("deepseek-flash", datetime(2026, 9, 30, 10, tzinfo=UTC), HITS) == 3 * 10**9
    assert table.cost("deepseek-v4-pro", datetime(2026, 11, 30, 6, tzinfo=UTC), HITS) == 44 * 10**9


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        (b"\xff\xfe{}", "is not valid JSON in UTF-8"),
        ("[" * 100_000, "is not valid JSON"),
        (b" " * (LARGEST + 1), "is larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_json_is_refused_with_its_name_and_the_way_out(tmp_path, text, told):
    with pytest.raises(PricesUnreadable, match=rf"PRICES_FILE names .*prices\.json, which {told}.*unset it"):
        load_prices(users(tmp_path / "prices.json", text))


def test_a_file_with_mistakes_is_refused_with_all_of_them(tmp_path):
    row = {**OWN, "output": "2", "colour": 1}
    with pytest.raises(InvalidPrices, match="row 1: unknown field `colour`; row 1: `output` is 2") as caught:
        load_prices(users(tmp_path / "prices.json", json.dumps({"prices": [row]})))
    assert "PRICES_FILE" in str(caught.value)
    assert "prices.json" in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "1e-400", "0.00000001"])
def test_a_number_that_is_no_price_is_refused(tmp_path, number):
    text = json.dumps({"prices": [OWN]}).replace('"output": 2', f'"output": {number}')
    with pytest.raises(InvalidPrices, match="`output`"):
        load_prices(users(tmp_path / "prices.json", text))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(PricesUnreadable, match="cannot be read"):
        load_prices(tmp_path / "missing.json")
    with pytest.raises(PricesUnreadable, match="is not a regular file"):
        load_prices(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_a_pipe_does_not_hold_up_the_start(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PricesUnreadable, match="is not a regular file"):
        load_prices(tmp_path / "pipe")


@pytest.mark.parametrize(
    "number", ["9" * 900_000, "0." + "1" * 900_000, "1E+99999999999999999999", "1E-99999999999999999999"]
)
def test_a_number_of_any_length_or_exponent_is_refused_at_once_and_by_the_files_name(
    tmp_path: Path, number: str
) -> None:
    file = tmp_path / "prices.json"
    file.write_text(f'{{"prices": [{{"models": ["m"], "cache_hit": {number}}}]}}')
    with pytest.raises(PricesUnreadable, match=r"prices\.json"):
        load_prices(file)


def test_a_name_with_a_nul_character_is_no_path() -> None:
    with pytest.raises(PricesUnreadable, match="is no path"):
        load_prices(Path("prices\0.json"))

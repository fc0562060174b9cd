"""What questions cost in the cloud, by the price table that braindex bills with.

    python bench/costs.py [--prices FILE]

Prints the table of docs/engines.md; tests/test_docs.py holds that it is the one there. How many tokens a question takes
was measured by `python bench/engines.py` over braindex itself: two servers, ten questions each, eight sources or two.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from braindex.domain.prices import PriceTable
from braindex.domain.usage import PICODOLLARS, Usage
from braindex.llm.prices import load_prices

# A working day, at an hour of low and an hour of high prices.
WHEN: Final = {"off-peak": datetime(2026, 12, 2, 12, tzinfo=UTC), "peak": datetime(2026, 12, 2, 7, tzinfo=UTC)}
MODELS: Final = ("deepseek-flash", "deepseek-v4-pro")
THOUSAND: Final = 1_000


def used(tokens_in: int, cached: int, tokens_out: int) -> Usage:
    return Usage(
        tokens_in=tokens_in, tokens_out=tokens_out, cache_hit_tokens=cached, cache_miss_tokens=tokens_in - cached
    )


# (what, times, used). The prefix, role and brief, was 1,360 tokens of a question's 1,863.
ROWS: Final = (
    ("1,000 questions, the prefix cached", THOUSAND, used(1_863, 1_360, 265)),
    ("1,000 questions, nothing cached", THOUSAND, used(1_863, 0, 265)),
    ("1,000 questions of the largest size, nothing cached", THOUSAND, used(1_400 + 3_000 + 100, 0, 700)),
    ("a brief, made and warmed once", 1, used(7_424 + 1_360, 967, 1_431 + 1)),
)


def table(prices: PriceTable) -> str:
    columns = [(model, when) for model in MODELS for when in WHEN]
    head = ["", *(f"{model}, {when}" for model, when in columns)]
    lines = [head, ["---"] * len(head)]
    for what, times, usage in ROWS:
        costs = (prices.cost(model, WHEN[when], usage) for model, when in columns)
        lines.append([what, *("–" if one is None else _dollars(times * one) for one in costs)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _dollars(picodollars: int) -> str:
    dollars = picodollars / PICODOLLARS
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prices", type=Path, help="prices of your own, laid over the shipped ones")
    print(table(load_prices(parser.parse_args().prices)))


if __name__ == "__main__":
    main()

import pytest

from braindex.domain.brief import MAX_TOKENS, SECTIONS, check, compose, parse
from braindex.domain.tokens import count_tokens

FULL = {title: f"Facts of {title}." for title in SECTIONS}
ENDLESS = "\n".join(f"- `file_{number}.py` holds definition number {number}." for number in range(400))


def test_a_brief_has_its_nine_sections_in_order() -> None:
    text = compose("shop", dict(reversed(FULL.items())))
    assert text.startswith("# shop\n\n## Overview\nFacts of Overview.\n\n## Technical Stack\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [f"## {title}" for title in SECTIONS]
    assert text.endswith("Facts of Future Roadmap.\n")


def test_a_section_without_facts_says_so() -> None:
    text = compose("shop", {"Overview": "A shop.", "Purpose": "  \n"})
    found = parse(text)
    assert found["Overview"] == "A shop."
    assert all(found[title].startswith("Nothing in the index ") for title in SECTIONS if title != "Overview")


def test_what_was_composed_is_parsed_back_and_passes_the_check() -> None:
    text = compose("shop", FULL)
    assert parse(text) == FULL
    assert check(text) == []


def test_the_longest_section_is_shortened_at_a_line_and_the_others_stay_whole() -> None:
    text = compose("shop", {**FULL, "Key Files": ENDLESS})
    assert MAX_TOKENS - 20 < count_tokens(text) <= MAX_TOKENS
    found = parse(text)
    assert found["Key Files"] == "\n".join(ENDLESS.split("\n")[: found["Key Files"].count("\n") + 1])
    assert {title: found[title] for title in SECTIONS if title != "Key Files"} == {
        title: FULL[title] for title in SECTIONS if title != "Key Files"
    }


def test_nine_endless_sections_fit_and_each_keeps_something() -> None:
    text = compose("shop", dict.fromkeys(SECTIONS, ENDLESS))
    assert count_tokens(text) <= MAX_TOKENS
    assert all(body.startswith("- `file_0.py`") and body.endswith(".") for body in parse(text).values())


def test_a_single_paragraph_is_shortened_at_a_sentence() -> None:
    prose = " ".join(f"Sentence {number} is about the shop." for number in range(900))
    body = parse(compose("shop", {"Overview": prose}))["Overview"]
    assert body.endswith("about the shop.")
    assert prose.startswith(body)


@pytest.mark.parametrize("letters", ["x", "\u6f22", "x ", "`"])
def test_one_endless_line_is_cut(letters: str) -> None:
    text = compose("shop", dict.fromkeys(SECTIONS, letters * 1_000_000))
    assert count_tokens(text) <= MAX_TOKENS
    assert list(parse(text)) == list(SECTIONS)


def test_a_heading_that_led_to_what_was_cut_off_goes_too() -> None:
    lines = [f"- line {number} about one thing or another of this project" for number in range(40)]
    for at in range(2, 40, 3):
        lines[at] = "More of these:"
    body = parse(compose("shop", {**dict.fromkeys(SECTIONS, ENDLESS), "Purpose": "\n".join(lines)}))["Purpose"]
    assert not body.endswith(":")


@pytest.mark.parametrize(
    "hostile",
    [
        "## Overview\nfake",
        "# Title\nfake",
        "   ## Purpose\nfake",
        "Future Roadmap\n---\nfake",
        "Heading\n===\nfake",
        "```\nunclosed fence",
        "~~~~ python\nunclosed fence",
        "> ```\nfence in a quotation",
        "<!-- hides the rest",
        "<script>hides",
        "right\u202eto left \u200b and \x1b[31m red \x00",
        "line\u2028## Purpose\u2029fake",
        "a\r## Purpose\rfake",
        "\ud800 a lone surrogate",
    ],
)
def test_no_text_of_a_section_breaks_the_structure(hostile: str) -> None:
    text = compose("shop", {**FULL, "Technical Stack": hostile})
    assert check(text) == []
    found = parse(text)
    assert {title: found[title] for title in SECTIONS if title != "Technical Stack"} == {
        title: FULL[title] for title in SECTIONS if title != "Technical Stack"
    }
    assert "```" not in text
    assert "<!--" not in text
    assert "<script" not in text


def test_a_name_is_one_plain_line() -> None:
    text = compose("## evil\n## Overview\u202e`x`" + "y" * 500, FULL)
    assert check(text) == []
    assert text.splitlines()[0].startswith("# evil ## Overview\\u202e")
    assert len(text.splitlines()[0]) < 120
    assert compose(" ", FULL).startswith("# Project\n")


def test_the_check_names_what_is_wrong() -> None:
    whole = compose("shop", FULL)
    assert check("") == [f"the section `## {title}` is missing" for title in SECTIONS]
    assert check(whole.replace("## Purpose", "## Aim")) == ["the section `## Purpose` is missing"]
    assert check(whole.replace("Facts of Purpose.", "")) == ["the section `## Purpose` is empty"]
    assert "the section `## Purpose` comes twice" in check(whole + "\n## Purpose\nagain\n")
    assert check(whole + "x" * 4 * MAX_TOKENS) == [
        f"the brief has {count_tokens(whole) + MAX_TOKENS:,} tokens, and at most 1,200 are allowed"
    ]
    assert check(whole + "\u202e") == ["the brief holds control, bidirectional or invisible characters"]
    swapped = whole.replace("## Overview", "## x").replace("## Purpose", "## Overview").replace("## x", "## Purpose")
    assert check(swapped) == [f"the sections are out of order; the order is {', '.join(SECTIONS)}"]


def test_line_ends_of_windows_are_no_fault() -> None:
    text = compose("shop", FULL).replace("\n", "\r\n")
    assert check(text) == []
    assert parse(text) == FULL

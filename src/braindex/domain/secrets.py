"""Secrets in text that is to be remembered: whatever a hook or an agent hands over, keys and passwords stay out of it.

The shapes are those that the issuers document for their own scanners (prefix and length), and the two that every
language writes: a name that says what it holds with a value behind it, and a password inside an address.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

REDACTED: Final = "[redacted]"

_PREFIXED: Final = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
    sk-[A-Za-z0-9_-]{16,}                                   # OpenAI, Anthropic, DeepSeek and who followed them
    | [rsp]k_(?:live|test)_[A-Za-z0-9]{16,}                 # Stripe
    | gh[opusr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
    | glpat-[A-Za-z0-9_-]{16,} | gl[a-z]{2,5}t-[A-Za-z0-9_-]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}
    | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,} | GOCSPX-[A-Za-z0-9_-]{20,}
    | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{40,} | rubygems_[a-f0-9]{40,}
    | hf_[A-Za-z0-9]{30,} | dop_v1_[a-f0-9]{60,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | key-[a-f0-9]{32} | shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32} | hv[sbr]\.[A-Za-z0-9_-]{20,}
    | AGE-SECRET-KEY-1[A-Z0-9]{50,} | \d{8,10}:AA[A-Za-z0-9_-]{30,}
    | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?   # a JSON web token
    )""",
    re.VERBOSE,
)
# From the marker to its end, or as far as the key's own letters go where the end was cut off.
_PRIVATE_KEY: Final = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:(?:(?!-----)[\s\S]){0,20000}?-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}|[A-Za-z0-9+/=\s\\:,-]{0,20000})"
)
_URL_PASSWORD: Final = re.compile(
    r"(?P<before>\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@'\"]{0,200}:)[^\s/@'\"]{1,200}(?=@)", re.IGNORECASE
)
_NAME: Final = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|auth[_-]?key"
    r"|private[_-]?key|client[_-]?secret|credentials?|encryption[_-]?key|signing[_-]?key|session[_-]?key|cookie)"
)
# `DB_PASSWORD=…`, `"apiKey": "…"`, `password: …`, `--token …`. A bare word behind a colon is prose as often as a value,
# so without quotes it has to look like one: eight characters, with a digit or a sign among them.
_ASSIGNED: Final = re.compile(
    rf"(?P<before>(?<![A-Za-z])(?:[A-Za-z0-9]{{1,40}}[_.-]){{0,6}}{_NAME}(?:[_-][A-Za-z0-9]{{1,20}}){{0,2}}[\"']?"
    r"\s{0,3}(?::=|=>|[=:]|\s)\s{0,3})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){4,2000})(?P=quote)"
    r"|(?P<bare>(?=[^\s,;\"'`]{0,100}[0-9!#$%^&*+/_~-])[^\s,;\"'`(){}\[\]<>]{8,2000}))",
    re.IGNORECASE,
)
# A variable of the environment, as shells, `.env` files and logs have it: any value counts.
_VARIABLE: Final = re.compile(
    r"(?P<before>(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,40}_){0,6}(?:PASSWORD|PASSWD|PASSPHRASE|PWD|SECRET|TOKEN|APIKEY|KEY)="
    r"[\"']?)(?P<bare>[^\s\"'$<{(][^\s\"']{2,2000})"
)
_CAMEL: Final = re.compile(
    r"(?P<before>\b[a-z][A-Za-z0-9]{0,40}(?:Password|Passwd|Secret|Token|ApiKey|AccessKey|PrivateKey)[\"']?\s{0,3}[=:]\s{0,3})"
    r"(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){4,2000})(?P=quote)"
)
# The value on the line below its name, as formatters put a long one, or cut off where the text was.
_CONTINUED: Final = re.compile(
    rf"(?P<before>(?<![A-Za-z])(?:[A-Za-z0-9]{{1,40}}[_.-]){{0,6}}{_NAME}(?:[_-][A-Za-z0-9]{{1,20}}){{0,2}}[\"']?"
    r"\s{0,3}[=:]\s{0,3}(?:[(\\]?[^\S\n]{0,3}\n[^\S\n]{0,80})?)"
    r"(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){4,2000})(?:(?P=quote)|\Z)",
    re.IGNORECASE,
)
_HEADER: Final = re.compile(
    r"(?P<before>\b(?:authorization|proxy-authorization|x-api-key|x-auth-token|set-cookie|cookie)\b[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?:bearer|basic|token|digest|negotiate)\s+)?)[^\s\"',;]{6,4000}",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"(?P<before>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{12,4000}")
# What stands where a secret would be, and is none: a variable, a call, a placeholder.
_HARMLESS: Final = re.compile(
    r"\$\{?\w|%\w+%|<[^>]{0,60}>$|\{\{|(?:os\.|process\.env|env\b|getenv|self\.|this\.|settings\.|config\.|None\b|null\b|true\b|false\b)"
    r"|x{4,}$|\*{3,}$|\.{3,}$|\[redacted\]"
)
# In source what stands beside such a name is a name as often: `token = parse_token(text)`, `type: "refresh_token"`.
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_SPOKEN: Final = re.compile(rf"(?=[A-Za-z_. -]*(?:{_NAME}|bearer|auth))[A-Za-z_. -]+|\{{[\w.]+\}}", re.IGNORECASE)

_Replace = Callable[[re.Match[str]], str]


def redacted(text: str) -> str:
    """The text with every key, token, password and private key in it replaced by `[redacted]`.

    Linear in the length of the text. What only looks like one goes too: a note reads as well without it.
    """
    return _without_values(_PRIVATE_KEY.sub(REDACTED, text), _assigned)


def redacted_lines(lines: Sequence[str]) -> list[str]:
    """Lines of source without their secrets, as many as there were and each in its place.

    As `redacted`, but names and calls stay where a value would be: source is to be understood by them.
    """
    text = _PRIVATE_KEY.sub(_emptied, "\n".join(lines))
    return _without_values(text, _assigned_in_source).split("\n") if lines else []


def redacted_source(text: str) -> str:
    """A text that holds source, as `redacted_lines` makes it."""
    return "\n".join(redacted_lines(text.split("\n")))


def _without_values(text: str, assigned: _Replace) -> str:
    text = _PREFIXED.sub(REDACTED, text)
    text = _URL_PASSWORD.sub(rf"\g<before>{REDACTED}", text)
    text = _HEADER.sub(assigned, text)
    text = _BEARER.sub(assigned, text)
    text = _VARIABLE.sub(_assigned, text)
    text = _CAMEL.sub(assigned, text)
    text = _CONTINUED.sub(assigned, text)
    return _ASSIGNED.sub(assigned, text)


def _emptied(match: re.Match[str]) -> str:
    return REDACTED + "\n" * match.group().count("\n")


def _assigned(match: re.Match[str]) -> str:
    parts = match.groupdict()
    value = parts.get("quoted") or parts.get("bare") or ""
    if value and _HARMLESS.match(value):
        return match.group()
    quote = parts.get("quote") or ""
    return f"{parts['before']}{quote}{REDACTED}{quote}"


def _assigned_in_source(match: re.Match[str]) -> str:
    """The same, but that a name, a call and what merely stands behind a word stay."""
    before, quoted = match["before"], match.groupdict().get("quoted")
    value = match.group()[len(before) :] if quoted is None else quoted
    has_digit = any(one.isdigit() for one in value)
    if not has_digit and not any(sign in before for sign in "=:"):  # "we pass `dispatch`", "Basic Authentication"
        return match.group()
    if quoted is not None:
        return match.group() if _SPOKEN.fullmatch(quoted) else _assigned(match)
    name = value.partition("(")[0]
    is_call = name != value or match.string[match.end() : match.end() + 1] in {"(", "["}
    is_name = _IDENTIFIER.fullmatch(name) is not None and (is_call or not has_digit)
    return match.group() if is_name else _assigned(match)

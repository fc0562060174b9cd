"""What a question asks for, told from its text alone. The type picks the ranking weights (docs/retrieval.md)."""

import itertools
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from braindex.domain.mentions import Mention, error_shown, is_trace, mentions
from braindex.domain.words import STOP_WORDS, content_words, stem, subwords, terms

QuestionType = Literal["symbol", "web", "how", "action", "phrase", "error"]

# Longer questions are cut before they are matched: 40 kB of pasted text is a question like any other, but no more
# than its first words decide what it is about.
MAX_CHARACTERS: Final = 4000
MAX_TERMS: Final = 64

_HOW: Final = frozenset("how what where when why which who does do is are can should".split())
_LANGUAGES: Final = frozenset(
    "python javascript js typescript ts java ruby go golang rust php html css markdown node nodejs bash c# c++".split()
)
_KIND_WORDS: Final = {
    "function": "function", "func": "function", "def": "function", "method": "method", "class": "class",
    "interface": "interface", "type": "type", "enum": "enum", "namespace": "namespace", "variable": "variable",
    "constant": "constant", "property": "property", "getter": "getter", "setter": "setter", "hook": "function",
    "component": "function", "rule": "rule", "selector": "rule", "heading": "heading", "section": "heading",
    "element": "element", "tag": "element", "keyframes": "keyframes", "animation": "keyframes",
    "constructor": "constructor", "struct": "class", "dataclass": "class", "decorator": "function",
    "attribute": "property", "alias": "type", "at-rule": "at-rule", "mixin": "class", "fixture": "function",
}  # fmt: skip
# Verbs that docstrings begin with. Their -s form counts too.
_VERBS: Final = frozenset(
    "accept access add adjust align allow announce append apply assert assign attach attempt authenticate begin bind "
    "build cache calculate call cancel cast check choose clean clear clone close coerce collect combine compare "
    "compile compute configure connect construct consume contain convert copy count create deal decide declare "
    "decode decorate define delete deserialize destroy detach detect determine disable discard discover dispatch "
    "display do draw drop dump echo embed emit enable encode enqueue ensure enter enumerate escape evaluate exclude "
    "execute exit expand export extend extract fail fetch fill filter finalize find finish fire fix flatten flush "
    "force format forward freeze generate get give grab group guess handle hash hide highlight hook ignore implement "
    "import include increment indicate infer inherit init initialize inject insert inspect install instantiate "
    "interpolate invoke issue iterate join keep launch let limit link list listen load locate lock log look loop "
    "make map mark match measure merge migrate modify move multiply navigate negate normalize notify obtain open "
    "order output override overwrite pad parse pass patch perform permit persist pop populate prepare prepend "
    "prettify pretty print process produce prompt provide publish pull push put query queue quote raise read rebuild "
    "receive record redirect reduce refresh register release reload remove rename render repeat replace reply report "
    "request require reset resolve restore retrieve retry return reverse rewrite roll rotate round run sanitize save "
    "scale scan schedule search select send serialize serve set setup show shut shutdown skip sort specify split "
    "start stop store strip submit subscribe substitute swap switch sync synchronize take tell terminate test throw "
    "toggle track transfer transform translate traverse trigger trim truncate try turn unescape unpack unregister "
    "unwrap update upgrade upload use validate verify visit wait walk warn wrap write yield".split()
)
# Nouns for what is a function, by which a sentence without a verb at its start may tell of one. The others do so only
# after an article: `a validator that …`, but `hooks that run before loading` is a topic.
_FUNCTION_NOUN: Final = r"(function|method|decorator|context manager|helper|shortcut|coroutine|callback|wrapper)"
_OTHER_NOUN: Final = r"(validator|converter|getter|setter|hook|utility|factory|handler|predicate|generator)"
# "Represents a …", "The base class …": descriptions of classes, which the weights for actions would bury.
_DESCRIPTION: Final = re.compile(
    rf"^(represents?|describes?|base|abstract|mixin)\b|^(an?|the)\b(?!.*\b({_FUNCTION_NOUN}|{_OTHER_NOUN})\b)",
    re.IGNORECASE,
)
# Sentences about a function that do not begin with its verb: "Context manager that …", "Given a name, returns …",
# "True if …", "Like x() but …", "Called when …".
_FUNCTION_SENTENCE: Final = re.compile(
    rf"^(an?\s+|the\s+)?(\w+[\s-]){{0,3}}{_FUNCTION_NOUN}\b.*\b(that|to|for|which|of)\b"
    rf"|^an?\s+(\w+[\s-]){{0,3}}{_OTHER_NOUN}\b.*\b(that|to|for|which|of)\b"
    r"|^(this|the)\s+(\w+\s+)?(function|method|helper|decorator|command|hook)\b"
    r"|^given\s+(an?|the|two|some|any)\b|^(true|false|whether|none)\s+(if|when)\b"
    r"|^\w{2,}ed\s+(by|to|when|before|after|once|as|from|if|during)\b"
    r"|^(like|same as)\s+\S.*\b(but|except|with)\b",
    re.IGNORECASE,
)
# "Unwind the …", "Interpolate an …": a first word before an article is a verb, unless it is one of these.
_BEFORE_ARTICLE: Final = re.compile(
    r"^(?P<first>[a-z]+)\s+(the|an?|all|each|any|this|its|given|specified|every|whether)\b"
)
# Verbs that as often are nouns of a topic ("request and response internals"): they need an article after them.
_NOUNS: Final = frozenset(
    "cache decorator hook issue link list log map output query range record request schedule store stream string test "
    "track type view".split()
)
_NO_VERB: Final = frozenset(
    "in on at of for from to with without by as into over under about after before during between and or but if when "
    "while where what which who whose how why that this these those is are was were be not no all both only also than "
    "then so such via per like unlike represents base inside outside within against".split()
)
# These three see text whose white space is folded: one space between words, none around them.
_DEFINED: Final = re.compile(
    r"^where(?:'s| is| are| was)? (?:the )?(?P<rest>.+?) "
    r"(?:is |are )?(?:defined|declared|implemented|located|defined at|written|found) ?\??$",
    re.IGNORECASE,
)
_WHERE_IS: Final = re.compile(r"^where(?:'s| is| are) (?:the )?(?P<rest>.+?) ?\??$", re.IGNORECASE)
_DEFINITION_OF: Final = re.compile(
    r"^(?:find |show(?: me)? |go to |locate )?(?:the )?(?:definition|declaration|implementation|source)"
    r" (?:of|for) (?:the )?(?P<rest>.+?) ?\??$",
    re.IGNORECASE,
)
_QUOTES: Final = "`'\"“”‘’"
# A path by itself asks for its file; one with a line is no name but a place in it.
_PATH: Final = re.compile(
    r"(?:[^\s/\\]*+[/\\])++[^\s/\\:#]+\.[A-Za-z]\w{0,7}|(?:[^\s/\\]*+[/\\])*+[^\s/\\:#]+\.[A-Za-z]\w{0,7}(?::|#L)\d[\d:,L-]*+"
)
_PLACE: Final = re.compile(r"(?::|#L)\d")
# "which CSS rule hides …", "what classes represent …": among the first words, the kind of thing that is asked for.
_ASKS_KIND: Final = frozenset("which what find show list".split())
_KIND_WITHIN: Final = 3
_ACRONYM_WORDS: Final = range(3, 6)
_ACRONYM_WITHIN: Final = 8  # words; each run costs a look into the index
# Signs that make a word an identifier rather than English: camelCase, snake_case, dots, digits inside, sigils. Each
# looks for the first of its signs and gives nothing back: a pasted word may have thousands of letters.
_CODE_LIKE: Final = re.compile(
    r"^(?=.*[A-Za-z])(?:[a-z]++[A-Z]\w*+|[A-Z][^\Wa-z]*+[a-z][^\WA-Z]*+[A-Z]\w*+|[^\W_]*+_\w++|\w++(?:\.\w++)++|\w++\(\)"
    r"|[A-Z]{2}[^\W\d]*+\d\w*+)$"
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question, understood.

    `name` is the symbol that a symbol question asks for, else "". `kind_hint` is the kind it names, else "".
    `whole` is the question as asked, white space folded; `text` what of it is searched for and embedded. `words` are
    its lower-case sub-words without stop words; `terms` the index terms of the same, distinct, in order;
    `identifiers` the code-like words as written; `mentions` the places in files that it names, a trace's innermost
    frame first; `message` what an error says, without its class; `acronyms` the initials of its runs of words.
    """

    type: QuestionType
    text: str
    whole: str
    words: tuple[str, ...]
    terms: tuple[str, ...]
    name: str = ""
    kind_hint: str = ""
    identifiers: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    message: str = ""
    acronyms: tuple[str, ...] = ()


def _unquote(word: str) -> str:
    return word.strip(_QUOTES).rstrip("?,;!").strip(_QUOTES)


def _split_kind(rest: str) -> tuple[str, str]:
    """`the X function` → (X, function); `class X` → (X, class); a lone name → (name, "")."""
    parts = _without_lead(rest.split())
    if len(parts) >= 2 and parts[-1].lower() in _KIND_WORDS:
        return " ".join(parts[:-1]), _KIND_WORDS[parts[-1].lower()]
    if len(parts) >= 2 and parts[0].lower() in _KIND_WORDS:
        return " ".join(_without_lead(parts[1:])), _KIND_WORDS[parts[0].lower()]
    return " ".join(parts), ""


def _without_lead(parts: list[str]) -> list[str]:
    """Words without the articles and the `called` they begin with; those inside belong to a name."""
    lead = itertools.takewhile(lambda part: part.lower() in {"the", "a", "an", "called", "named"}, parts)
    return parts[len(list(lead)) :]


def _looks_like_name(text: str) -> bool:
    """One word; or a CSS selector or an at-rule, which may hold spaces."""
    text = text.strip()
    return bool(text) and (len(text.split()) == 1 or (text[0] in ".#@:[*" and len(text) < 120))


def _symbol(text: str) -> tuple[str, str] | None:
    """The name and kind that a symbol question asks for, or None when the question is not one."""
    for pattern in (_DEFINED, _DEFINITION_OF, _WHERE_IS):
        match = pattern.match(text)
        if match:
            name, kind = _split_kind(match["rest"])
            if pattern is _WHERE_IS and not kind and not is_code_like(_unquote(name)):
                continue
            # What is said to be defined somewhere is a name however many words it has: a heading, a selector.
            if _looks_like_name(_unquote(name)) or pattern is _DEFINED or text.count("`") == 2:
                return _unquote(name), kind
            if kind in {"heading", "rule", "element", "keyframes", "at-rule"}:
                return _unquote(name), kind
    name, kind = _split_kind(text.strip().rstrip("?"))
    if _PATH.fullmatch(_unquote(name)):
        return ("", kind) if not _PLACE.search(name) else None
    if _looks_like_name(name) and (kind or len(text.split()) == 1 or text.strip()[0] in ".#@"):
        return _unquote(name), kind
    return None


def is_code_like(word: str) -> bool:
    """Whether a word is an identifier rather than English: camelCase, snake_case, dotted, called, or with a sigil."""
    return bool(_CODE_LIKE.match(word)) or (len(word) > 1 and word[0] in "#.@$_" and word[1:2].isalpha())


def _is_web(words: list[str]) -> bool:
    if len(words) < 2:
        return False
    if words[0] in _LANGUAGES or words[-1] in _LANGUAGES:
        return True
    return any(a in {"in", "with", "using"} and b in _LANGUAGES for a, b in itertools.pairwise(words))


def _is_action(text: str, first: str) -> bool:
    """Whether a sentence tells what a function does, as docstrings do."""
    if _DESCRIPTION.match(text):
        return False
    if _FUNCTION_SENTENCE.match(text):
        return True
    match = _BEFORE_ARTICLE.match(text.lower())
    if match and match["first"] not in _NO_VERB and not match["first"].endswith("ing"):
        return True
    forms = _base_forms(first)
    return bool(forms & _VERBS) and not forms & _NOUNS


def _base_forms(word: str) -> set[str]:
    """What a third-person verb may be a form of: returns → return, copies → copy, re-reads → read."""
    word = word.removeprefix("re-")
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return forms


def _type_of(text: str) -> QuestionType:
    words = [word.strip(_QUOTES + "?.,;:!()") for word in text.lower().split()]
    words = [word for word in words if word]
    if not words:
        return "phrase"
    if _is_web(words):
        return "web"
    if words[0] in _HOW:
        return "how"
    adverb = words[0].endswith("ly") and not _base_forms(words[0]) & _VERBS
    verb = words[1] if adverb and len(words) > 1 else words[0]
    return "action" if len(words) > 2 and _is_action(text, verb) else "phrase"


def _web_text(text: str) -> str:
    """A web question without its language words and its `how to`, which match everything and nothing."""
    kept = [word for word in text.split() if word.lower().strip(_QUOTES + "?.,;:!") not in _LANGUAGES]
    return re.sub(r"\bhow to\b", " ", " ".join(kept), flags=re.IGNORECASE).strip() or text


def _asked_kind(text: str) -> str:
    """The kind of thing that a sentence asks for, as in "which CSS rule …", else ""."""
    first, *rest = text.lower().split()[: _KIND_WITHIN + 1] or [""]
    if first not in _ASKS_KIND:
        return ""
    singular = (form for word in rest for form in (word, word.removesuffix("s"), word.removesuffix("es")))
    return next((_KIND_WORDS[form] for form in singular if form in _KIND_WORDS), "")


def analyse(question: str) -> Analysis:
    """Understands a question of any text. Never raises: quotes, operators and 40 kB of text are questions too."""
    text = " ".join(question[:MAX_CHARACTERS].split())
    asked = Analysis(type="phrase", text=text, whole=text, words=(), terms=(), mentions=mentions(question))
    error, message = error_shown(question)
    if message or is_trace(question):
        searched = f"{error} {message}".strip() or text
        return _with_words(replace(asked, type="error", text=searched, message=message))
    symbol = _symbol(text) if len(text) <= 200 else None
    if symbol:
        name, kind = symbol
        return _with_words(replace(asked, type="symbol", text=name or text, name=name, kind_hint=kind))
    found = _type_of(text)
    searched = _web_text(text) if found == "web" else text
    return _with_words(replace(asked, type=found, text=searched, kind_hint=_asked_kind(text)))


def _with_words(asked: Analysis) -> Analysis:
    """With what follows from the text that is searched for."""
    words = dict.fromkeys(content_words(subwords(asked.text)))
    code_like = (_unquote(word.strip("().,;:!?")) for word in (() if asked.name else asked.text.split()))
    identifiers = dict.fromkeys(word for word in code_like if is_code_like(word))
    return replace(
        asked,
        words=tuple(words)[:MAX_TERMS],
        terms=_query_terms(asked.text),
        identifiers=tuple(identifiers)[:8],
        acronyms=_acronyms(asked.text) if asked.type in {"phrase", "how"} else (),
    )


def _acronyms(text: str) -> tuple[str, ...]:
    """What code may call a run of words for short: `static site generation` is `ssg`, `server-sent events` `sse`.

    Runs of three to five words, small words such as `of` passed over.
    """
    words = [word for word in subwords(text) if word.isalpha() and word not in STOP_WORDS][:_ACRONYM_WITHIN]
    runs = (words[start : start + size] for size in _ACRONYM_WORDS for start in range(len(words) - size + 1))
    return tuple(dict.fromkeys("".join(word[0] for word in run) for run in runs))


_STOP_TERMS: Final = frozenset(stem(word) for word in STOP_WORDS) | STOP_WORDS


MIN_PHRASE: Final = 4  # terms; shorter runs of words stand in many places


def phrase_terms(analysis: Analysis) -> tuple[str, ...]:
    """The terms of a question in order, stop words too, to look for it verbatim; () when it is too short for that."""
    found = tuple(terms(analysis.whole))
    return found if MIN_PHRASE <= len(found) <= MAX_TERMS else ()


def bare_name(name: str) -> str:
    """`c` of `a.b.c`, `A#c` and `A::c`."""
    return name.replace("#", ".").replace("::", ".").rsplit(".", 1)[-1].removesuffix("()")


def compound_terms(analysis: Analysis) -> tuple[str, ...]:
    """The symbol that a question asks for as the one term it is indexed by whole; () for a name of one word."""
    found = terms(analysis.name.rsplit(".", 1)[-1].rsplit("#", 1)[-1])
    return (found[-1],) if len(found) > 1 and " " not in analysis.name else ()


def _query_terms(text: str) -> tuple[str, ...]:
    every = list(dict.fromkeys(terms(text)))
    kept = [term for term in every if term not in _STOP_TERMS] or every
    return tuple(kept[:MAX_TERMS])

"""What the scripts for bash and zsh share: rows of their `case` statements, which find out what is being completed."""

from collections.abc import Callable, Iterable, Iterator

from braindex.cli.completion.tree import Place, Value

Proposal = Callable[[Value], str]  # the command that proposes a value


def at(place: Place) -> str:
    """How the scripts write a place: each of its words behind a space."""
    return "".join(f" {word}" for word in place.words)


def rows(texts: Iterable[str]) -> str:
    return "\n".join(f"      {text} ;;" for text in texts)


def walk(places: Iterable[Place]) -> Iterator[str]:
    """Which words lead to another place, and which options wait for a value."""
    for place in places:
        for child in place.children:
            yield f'"{at(child)}") at="{at(child)}"; count=0'
        takers = [flag for option in place.options if option.value for flag in option.flags]
        if takers:
            yield _either(place, takers) + ") waiting=$word"


def values(places: Iterable[Place], proposed: Proposal) -> Iterator[str]:
    """By the place and the option that waits."""
    for place in places:
        for option in place.options:
            if option.value and option.value.sort != "nothing":
                yield f"{_either(place, option.flags)}) {proposed(option.value)}"


def operands(places: Iterable[Place], proposed: Proposal, named: Callable[[tuple[Place, ...]], str]) -> Iterator[str]:
    """By the place and how many operands came before; `named` is the command that proposes commands."""
    for place in places:
        if place.children:
            yield f'"{at(place)} 0") {named(place.children)}'
            continue
        for number, operand in enumerate(place.operands):
            if operand.value.sort != "nothing":
                which = f'"{at(place)} "*' if operand.repeated else f'"{at(place)} {number}"'
                yield f"{which}) {proposed(operand.value)}"


def _either(place: Place, flags: Iterable[str]) -> str:
    return "|".join(f'"{at(place)} {flag}"' for flag in flags)

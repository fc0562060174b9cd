"""The sections of a brief that tell of the project: from its manifests, its README and its configuration."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from braindex.domain.tokens import count_tokens
from braindex.services.briefing.facts import Facts
from braindex.services.briefing.manifest import Command, Manifest
from braindex.services.briefing.prose import Passage, is_unreleased, topics
from braindex.services.briefing.quoting import code, counted, joined, listed, place, quote

_KINDS: Final = {  # entity kinds worth a count, with their plural
    "function": "functions", "method": "methods", "class": "classes", "interface": "interfaces", "type": "types",
    "enum": "enums", "rule": "CSS rules", "element": "HTML elements", "heading": "headings",
}  # fmt: skip
_WORDS: Final = 240  # characters of a quotation
_MOST_DEPENDENCIES: Final = 12
_PRE_RELEASE: Final = re.compile(r"^0\.|(?:a|b|rc|alpha|beta|dev|pre|next|canary)[.-]?\d*$")
_COMMANDS: Final = 4  # that are told with what they run
_FURTHER: Final = {"Python": "Optional and development dependencies"}  # extras are either
_TELLING: Final = 10  # bytes of a comment that says something
_SMALL: Final = 30  # tokens of quoted prose that are enough


def overview(facts: Facts) -> list[str]:
    """What it is, how large it is and where what lies."""
    lines = []
    own = _main(facts)
    if own is not None:
        lines.append(_identity(own))
    described = own is not None and own.description
    if facts.readme is not None and facts.readme.paragraphs and not described:
        lines.append(_said(facts.readme.paragraphs[0]))
    lines += _packages(facts)
    lines += _size(facts)
    lines += _layout(facts)
    return lines


def _main(facts: Facts) -> Manifest | None:
    """The manifest that names the project: the first at the root with a name and, if any has, a description."""
    main = [one for one in facts.manifests.packages if facts.main_package and one.folder == facts.main_package]
    named = [one for one in (*main, *facts.manifests.own) if one.name]
    return next((one for one in named if one.description), named[0] if named else None)


def _identity(own: Manifest) -> str:
    text = f"{code(own.name)} ({place(own.path, own.name_line)})"
    if own.description:
        text += f": {quote(own.description, _WORDS)}"
    told = [
        f"version {code(own.version, 40)}" if own.version else "",
        f"licence {code(own.licence, 40)}" if own.licence else "",
    ]
    tail = ", ".join(one for one in told if one)
    return f"{text}{' ' if text.endswith(chr(34)) else ': '}{tail[0].upper()}{tail[1:]}." if tail else text


def _size(facts: Facts) -> Iterator[str]:
    totals = facts.totals
    if not totals.files:
        return
    least = max(1, totals.entities // 50)
    kinds = [f"{totals.kinds[kind]:,} {many}" for kind, many in _KINDS.items() if totals.kinds.get(kind, 0) > least]
    files = counted(totals.files, "indexed file")
    yield f"Size: {files}, {counted(totals.entities, 'entity', 'entities')}" + (
        f" ({', '.join(kinds)})." if kinds else "."
    )


def _layout(facts: Facts) -> Iterator[str]:
    if facts.folders:
        shown = [f"{place(name + '/')} {count:,}" for name, count in facts.folders]
        yield f"Files by top folder: {listed(shown, 8)}."


def _packages(facts: Facts) -> Iterator[str]:
    packages = [one for one in facts.manifests.packages if one.name]
    if packages:
        shown = [f"{code(one.name)} ({place(one.folder + '/')})" for one in packages]
        where = {one.folder.rpartition("/")[0] for one in packages}
        if len(packages) > 8:
            homes = joined([place(one + "/") for one in sorted(where)[:4] if one])
            total = f"{facts.manifests.total:,} packages below the root, each with a manifest"
            yield f"{total}, in {homes}: {listed(shown, 6)}."
        else:
            yield f"{counted(len(packages), 'package')} below the root, each with a manifest: {listed(shown, 8)}."


def technical_stack(facts: Facts) -> list[str]:
    lines = []
    if facts.languages:
        shown = [f"{language} {count:,}" for language, count in facts.languages]
        lines.append(f"Files of code by language: {listed(shown, 8)}.")
    lines += _stack(facts)
    lines += _shared_dependencies(facts)
    if facts.tooling.containers:
        lines.append(f"Containers: {listed([place(one) for one in facts.tooling.containers], 4)}.")
    return lines


def _stack(facts: Facts) -> Iterator[str]:
    """Of each manifest what those before it have not said."""
    seen: set[str] = set()
    silent: list[str] = []
    for one in facts.manifests.own:
        told = [
            code(one.requires, 60) if one.requires else "",
            f"built with {code(one.builds, 60)}" if one.builds else "",
        ]
        said = ", ".join(part for part in told if part)
        lines = [f"{one.kind} ({place(one.path)}): {said}."] if said else []
        for what, names in (
            ("Dependencies", one.dependencies),
            (_FURTHER.get(one.kind, "Development dependencies"), one.dev_dependencies),
        ):
            new = [name for name in names if name.lower() not in seen]
            seen.update(name.lower() for name in new)
            if new:
                lines.append(f"{what} ({place(one.path)}): {listed(map(code, new), _MOST_DEPENDENCIES)}.")
        yield from lines
        if not lines:
            silent.append(f"{place(one.path)} ({one.kind})")
    if silent:
        yield f"Also {listed(silent, 4)}."


def _shared_dependencies(facts: Facts) -> Iterator[str]:
    """What the packages of a monorepo ask for, the most shared first; their own names are none."""
    own = {one.name for one in facts.manifests.every}
    counts: dict[str, int] = {}
    for one in facts.manifests.packages:
        for name in dict.fromkeys(one.dependencies):
            if name not in own:
                counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if ranked:
        shown = [f"{code(name)} ({count:,})" for name, count in ranked]
        yield f"Dependencies of the packages, with how many ask for each: {listed(shown, 10)}."


def purpose(facts: Facts) -> list[str]:
    """The README's own words, as far as the overview has not quoted them, and what it is about."""
    lines: list[str] = []
    readme = facts.readme
    if readme is not None:
        own = _main(facts)
        paragraphs = list(readme.paragraphs if own is not None and own.description else readme.paragraphs[1:])
        spent = 0
        for one in paragraphs[:3]:
            if own is not None and one.text.strip(" .") == own.description.strip(" ."):
                continue
            if spent > _SMALL * 2:
                break
            lines.append(_said(one))
            spent += count_tokens(lines[-1])
        heads = topics(readme)
        if len(heads) > 1:
            shown = [f"{quote(text, 60)} ({line})" for text, line in heads]
            lines.append(f"Headings of {place(readme.path)}, with their lines: {listed(shown, 8)}.")
    words = dict.fromkeys(word for one in facts.manifests.own for word in one.keywords)
    if words:
        lines.append(f"Keywords of its manifest: {listed(map(code, words), 10)}.")
    lines += _offered(facts)
    return lines


def _offered(facts: Facts) -> Iterator[str]:
    described = [one for one in facts.manifests.packages if one.name and one.description]
    if described:
        shown = [f"{code(one.name)} {quote(one.description, 90)}" for one in described]
        yield f"Packages, as their manifests describe them: {listed(shown, 4, total=len(shown))}."


def _said(one: Passage) -> str:
    return f"{place(one.path, one.line)} says: {quote(one.text, _WORDS)}"


def development(facts: Facts) -> list[str]:
    tooling = facts.tooling
    first = [one for one in tooling.commands if one.text][:_COMMANDS]
    lines = [_command(one) for one in first]
    lines += [f"{place(one.path, one.line)} shows {code(one.text, 80)}." for one in tooling.shown[: 0 if first else 3]]
    lines += _tests(facts)
    if tooling.checks:
        shown = [
            f"{name} ({place(path)}{': ' + code(told, 60) if told else ''})" for name, path, told in tooling.checks
        ]
        lines.append(f"Configured checks: {listed(shown, 8)}.")
    for path, runs in tooling.ci[:2]:
        told = f": {listed([code(one, 70) for one in runs], 3)}" if runs else ""
        lines.append(f"CI {place(path)}{told}.")
    if len(tooling.ci) > 2:
        lines.append(f"More CI: {listed([place(path) for path, _ in tooling.ci[2:]], 5)}.")
    others = [code(one.name, 40) for one in tooling.commands if one not in first]
    if others:
        at = len(lines) if first else 0
        lines.insert(at, f"{'More commands' if first else 'Commands'}: {listed(others, 6)}.")
    return lines


def _command(one: Command) -> str:
    runs = f" runs {code(one.text, 80)}" if one.text else ""
    return f"{code(one.name, 50)}{runs} ({place(one.path, one.line)})."


def _tests(facts: Facts) -> list[str]:
    tooling = facts.tooling
    lines = []
    if tooling.tests:
        folders = [f"{place(name + '/') if name else 'the root'} {count:,}" for name, count in tooling.test_folders]
        named = f", {tooling.naming}" if tooling.naming else ""
        lines.append(f"{counted(tooling.tests, 'test file')}{named}, by folder: {listed(folders, 5)}.")
    if tooling.frameworks:
        shown = [f"{code(name)}" for name, _ in tooling.frameworks]
        lines.append(f"Test tools asked for in {place(tooling.frameworks[0][1])}: {listed(shown, 8)}.")
    lines += [f"pytest is set up in {place(path)}: {code(told)}." for path, told in tooling.test_settings]
    return lines


def roadmap(facts: Facts) -> list[str]:
    lines = [f"{_planned(one)}" for one in facts.planned[:6]]
    release = facts.release
    if release is not None:
        what = "not released yet" if is_unreleased(release.text) else "newest entry"
        lines.append(f"Changelog, {what}: {quote(release.text, 60)} ({place(release.path, release.line)}).")
        lines += [_planned(one) for one in facts.release_items[:4]] if is_unreleased(release.text) else []
    lines += _status(facts)
    lines += _todos(facts)
    return lines


def _status(facts: Facts) -> Iterator[str]:
    own = _main(facts)
    if own is not None and _PRE_RELEASE.search(own.version):
        yield f"Version {code(own.version, 40)} ({place(own.path)}) is a pre-release by its number."
    if own is not None and own.status:
        yield f"{place(own.path)} gives its status as {quote(own.status, 60)}."
    counts = sorted(facts.deprecations, key=lambda one: (-one[1], one[0]))
    if counts:
        total = sum(count for _, count in counts)
        yield f"Deprecations marked in the code: {counted(total, 'line')}{_homes(counts)}."


def _homes(counts: Sequence[tuple[str, int]]) -> str:
    """Where something is, by file: the one, or the first three."""
    if len(counts) == 1:
        return f" in {place(counts[0][0])}"
    return f", most in {listed([f'{place(path)} {count:,}' for path, count in counts], 3)}"


def _planned(one: Passage) -> str:
    return f"- {quote(one.text, 110)} ({place(one.path, one.line)})"


def _todos(facts: Facts) -> Iterator[str]:
    found = facts.todos
    if not found:
        return
    homes: dict[str, int] = {}
    for one in found:
        homes[one.path] = homes.get(one.path, 0) + 1
    most = sorted(homes.items(), key=lambda row: (-row[1], row[0]))
    yield f"{counted(len(found), 'TODO, FIXME or XXX comment')}{_homes(most)}."
    telling = sorted(
        (one for one in found if len(one.text.encode()) > _TELLING),
        key=lambda one: (one.tag != "FIXME", one.path, one.line),
    )
    yield from (f"- {one.tag} {quote(one.text, 90)} ({place(one.path, one.line)})" for one in telling[:5])

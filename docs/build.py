"""Builds the documentation site and checks it.

    pip install -e '.[docs]'
    python docs/build.py [FOLDER]        # build/site without one

Any warning of the builder fails (a link or an anchor that leads nowhere, a page that no other leads to), and so does a
page that would fetch a script, a style, a font or a picture from elsewhere when it is looked at.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
DEFAULT: Final = HERE.parent / "build" / "site"
# What a browser loads by itself. A link to follow (`a`) is none of it, nor is `link rel="canonical"` and the like.
_LOADING: Final = {
    "script": ("src",), "img": ("src", "srcset"), "source": ("src", "srcset"), "iframe": ("src",), "audio": ("src",),
    "video": ("src", "poster"), "embed": ("src",), "object": ("data",), "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"), "input": ("src",), "track": ("src",),
}  # fmt: skip
_LOADING_LINKS: Final = frozenset(
    "stylesheet icon preload prefetch preconnect dns-prefetch modulepreload manifest apple-touch-icon".split()
)
_ELSEWHERE: Final = re.compile(r"(?:^|[\s,])(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_STYLE: Final = re.compile(r"(?:@import\s+|url\(\s*)['\"]?((?:[a-z][a-z0-9+.-]*:)?//[^'\")\s]+)", re.IGNORECASE)


class _Loaded(HTMLParser):
    """Collects the addresses on other servers that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        names = _LOADING.get(tag, ())
        if tag == "link" and _LOADING_LINKS & set(given.get("rel", "").lower().split()):
            names = ("href",)
        self.found += [given[name] for name in names if _ELSEWHERE.search(given.get(name, ""))]
        self.found += _STYLE.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += _STYLE.findall(data)


def loaded_from_elsewhere(name: str, text: str) -> list[str]:
    """The addresses on other servers that a page or a style sheet loads when it is looked at."""
    if name.endswith((".css", ".svg")):
        found = _STYLE.findall(text)
        if name.endswith(".css"):
            return found
    else:
        found = []
    page = _Loaded()
    page.feed(text)
    return found + page.found


def check(site: Path) -> Iterator[str]:
    """What is wrong with a site that was built, one line each."""
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css", ".svg"}:
            for address in loaded_from_elsewhere(path.name, path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(site)} loads {address}"


def main(folder: Path) -> int:
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--nitpicky"]
    done = subprocess.run([*command, "--fresh-env", "--quiet", str(HERE), str(folder)], check=False)
    if done.returncode:
        return done.returncode
    wrong = list(check(folder))
    pages = len(list(folder.glob("*.html")))
    print(
        "\n".join(wrong)
        or f"{pages} pages in {folder}: every link leads somewhere, and nothing is loaded from elsewhere"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else DEFAULT))

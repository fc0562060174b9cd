"""What `python docs/build.py` looks for in a site: whatever a browser would load from another server."""

import pytest
from docs.build import check, loaded_from_elsewhere


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://cdn.example/x.js"></script>'),
        ("a.html", '<script src="//cdn.example/x.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="HTTPS://fonts.example/css">'),
        ("a.html", '<link rel="preconnect" href="https://fonts.example">'),
        ("a.html", '<img src="https://badges.example/a.svg">'),
        ("a.html", '<img src="a.png" srcset="a.png 1x, https://cdn.example/b.png 2x">'),
        ("a.html", '<iframe src="https://video.example"></iframe>'),
        ("a.html", "<style>@import url('https://fonts.example/a.css');</style>"),
        ("a.html", '<p style="background: url(//cdn.example/a.png)">x</p>'),
        ("a.css", "@font-face { src: url(https://fonts.example/a.woff2) }"),
        ("a.css", '@import "https://fonts.example/a.css";'),
        ("a.svg", '<svg><image href="https://cdn.example/a.png"/></svg>'),
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(name, text):
    assert len(loaded_from_elsewhere(name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<a href="https://example.com">a link to follow</a>'),
        ("a.html", '<link rel="canonical" href="https://example.com/a.html">'),
        ("a.html", '<script src="_static/x.js"></script><img src="data:image/png;base64,AA//BB==">'),
        ("a.html", "<p>url(https://example.com) in prose</p>"),
        ("a.css", "a { background: url(data:image/svg+xml;base64,AA) } /* https://example.com */"),
        ("a.svg", '<svg xmlns="http://www.w3.org/2000/svg"><use href="#a"/></svg>'),
    ],
)
def test_what_is_not_loaded_or_lies_beside_the_page_is_not(name, text):
    assert loaded_from_elsewhere(name, text) == []


def test_a_site_is_looked_through_to_its_last_folder(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "index.html").write_text("<p>well</p>")
    (tmp_path / "_static" / "a.css").write_text("a { src: url(https://fonts.example/a) }")
    assert list(check(tmp_path)) == ["_static/a.css loads https://fonts.example/a"]

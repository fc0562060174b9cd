from braindex.cli.layout import answer_lines, entity_line, left_out_lines, scan_lines, status_lines, workspace_lines
from braindex.cli.output import Style
from braindex.domain.entities import CodeEntity
from braindex.domain.results import Answer, ScanStatus, ScanSummary, Skipped, Source, Workspace, WorkspaceInfo

PLAIN = Style(enabled=False)
SHOP = Workspace("0123456789ab", "shop", "/code/shop")


def source(**changes: object) -> Source:
    fields = {
        "id": "e1",
        "name": "load",
        "kind": "function",
        "language": "python",
        "path": "src/app.py",
        "line": 4,
        "end_line": 9,
        "signature": "def load(path: str) -> bytes",
        "doc": "Reads a file.\n\nMore about it.",
        "excerpt": "    with open(path) as file:\n        return file.read()",
        "distance": 0.7234,
        "score": 1.0,
    }
    return Source(**{**fields, **changes})  # type: ignore[arg-type]


def answered(*sources: Source, answer: str | None = None, reason: str = "sources only", coverage: str = "") -> str:
    found = Answer(SHOP, "q", "none", reason, answer, sources, coverage)
    return "\n".join(answer_lines(found, PLAIN))


def test_a_source_shows_citation_signature_first_line_of_its_description_and_excerpt():
    assert answered(source()) == (
        " 1  `load` #src/app.py:4 (0.72)\n"
        "    def load(path: str) -> bytes\n"
        "    Reads a file.\n"
        "    │     with open(path) as file:\n"
        "    │         return file.read()\n"
        "\n"
        "shop (/code/shop) · sources only"
    )


def test_a_written_answer_comes_before_its_sources():
    text = answered(source(), answer="It reads.")
    assert text.startswith("It reads.\n\n 1  `load`")


def test_a_stale_source_and_a_partial_index_are_marked():
    text = answered(source(stale=True), coverage="3 of 9 files are searched")
    assert "(0.72) (changed since it was indexed)" in text
    assert text.endswith("sources only · 3 of 9 files are searched")


def test_nothing_found_says_why():
    assert answered(reason="nothing relevant was found") == (
        "Nothing found: nothing relevant was found\nshop (/code/shop)"
    )


def test_what_files_hold_cannot_move_the_cursor_or_turn_the_text_around():
    text = answered(source(name="a\u202eb", excerpt="x\x1b[2J", signature="s\u200b", doc="d\x07"))
    assert not {"\u202e", "\x1b", "\u200b", "\x07"} & set(text)
    assert "\\x1b[2J" in text


def test_a_scan_counts_its_work_and_lists_what_it_skipped():
    skipped = tuple(Skipped(f"f{number}.bin", "binary") for number in range(12))
    lines = scan_lines(SHOP, ScanSummary("w", 1, 1, 1, 0, 0, skipped, 0.26, notes=("note\nwell",)))
    assert lines[:3] == [
        "shop: 1 file, 1 entity (1 added, 0 changed, 0 removed) in 0.3 s",
        "note well",
        "skipped 12:",
    ]
    assert lines[3] == "  f0.bin: binary"
    assert lines[-1] == "  and 2 more (--json lists them all)"


def test_a_status_leaves_out_what_there_is_not():
    lines = status_lines(ScanStatus(SHOP, "never", 0, 0, complete=False))
    assert "state       never scanned" in lines
    assert not any(line.startswith(("last error", "part of", "scan ")) for line in lines)


def test_a_status_tallies_kinds_by_number():
    lines = status_lines(ScanStatus(SHOP, "complete", 3, 9, complete=True, kinds={"class": 2, "method": 7}))
    assert "kinds       method 7, class 2" in lines


def test_known_workspaces_stand_in_columns():
    other = Workspace("ba9876543210", "a longer name", "/code/b")
    lines = workspace_lines(
        [
            WorkspaceInfo(SHOP, 3, 1200, None, exists=True),
            WorkspaceInfo(other, 1, 2, "2026-01-01T00:00:00+00:00", exists=False),
        ]
    )
    places = [line.index(path) for line, path in zip(lines, ("PATH", "/code/shop", "/code/b"), strict=True)]
    assert len(set(places)) == 1
    assert lines[2].endswith("/code/b  (missing)")
    assert "1,200" in lines[1]


def test_an_entity_is_one_clickable_line():
    entity = CodeEntity("a.py", "method", "run", "App.run", "App", "python", 7, 9, "def run(self)")
    assert entity_line(entity) == "a.py:7  method  def run(self)"


def test_of_what_a_listing_leaves_out_the_first_are_named_and_the_rest_counted():
    lines = left_out_lines([Skipped(f"{number}.py", "it\nis broken") for number in range(1_030)])
    assert (lines[0], lines[1], lines[-1]) == ("left out 1,030:", "  0.py: it is broken", "  and 1,010 more")
    assert len(lines) == 22

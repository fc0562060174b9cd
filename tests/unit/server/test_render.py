from braindex.domain.relations import Link, Related, Relatives
from braindex.domain.results import Answer, ScanProgress, ScanStatus, Skipped, Workspace, WorkspaceInfo
from braindex.server.render import answer_text, status_text, workspaces_text

WORKSPACE = Workspace("0123456789ab", "shop", "/code/shop")


def test_a_workspace_that_was_never_scanned_says_what_starts_its_first_scan():
    text = status_text(ScanStatus(WORKSPACE, "never", 0, 0, complete=False))
    assert "never scanned (query_memory or scan_workspace starts the first scan)" in text
    assert "partial" not in text


def test_a_partial_index_is_called_partial():
    assert "interrupted, the index is partial" in status_text(
        ScanStatus(WORKSPACE, "interrupted", 4, 9, complete=False)
    )


def test_a_running_scan_says_how_far_it_is():
    progress = ScanProgress("parsing", 3, 8, 40)
    text = status_text(ScanStatus(WORKSPACE, "running", 4, 9, complete=False, progress=progress))
    assert "running: parsing, 3 of 8 files, 40 entities" in text


def test_the_last_error_the_parent_and_the_skipped_files_are_shown():
    parent = Workspace("p", "mono", "/code")
    skipped = tuple(Skipped(f"a{number}.bin", "binary\nfile") for number in range(22))
    status = ScanStatus(
        WORKSPACE,
        "failed",
        4,
        9,
        complete=True,
        skipped=skipped,
        last_scan="2026-01-01T00:00:00+00:00",
        last_error="disk\nfull",
        known_parent=parent,
    )
    text = status_text(status)
    assert "Last error: disk full" in text
    assert "Part of the known workspace /code" in text
    assert "Skipped: 22" in text
    assert "- a0.bin: binary file" in text
    assert "- and 2 more" in text


def test_a_listed_workspace_whose_folder_is_gone_says_so():
    known = WorkspaceInfo(WORKSPACE, 4, 9, None, exists=False)
    assert workspaces_text([known]) == (
        "01234567 shop /code/shop [folder is missing]: 4 files, 9 entities, never scanned"
    )


def test_what_is_behind_the_disk_is_shown():
    status = ScanStatus(WORKSPACE, "complete", 4, 9, complete=True, freshness="3 files changed since the last scan")
    assert "\nFreshness: 3 files changed since the last scan\n" in status_text(status)


def test_what_is_related_is_told_where_no_source_was_found():
    van = Related("id", "Van", "class", "a.py", 3, 9, {"callers": (Link("load", "function", "b.py", 7),)})
    found = Answer(WORKSPACE, "who calls Van", "none", "nothing", None, (), related=Relatives((van,), 1))
    text = answer_text(found, show_sources=True)
    assert text.startswith("`Van` #a.py:3\ncalled by, by name:\n  `load` #b.py:7\n\n")
    assert "Nothing found" not in text

# ruff: noqa: S608 - the statements are made of this file's own words

import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from braindex.domain.entities import KINDS
from braindex.domain.memories import (
    About,
    AmbiguousMemory,
    Episode,
    Memory,
    MemoryCounts,
    MemoryVector,
    Merged,
    NotAPage,
    Note,
    NotText,
    TooLong,
    UnknownMemory,
    derived_id,
)
from braindex.domain.words import terms
from braindex.registry.failures import StoreDamaged
from braindex.registry.memory import (
    ENDED_FILE,
    ForgetWhat,
    MemoryEnded,
    MemoryStore,
    MemoryWithoutHome,
    MergedIntoItself,
)
from braindex.registry.memory_episodes import EpisodeFilter
from braindex.registry.memory_file import MEMORY_FILE, NoMemoryYet
from braindex.registry.memory_tables import MIGRATIONS
from braindex.registry.memory_vectors import UnfitVector
from braindex.registry.migrations import open_store


def time(second: int = 0) -> str:
    hour, rest = divmod(second, 3600)
    return f"2026-11-01T{10 + hour}:{rest // 60:02}:{rest % 60:02}.000000Z"


def note(number: int = 1, text: str = "Refunds go through the ledger.", **changes: object) -> Note:
    made = Note(f"{number:016x}", text, "decision", "cursor", time(number), time(number))
    return replace(made, **changes)  # type: ignore[arg-type]


def episode(number: int = 1, **changes: object) -> Episode:
    made = Episode(
        f"e{number:015x}",
        "turn",
        "cursor",
        "s1",
        time(number),
        "mend the cart",
        "mended",
        "done",
        ("cart.py",),
        "c0ffee",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def embed(store: MemoryStore, model: str = "m", *numbers: float) -> None:
    pending = store.without_vector(model, 1000)
    store.put_vectors(model, [MemoryVector(one.memory.id, one.stamp, vector(*(numbers or (1, 2)))) for one in pending])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    (tmp_path / "one").mkdir()
    with MemoryStore.open(tmp_path / "one") as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[MemoryStore]:
    (tmp_path / "other").mkdir()
    with MemoryStore.open(tmp_path / "other") as opened:
        yield opened


def test_the_schema_is_the_one_that_was_released(tmp_path: Path) -> None:
    """A released migration never changes: what is not in this list needs a new one."""
    with open_store(tmp_path / MEMORY_FILE, MIGRATIONS) as database:
        tables = database.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        found = {
            name: [str(row[1]) for row in database.rows(f"PRAGMA table_info({name})")]
            for (name,) in tables
            if not name.startswith(("words_", "sqlite_"))
        }
        indexes = {name for (name,) in database.rows("SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert [one.name for one in MIGRATIONS] == ["memory-1"]
    assert found == {
        "about": ["row", "position", "path", "qualified_name", "digest"],
        "episode_files": ["row", "position", "path"],
        "episodes": ["row", "kind", "client", "session", "prompt", "summary", "outcome", "commit"],
        "memories": ["row", "id", "type", "created", "stamp"],
        "meta": ["key", "value"],
        "migrations": ["name", "version", "applied"],
        "notes": ["row", "text", "category", "author", "source", "updated"],
        "vectors": ["row", "model", "vector"],
        "words": ["body", "label"],
    }
    assert {name for name in indexes if not name.startswith("sqlite_")} == {
        "about_path", "episode_files_path", "memories_created", "notes_category", "vectors_model",
    }  # fmt: skip


def test_a_note_comes_back_as_it_was_given_in_another_opening(tmp_path: Path) -> None:
    tied = (About("src/cart.py", "Cart.add", "00ff"), About("docs"))
    one = note(text="記憶 🧠 \x00 \u202e\r\n\tend ", category="决定", about=tied, source="imported")
    with MemoryStore.open(tmp_path) as store:
        assert store.add_note(one)
        assert not store.add_note(replace(one, text="another"))
    with MemoryStore.open(tmp_path) as store:
        assert store.note(one.id) == one
        assert store.notes() == list(store.each_note()) == [one]
        assert store.counts() == MemoryCounts(1, 0, {"决定": 1})
        assert store.problems() == []


def test_an_episode_comes_back_as_it_was_given(store: MemoryStore) -> None:
    one = episode(prompt="修 \x00 🛒", files=("b.py", "a.py", "docs/Ativação b.md"))
    assert store.add_episode(one)
    assert not store.add_episode(one)
    assert store.episode(one.id) == one
    assert store.episodes() == list(store.each_episode()) == [one]


@pytest.mark.parametrize(
    ("bad", "error"), [(note(text="\ud800"), NotText), (note(text="x" * 100_001), TooLong), (note(id="1"), Exception)]
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(
    store: MemoryStore, bad: Note, error: type[Exception]
) -> None:
    before = store.generation()
    with pytest.raises(error):
        store.add_note(bad)
    with pytest.raises(error):
        store.take([note(7), bad])
    assert (store.counts(), store.generation()) == (MemoryCounts(0, 0), before)


def test_a_note_is_found_by_the_beginning_of_its_id_alone(store: MemoryStore) -> None:
    first, second = note(id="abcd000000000000"), note(id="abcd100000000000")
    store.add_note(first)
    store.add_note(second)
    store.add_episode(episode(id="abcd200000000000"))
    assert store.note("ABCD0") == first
    with pytest.raises(AmbiguousMemory, match="abcd000000000000, abcd100000000000; give more"):
        store.note("abcd")
    with pytest.raises(UnknownMemory, match="no note has the id 'abcd2'"):
        store.note("abcd2")
    assert store.episode("abcd").id == "abcd200000000000"
    assert store.of_ids(["abcd200000000000", "0" * 16, first.id]) == {
        "abcd200000000000": store.episode("abcd2"), first.id: first,
    }  # fmt: skip


def test_notes_are_listed_in_pages_the_newest_first(store: MemoryStore) -> None:
    store.take(note(number) for number in range(30))
    store.add_note(note(100, created=time(29)))
    pages = [store.notes(limit=7, offset=offset) for offset in range(0, 40, 7)]
    listed = [one.id for page in pages for one in page]
    assert listed == [f"{number:016x}" for number in (29, 100, *range(28, -1, -1))]
    for limit, offset in ((0, 0), (-1, 0), (5, -1)):
        with pytest.raises(NotAPage):
            store.notes(limit=limit, offset=offset)


def test_notes_can_be_narrowed_to_a_category_and_to_what_they_are_about(store: MemoryStore) -> None:
    store.add_note(note(1, about=(About("src/cart.py"),)))
    store.add_note(note(2, about=(About("src/cart.py", "Cart.add"), About("src/cart.py", "Cart.drop"))))
    store.add_note(note(3, about=(About("src/cart.pyx"),), category="Gotcha"))
    store.add_note(note(4, about=(About("src"), About("100%_src/a"))))

    def found(*about: str) -> list[int]:
        return [int(one.id, 16) for one in store.notes(about=About(*about))]

    assert found("src/cart.py") == [2, 1]
    assert found("src/cart.py", "Cart.add") == [2]
    assert found("src/") == [4, 3, 2, 1]
    assert found("sr") == found("src/%") == found("'; --") == []
    assert found("100%_src") == [4]
    assert [int(one.id, 16) for one in store.notes(category="gotcha")] == [3]
    assert store.notes(category="gotcha", about=About("src/cart.py")) == []


def test_what_notes_are_about_is_looked_up_in_an_index(store: MemoryStore) -> None:
    for table in ("about", "episode_files"):
        plan = str(
            store._database.rows(
                f"EXPLAIN QUERY PLAN SELECT row FROM {table} WHERE path = 'a' OR (path > 'a/' AND path < 'a0')"
            )
        )
        assert f"{table}_path" in plan
        assert "SCAN" not in plan


def test_an_updated_note_keeps_what_was_not_given_and_loses_its_old_words_and_vector(store: MemoryStore) -> None:
    old = note(about=(About("a.py"),))
    store.add_note(old)
    embed(store)
    new = store.update_note(old.id[:6] + old.id[6:], updated=time(9), text="Chargebacks only.", about=[About("b.py")])
    assert new == replace(old, text="Chargebacks only.", updated=time(9), about=(About("b.py"),))
    assert store.note(old.id) == new
    assert store.search_words(terms("refunds"), 5) == []
    assert [one for one, _ in store.search_words(terms("chargebacks"), 5)] == [old.id]
    assert store.notes(about=About("a.py")) == []
    assert store.vectors("m") == ([], bytearray())
    assert [one.memory for one in store.without_vector("m", 5)] == [new]
    with pytest.raises(UnknownMemory):
        store.update_note("ffff", updated=time(9), text="x")
    with pytest.raises(TooLong):
        store.update_note(old.id, updated=time(9), category="x" * 99)
    assert store.note(old.id) == new


def test_a_forgotten_note_leaves_nothing_behind(store: MemoryStore) -> None:
    gone, kept = note(1, about=(About("a.py"),)), note(2, about=(About("a.py"),))
    store.add_note(gone)
    store.add_note(kept)
    store.add_episode(episode())
    embed(store)
    assert store.forget_note(gone.id) == gone
    assert store.forget_notes([gone.id, kept.id, episode().id]) == 1
    with pytest.raises(UnknownMemory):
        store.forget_note(gone.id)
    assert store.counts() == MemoryCounts(0, 1)
    for table, count in {"notes": 0, "about": 0, "memories": 1, "vectors": 1, "words": 1}.items():
        assert store._database.value(f"SELECT count(*) FROM {table}") == count, table
    assert store.search_words(terms("refunds"), 5) == []


def test_episodes_are_narrowed_by_time_kind_client_session_and_file(store: MemoryStore) -> None:
    store.add_episode(episode(1))
    store.add_episode(episode(2, kind="review", files=("src/a.py", "src/b.py")))
    store.add_episode(episode(3, client="vscode", session="s2", files=()))

    def found(**narrowed: str) -> list[int]:
        return [int(one.id[1:], 16) for one in store.episodes(EpisodeFilter(**narrowed))]

    assert found() == [3, 2, 1]
    assert found(since=time(2)) == [3, 2]
    assert found(since="2026-11-01T11:00:01+01:00", until=time(2)) == [1]
    assert found(kind="review") == found(path="src/") == found(path="src/b.py") == [2]
    assert found(client="vscode") == found(session="s2") == [3]
    assert [int(one.id[1:], 16) for one in store.episodes(limit=1, offset=1)] == [2]


def test_episodes_are_forgotten_only_when_it_is_said_which(store: MemoryStore) -> None:
    store.take([*(episode(number) for number in range(5)), note(0)])
    for wrong in ({}, {"before": time(9), "ids": []}):
        with pytest.raises(ForgetWhat):
            store.forget_episodes(**wrong)  # type: ignore[arg-type]
    assert store.count_episodes(time(2)) == store.forget_episodes(before=time(2)) == 2
    assert store.forget_episodes(ids=[episode(4).id, note(0).id, "0" * 16]) == 1
    assert store.forget_episodes(ids=[]) == 0
    assert store.counts() == MemoryCounts(1, 2, {"decision": 1})


def test_the_generation_moves_at_each_change_and_only_then(tmp_path: Path, store: MemoryStore) -> None:
    with MemoryStore.open(tmp_path / "one") as reader:
        seen = [reader.generation()]
        for change in (
            lambda: store.add_note(note(1)),
            lambda: store.add_episode(episode(1)),
            lambda: store.update_note(note(1).id, updated=time(2)),
            lambda: embed(store),
            lambda: store.forget_vectors("m"),
            lambda: store.forget_note(note(1).id),
            lambda: store.forget_episodes(before=time(59)),
        ):
            change()
            seen.append(reader.generation())
        assert seen == sorted(set(seen))
        store.forget_notes([note(1).id])
        store.take([])
        store.notes()
        assert reader.generation() == seen[-1]


def test_a_memory_made_anew_has_another_generation(tmp_path: Path) -> None:
    generations = set()
    for name in "abc":
        (tmp_path / name).mkdir()
        with MemoryStore.open(tmp_path / name) as one:
            generations.add(one.generation())
    assert len(generations) == 3


# Words


def test_words_find_notes_and_episodes_the_best_first_and_the_newest_of_equals(store: MemoryStore) -> None:
    store.add_note(note(1, "A refund."))
    store.add_note(note(2, "A refund."))
    store.add_note(note(3, "Refunding refunds: what processRefund does with a refunded cart."))
    store.add_episode(episode(4, prompt="Mend the cart", summary="", files=("src/checkoutPage.ts",)))

    def found(text: str, **narrowed: str) -> list[str]:
        return [one for one, _ in store.search_words(terms(text), 10, **narrowed)]  # type: ignore[arg-type]

    assert found("refunds") == [note(3).id, note(2).id, note(1).id]
    assert set(found("carts")) == {note(3).id, episode(4).id}
    assert found("carts", what="episode") == found("checkout_page") == [episode(4).id]
    assert found("refund", since=time(2)) == [note(3).id, note(2).id]
    assert found("decision") == [note(number).id for number in (2, 1, 3)]
    assert len(store.search_words(terms("refund"), 2)) == 2
    assert store.frequencies(terms("refund cart zebra")) == {"refund": 3, "cart": 2, "zebra": 0}


@pytest.mark.parametrize("wanted", ["", '"unbalanced AND *x', "foo:bar", "NEAR(", "\x00", "\ud800", "a_b", "; DROP"])
def test_any_terms_are_terms_and_no_query_language(store: MemoryStore, wanted: str) -> None:
    store.add_note(note(1, "nothing like it"))
    assert store.search_words([wanted], 5) == []
    assert store.search_words(terms(wanted * 5000), 5) == []


def test_words_in_any_script_are_found(store: MemoryStore) -> None:
    store.add_note(note(1, "退款通过账本进行", category=""))
    store.add_note(note(2, "Возврат идёт через ÜBERSICHT", category=""))
    assert [one for one, _ in store.search_words(terms("账本"), 5)] == [note(1).id]
    assert [one for one, _ in store.search_words(terms("возврат"), 5)] == [note(2).id]
    assert [one for one, _ in store.search_words(terms("Übersicht"), 5)] == [note(2).id]


# Vectors


def test_vectors_of_several_models_lie_side_by_side(store: MemoryStore) -> None:
    store.add_note(note(1))
    store.add_episode(episode(2))
    embed(store, "small", 1, 2)
    embed(store, "large", 3, 4, 5)
    ids, matrix = store.vectors("small")
    assert (ids, bytes(matrix)) == ([note(1).id, episode(2).id], vector(1, 2) * 2)
    assert store.vectors("large", what="episode") == ([episode(2).id], bytearray(vector(3, 4, 5)))
    assert store.vectors("large", since=time(2))[0] == [episode(2).id]
    assert store.vectors("none") == ([], bytearray())
    assert store.models() == {"large": 2, "small": 2}
    assert store.forget_vectors("large") == 2
    assert len(store.without_vector("large", 9)) == 2
    assert store.without_vector("small", 9) == []


def test_more_vectors_than_one_block_holds_come_back_whole(store: MemoryStore) -> None:
    store.take(note(number, f"text {number}") for number in range(4200))
    while pending := store.without_vector("m", 1000):
        store.put_vectors(
            "m", [MemoryVector(one.memory.id, one.stamp, vector(int(one.memory.id, 16))) for one in pending]
        )
    ids, matrix = store.vectors("m")
    assert len(ids) == 4200
    assert bytes(matrix) == b"".join(vector(int(one, 16)) for one in ids)


def test_a_memory_whose_words_the_model_does_not_know_is_not_asked_about_again(store: MemoryStore) -> None:
    store.add_note(note(1))
    [pending] = store.without_vector("m", 5)
    assert store.put_vectors("m", [MemoryVector(pending.memory.id, pending.stamp, None)]) == 1
    assert (store.without_vector("m", 5), store.vectors("m")) == ([], ([], bytearray()))


def test_the_vector_of_a_text_that_was_changed_meanwhile_is_left_out(store: MemoryStore) -> None:
    store.take([note(1), note(2), note(3)])
    pending = store.without_vector("m", 5)
    store.update_note(note(1).id, updated=time(9), text="another")
    store.forget_note(note(2).id)
    assert store.put_vectors("m", [MemoryVector(one.memory.id, one.stamp, vector(1)) for one in pending]) == 1
    assert store.vectors("m")[0] == [note(3).id]


@pytest.mark.parametrize("bad", [b"", b"123", vector(1), vector(1, 2, 3)])
def test_a_vector_of_another_length_is_refused_with_all_that_came_with_it(store: MemoryStore, bad: bytes) -> None:
    store.take([note(1), note(2)])
    one, two = store.without_vector("m", 5)
    with pytest.raises(UnfitVector, match=r"a vector of m has .* nothing was stored"):
        store.put_vectors(
            "m", [MemoryVector(one.memory.id, one.stamp, vector(1, 2)), MemoryVector(two.memory.id, two.stamp, bad)]
        )
    assert store.models() == {}


# Taking in and merging


def test_a_merge_brings_everything_once_however_often(tmp_path: Path, store: MemoryStore, other: MemoryStore) -> None:
    store.add_note(note(1))
    other.take([note(1), note(2, about=(About("a.py", "run", "ff"),)), episode(3)])
    embed(other, "m", 7, 8)
    assert store.merge_from(tmp_path / "other") == Merged(1, 1)
    first = list(store.each_note()), list(store.each_episode()), store.vectors("m")
    assert first[0] == [note(1), note(2, about=(About("a.py", "run", "ff"),))]
    assert first[1] == [episode(3)]
    assert sorted(first[2][0]) == sorted([note(1).id, note(2).id, episode(3).id])
    generation = store.generation()
    assert store.merge_from(tmp_path / "other") == Merged(0, 0)
    assert (list(store.each_note()), list(store.each_episode()), store.vectors("m")) == first
    assert store.generation() == generation
    assert other.counts() == MemoryCounts(2, 1, {"decision": 2})
    assert [one for one, _ in store.search_words(terms("refund"), 9)] == [note(1).id, note(2).id]
    assert store.problems() == []


def test_of_two_states_of_a_note_the_newer_stays(tmp_path: Path, store: MemoryStore, other: MemoryStore) -> None:
    store.take([note(1, "old", updated=time(20)), note(2, "new", updated=time(21))])
    other.take([note(1, "new", updated=time(21)), note(2, "old", updated=time(20))])
    embed(store, "m", 1)
    embed(other, "m", 2)
    assert store.merge_from(tmp_path / "other") == Merged(1, 0)
    assert {one.text for one in store.each_note()} == {"new"}
    ids, matrix = store.vectors("m")
    assert dict(zip(ids, struct.unpack("<2f", matrix), strict=True)) == {note(1).id: 2.0, note(2).id: 1.0}


def test_different_memories_of_one_id_both_stay(tmp_path: Path, store: MemoryStore, other: MemoryStore) -> None:
    store.take([note(1, "ours"), episode(2, prompt="ours"), note(3)])
    other.take([note(1, "theirs"), episode(2, prompt="theirs"), episode(4, id=note(3).id)])
    for merged in (Merged(1, 2), Merged(0, 0)):
        assert store.merge_from(tmp_path / "other") == merged
        assert sorted(one.text for one in store.each_note()) == sorted(["ours", "theirs", note(3).text])
        assert sorted(one.prompt for one in store.each_episode()) == ["mend the cart", "ours", "theirs"]
    assert store.note(note(1).id).text == "ours"


def test_an_export_taken_in_again_changes_nothing(store: MemoryStore) -> None:
    everything: list[Memory] = [note(1, about=(About("a"),)), episode(2)]
    assert store.take(everything) == Merged(1, 1)
    assert store.take(everything) == Merged(0, 0)
    assert store.take([note(1, created="2026-11-01T11:00:01+01:00", about=(About("a"),))]) == Merged(0, 0)


def test_vectors_that_do_not_fit_are_left_to_be_made_anew(
    tmp_path: Path, store: MemoryStore, other: MemoryStore
) -> None:
    store.add_note(note(1))
    embed(store, "m", 1, 2)
    other.add_note(note(2))
    embed(other, "m", 1, 2, 3)
    store.merge_from(tmp_path / "other")
    assert store.vectors("m")[0] == [note(1).id]
    assert [one.memory for one in store.without_vector("m", 5)] == [note(2)]


def test_nothing_is_merged_from_itself_or_from_nowhere(tmp_path: Path, store: MemoryStore) -> None:
    with pytest.raises(MergedIntoItself):
        store.merge_from(tmp_path / "one")
    with pytest.raises(NoMemoryYet):
        store.merge_from(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_memory_that_was_ended_takes_nothing_and_shows_everything(
    tmp_path: Path, store: MemoryStore, other: MemoryStore
) -> None:
    folder = tmp_path / "other"
    other.add_note(note(1))
    MemoryStore.end(folder)
    for change in (
        lambda: other.add_note(note(2)),
        lambda: other.update_note(note(1).id, updated=time(9), text="x"),
        lambda: other.forget_note(note(1).id),
    ):
        with pytest.raises(MemoryEnded, match="nothing was stored"):
            change()
    assert other.notes() == [note(1)]
    with pytest.raises(MemoryEnded):
        MemoryStore.open(folder)
    with MemoryStore.open(folder, create=False) as reader:
        assert reader.notes() == [note(1)]
    assert store.merge_from(folder) == Merged(1, 0)
    MemoryStore.resume(folder)
    assert other.add_note(note(2))
    with MemoryStore.open(folder) as again:
        assert again.add_note(note(3))


def test_what_was_ended_stays_ended_for_a_store_that_was_open_all_along(tmp_path: Path, other: MemoryStore) -> None:
    """Also where the mark beside the file, and the file itself, are gone, and another file is in its place."""
    folder = tmp_path / "other"
    MemoryStore.end(folder)
    (folder / ENDED_FILE).unlink()
    with pytest.raises(MemoryEnded):
        other.add_note(note(1))
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(MemoryEnded):
        other.add_note(note(1))
    with MemoryStore.open(folder) as anew:
        assert anew.add_note(note(2))
    with pytest.raises(MemoryEnded):
        other.add_note(note(1))


def test_a_folder_that_is_gone_gets_no_memory(tmp_path: Path) -> None:
    with pytest.raises(MemoryWithoutHome, match="scan the workspace first"):
        MemoryStore.open(tmp_path / "dropped")
    assert list(tmp_path.iterdir()) == []


def test_a_log_without_its_file_and_a_link_that_leads_nowhere_are_a_memory(tmp_path: Path) -> None:
    assert not MemoryStore.exists(tmp_path)
    (tmp_path / "memory.db-wal").write_bytes(b"x" * 100)
    assert MemoryStore.exists(tmp_path)
    (tmp_path / "memory.db-wal").unlink()
    (tmp_path / "memory.db").symlink_to(tmp_path / "nowhere")
    assert MemoryStore.exists(tmp_path)
    with pytest.raises(StoreDamaged, match="a link that leads nowhere"):
        MemoryStore.open(tmp_path)


# Openings


def test_looking_for_a_memory_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NoMemoryYet, match="nothing has been remembered"):
        MemoryStore.open(tmp_path / "w", create=False)
    assert not MemoryStore.exists(tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_every_commit_is_on_disk_before_the_call_returns(store: MemoryStore) -> None:
    full = 2  # https://www.sqlite.org/pragma.html#pragma_synchronous
    assert store._database.value("PRAGMA synchronous") == full
    assert store._database.value("PRAGMA fullfsync") == 1


def test_a_reader_neither_waits_for_a_writer_nor_sees_half_of_its_work(tmp_path: Path, store: MemoryStore) -> None:
    store.add_note(note(1))
    with MemoryStore.open(tmp_path / "one", busy_seconds=0) as reader, store._writing():
        store.take([note(2), note(3)])
        assert reader.notes() == [note(1)]
        with MemoryStore.open(tmp_path / "one", busy_seconds=0) as newcomer:
            assert newcomer.counts().notes == 1
    with MemoryStore.open(tmp_path / "one") as reader:
        assert reader.counts().notes == 3


def test_ten_thousand_notes_are_walked_through_without_a_list_of_them(store: MemoryStore) -> None:
    assert store.take(note(number, "short") for number in range(10_000)) == Merged(10_000, 0)
    walk = store.each_note()
    assert next(walk).id == note(0).id
    store.forget_notes([note(number).id for number in range(1, 9_000)])  # what is forgotten meanwhile is left out
    assert sum(1 for _ in walk) == 199 + 1_000
    assert store.notes(limit=1, offset=990)[0].id == note(9_009).id


def test_a_lost_row_of_a_note_is_damage_and_no_empty_answer(tmp_path: Path, store: MemoryStore) -> None:
    store.add_note(note(1))
    store.close()
    connection = sqlite3.connect(tmp_path / "one" / MEMORY_FILE)
    connection.execute("DELETE FROM notes")
    connection.commit()
    connection.close()
    with MemoryStore.open(tmp_path / "one") as damaged, pytest.raises(StoreDamaged, match="cannot be rebuilt"):
        list(damaged.each_note())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_entity_may_be_a_category(store: MemoryStore, kind: str) -> None:
    store.add_note(note(1, category=kind))
    assert store.notes(category=kind) == [note(1, category=kind)]
    assert store.counts().categories == {kind: 1}


def test_an_id_that_was_derived_is_an_id_like_any_other(store: MemoryStore) -> None:
    one = note(id=derived_id("hook", "s1", "turn 4"))
    store.add_note(one)
    assert store.note(one.id[:8]) == one

"""What an archive does, with the seed's example, in both stores."""

import pickle
import subprocess
import warnings
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import FIXTURES, lines, raises

import accession_registry as ar

NAME = "US.FOOL2.002"


def seeded(registry: ar.Registry) -> ar.Dataset:
    """The first days of the seed."""
    dataset = registry.dataset(NAME)
    dataset.sync(lines("us-2001-01-02.txt"), at="2001-01-02", create=True, note="first")
    dataset.ingest(lines("us-2001-01-03.txt"), at="2001-01-03")
    return dataset


def test_the_seed_has_its_identifiers(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    deleted = lines("us-2001-03-01-deleted.txt")
    dataset.ingest(lines("us-2001-02-03.txt"), at=date(2001, 2, 3))
    dataset.delete(deleted, at=datetime(2001, 3, 1, tzinfo=timezone.utc))
    rows = [line.split("\t") for line in (FIXTURES / "seed/identifiers.tsv").read_text().splitlines()]
    expected = {row[1]: row[3] for row in rows if row[0] == "US"}
    for instance in registry.history(NAME):
        assert instance.identifier == expected[instance.timestamp.date().isoformat()]
        assert instance.recorded_by == "tester"
    assert all(row.ok for row in registry.verify())
    assert registry.set(f"{NAME}@2001-01-02").identifier == "7fb1e8ba9b0c9888858b66f6a1732d2c"


def test_a_set_is_named_in_every_way(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    dataset.edit(doi="10.9999/US/FOOL2.v2", title="FOO Level 2", creators=["Tilmes, Curt"], year=2001)
    first = registry.set(f"{NAME}@2001-01-02")
    identifier = first.identifier
    names = [
        f"DI:{identifier}",
        f"DI:{identifier[:8]}",
        f"see DI:{identifier}.",
        "10.9999/US/FOOL2.v2@2001-01-02",
    ]
    for name in names:
        assert registry.set(name) == first
    assert registry.set(NAME, at=date(2001, 1, 2)) == first
    assert dataset.set(at=datetime(2001, 1, 2, 12, tzinfo=timezone.utc)) == first
    assert list(first.granules()) == sorted(lines("us-2001-01-02.txt"))
    assert list(first.granules(after=sorted(first)[-2])) == sorted(first)[-1:]
    assert len(first) == 11 and next(iter(first)) in first and "nothing" not in first
    assert first.until == datetime(2001, 1, 3, tzinfo=timezone.utc)
    assert {first: 1}[registry.set(f"DI:{identifier}")] == 1
    assert str(first) == f"DI:{identifier}"


def test_a_set_is_cited_and_resolved(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    dataset.edit(title="FOO Level 2", publisher="US Archive")
    first = registry.set(NAME, at="2001-01-02")
    assert f"DI:{first.identifier}" in first.cite()
    assert first.cite(format="bibtex").startswith("@dataset{")
    subset = sorted(first)[:3]
    cited = registry.cite(f"{NAME}@2001-01-02", select_from=subset)
    [interval] = registry.resolve(ar.identify(subset).identifier)
    assert interval.kind == "subset" and interval.granules == 3 and interval.identifier in cited
    assert registry.resolve("d" * 32) == []
    assert registry.find(subset[0])[0].deleted is None


def test_sets_are_compared_with_sets_and_lists(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first, latest = registry.set(f"{NAME}@2001-01-02"), dataset.set()
    comparison = registry.compare(first, latest)
    assert not comparison and comparison.matched == 11
    assert list(comparison.only_right) == lines("us-2001-01-03.txt")
    assert len(comparison.only_left) == 0
    assert registry.compare(latest, list(latest)).identical
    assert registry.compare(NAME, ["nothing"]).right == ar.identify(["nothing"]).identifier


def test_what_is_refused_changes_nothing_and_says_what_to_do(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    before = dataset.set()
    held = lines("us-2001-01-02.txt")
    with raises("held") as held_already:
        dataset.ingest(["X", held[0]], at="2001-02-01")
    assert held_already.value.granule == held[0]
    assert (held_already.value.file, held_already.value.line) == ("item", 2)
    assert held_already.value.kind == "held"
    assert "skip_existing=True" in str(held_already.value)
    with raises("too-many-deletions", match="max_delete"):
        dataset.sync(held[:1], at="2001-02-01")
    with raises("empty"):
        dataset.sync([], at="2001-02-01")
    with raises("not-after-last"):
        dataset.ingest(["X"], at="2001-01-01")
    with raises("dataset-unknown"):
        registry.set("nothing")
    with raises("usage", match="string"):
        dataset.ingest("X")
    with pytest.raises(TypeError, match="unexpected keyword argument 'skip_missing'"):
        dataset.ingest(["X"], skip_missing=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="argument 'note'"):
        dataset.ingest(["X"], note=5)  # type: ignore[arg-type]
    with raises("input", match="item:2"):
        dataset.ingest(["X", "a\nb"], at="2001-02-01")
    assert dataset.set() == before
    assert dataset.ingest(["X", held[0]], at="2001-02-01", skip_existing=True).skipped.held == 1


def test_a_dry_run_changes_nothing(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    rehearsed = dataset.ingest(["X"], at="2001-02-01", dry_run=True)
    assert rehearsed.changed and rehearsed.added == 1 and rehearsed.dry_run
    assert "X" not in dataset.set()


def test_a_dataset_is_reverted(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first = dataset.set(at="2001-01-02")
    assert dataset.revert(first.identifier, at="2001-02-01").identifier == first.identifier
    assert dataset.revert("2001-01-03", at="2001-02-02").removed == 0
    both = dataset.change(ingest=["X"], delete=sorted(first)[:1], at="2001-02-03")
    assert (both.added, both.removed) == (1, 1)


def test_a_time_has_a_zone(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    with raises("usage", match="without a zone"):
        dataset.set(at=datetime(2001, 1, 2, 12))
    assert dataset.set(at="2001-01-02 12:00") == dataset.set(at=datetime(2001, 1, 2, 12, tzinfo=timezone.utc))
    assert dataset.set(at="now") == dataset.set()
    with raises("future", match="future"):
        dataset.set(at=datetime.now(timezone.utc) + timedelta(days=9))
    with raises("usage", match="not a time"):
        dataset.set(at=5)  # type: ignore[arg-type]


def test_a_history_is_exported_imported_and_mirrored(registry: ar.Registry, tmp_path: Path) -> None:
    dataset = seeded(registry)
    manifest = tmp_path / "manifest.jsonl"
    dataset.export(manifest)
    dataset.export(manifest)
    copy = registry.dataset("COPY")
    imported = copy.import_(manifest, create=True)
    assert imported.changed and copy.set() == dataset.set()
    assert not copy.import_(manifest).changed
    mirror = registry.dataset("MIRROR")
    pulled = mirror.mirror_pull(manifest, create=True)
    assert pulled.identical and pulled.added == 12 and mirror.set() == dataset.set()
    assert pulled.digest_equal
    dataset.ingest(["X"], at="2001-02-01")
    dataset.export(manifest)
    behind = mirror.mirror_compare()
    assert behind.status == "behind" and behind.behind_by == 1 and list(behind.missing) == ["X"]
    assert mirror.mirror_pull().changed
    (tmp_path / "other.txt").write_text("a file that is kept\n")
    with raises("already-exists", match="not overwritten"):
        dataset.export(tmp_path / "other.txt")
    with raises("usage", match="not pulled"):
        copy.mirror_pull()


def test_a_comparison_warns_that_the_primary_withdrew_its_dataset(
    file: ar.Registry, program: str, tmp_path: Path
) -> None:
    dataset = seeded(file)
    manifest = tmp_path / "manifest.jsonl"
    dataset.export(manifest)
    mirror = file.dataset("MIRROR")
    mirror.mirror_pull(manifest, create=True)
    registry = str(tmp_path / "registry.db")
    withdraw = [program, "--registry", registry, "dataset", "withdraw", dataset.name, "--note", "gone"]
    subprocess.run(withdraw, check=True, capture_output=True)
    dataset.export(manifest)
    with pytest.warns(UserWarning, match="the primary withdrew its dataset"):
        assert mirror.mirror_compare().status == "identical"


def test_the_record_of_a_dataset_is_edited(registry: ar.Registry) -> None:
    dataset = registry.dataset("NEW")
    record = dataset.edit(create=True, title="T", creators=["A, B"], max_delete="5%", max_replace=3, year=2001)
    assert record.title == "T" and record.latest is None
    assert (record.max_delete, record.max_add, record.max_replace) == ("5%", None, "3")
    assert dataset.edit(title=None).title is None
    assert [row.name for row in registry.datasets()] == ["NEW"]
    with raises("usage", match="no field"):
        dataset.edit(colour="red")
    with raises("no-history"):
        dataset.set()


def test_what_a_dataset_is_about_is_edited(registry: ar.Registry) -> None:
    dataset = registry.dataset("NEW")
    record = dataset.edit(create=True, keywords=["ozone", "level 2"], free_access=True, temporal="2001-01-02/..")
    assert record.keywords == ["ozone", "level 2"] and record.free_access is True
    assert record.temporal == "2001-01-02/.."
    cleared = dataset.edit(keywords=None, free_access=None, temporal=None)
    assert (cleared.keywords, cleared.free_access, cleared.temporal) == ([], None, None)
    with raises("usage", match="temporal"):
        dataset.edit(temporal="2001")
    with pytest.raises(TypeError):
        dataset.edit(free_access="yes")


def test_a_change_whose_warning_is_an_exception_was_made(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    held = lines("us-2001-01-03.txt")[0]
    with pytest.warns(UserWarning) as caught:
        dataset.ingest([held, "NEW"], at="2001-01-04", skip_existing=True)
    assert any("skipped 1 granule: 1 already held" in str(it.message) for it in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="skipped 1 granule"):
            dataset.ingest([held, "NEWER"], at="2001-01-05", skip_existing=True)
    assert [it.ingested for it in dataset.history()][-2:] == [1, 1]


def test_a_set_is_annotated_and_the_history_stays(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first = dataset.set(at="2001-01-02")
    [rehearsed] = registry.annotate(first, "the listing was incomplete", questionable=True, dry_run=True)
    assert rehearsed.identifier == first.identifier
    assert next(dataset.history()).annotations == []
    registry.annotate(first, "the listing was incomplete", questionable=True)
    [annotation] = next(dataset.history()).annotations
    assert (annotation.note, annotation.questionable) == ("the listing was incomplete", True)
    assert annotation.recorded_by == "tester"
    with pytest.warns(UserWarning, match="questionable: the listing was incomplete"):
        first.cite()
    column = dataset.history().to_arrow()["annotations"].to_pylist()
    assert [len(notes) for notes in column] == [1, 0]
    assert column[0][0] == {
        "note": annotation.note,
        "questionable": True,
        "recorded": annotation.recorded,
        "recorded_by": "tester",
    }
    assert annotation.note in dataset.history()._repr_html_()  # type: ignore[attr-defined]
    with raises("input"):
        registry.annotate(first, " ")
    both = registry.annotate(f"{dataset.name}@2001-01-02", "a test", until="2001-01-03", dry_run=True)
    assert [row.timestamp.day for row in both] == [2, 3]
    with pytest.raises(TypeError, match="'unti'"):
        registry.annotate(first, "a test", unti="2001-01-03")  # type: ignore[call-arg]


def test_the_status_of_datasets_says_what_is_wrong(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    registry.dataset("WELL").sync(["A"], create=True)
    dataset.sync(list(dataset.set()), at="now")
    registry.annotate(dataset, "a test", questionable=True)
    wrong, well = registry.status()
    assert wrong.dataset == NAME and wrong.problems == ["the set in force is questionable: a test"]
    assert wrong.changed is not None and wrong.changed.timestamp == datetime(2001, 1, 3, tzinfo=timezone.utc)
    assert wrong.confirmed is not None and wrong.confirmed.granules == 12
    assert (well.dataset, well.problems, well.fixity) == ("WELL", [], None)
    [old] = registry.status("WELL", max_age=timedelta(0))
    assert "neither changed nor confirmed" in old.problems[0]
    with raises("dataset-unknown"):
        registry.status("nothing")
    with raises("usage", match="max_age"):
        registry.status(max_age=5)  # type: ignore[arg-type]


def test_a_sync_that_changes_nothing_is_confirmed(registry: ar.Registry) -> None:
    dataset = registry.dataset(NAME)
    assert dataset.sync(["A", "B"], create=True).changed
    again = dataset.sync(["B", "A", "B"])
    assert not again.changed and again.added == 0 and again.skipped.repeated == 1
    confirmed = dataset.record.confirmed
    assert confirmed is not None and confirmed.granules == 2


def test_a_set_that_was_pickled_is_the_same_set(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first = dataset.set(at="2001-01-02")
    again = pickle.loads(pickle.dumps(first))
    assert again == first and list(again) == list(first) and again.timestamp == first.timestamp
    # A file is replaced, and the same names are held again.
    [granule, *_] = first
    states = [ar.FileRecord(granule, granule, 1, {"md5": digit * 32}) for digit in "ab"]
    dataset.fixity_add(states[:1], at="2001-02-01")
    before = dataset.set()
    dataset.fixity_add(states[1:], at="2001-02-02", max_replace="100%", note="processed again")
    now = dataset.set()
    assert before.identifier == now.identifier and before != now and before != "a set"
    for one in (before, now):
        again = pickle.loads(pickle.dumps(one))
        assert (again.digest, again.timestamp) == (one.digest, one.timestamp) and again == one
    assert len({before, now, again}) == 2
    compared = registry.compare(before, now)
    assert not compared and not compared.identical and list(compared.different) == [granule]
    assert compared.matched == len(before) and not compared.only_left and not compared.only_right
    assert "1 with different files" in repr(compared) and granule in compared._repr_html_()  # type: ignore[attr-defined]
    # The same of a subset.
    registry.cite(f"{NAME}@2001-02-01", select_from=[granule])
    with pytest.warns(UserWarning, match="was last changed or confirmed"):
        registry.cite(NAME, select_from=[granule])
    rows = registry.resolve(ar.identify([granule]).identifier)
    cited = [registry.set(digest["digest"]) for row in rows for digest in row.digests]
    assert len({one.digest for one in cited}) == 2 and all(one.is_subset for one in cited)
    for one in cited:
        assert pickle.loads(pickle.dumps(one)) == one


def test_a_pickled_set_that_no_longer_exists_is_rejected(tmp_path: Path) -> None:
    for name, granules in (("one.db", ["A"]), ("other.db", ["B"])):
        with ar.open(tmp_path / name, create=True) as registry:
            registry.dataset("D").sync(granules, at="2001-01-02", create=True)
            kept = pickle.dumps(registry.dataset("D").set())
    (tmp_path / "one.db").replace(tmp_path / "other.db")
    with raises("identifier-unknown"):
        pickle.loads(kept)


def test_a_pickled_set_opens_its_registry_with_the_address_that_was_given(address: str) -> None:
    with_password = address.replace("accession@", "accession:secret@")
    with ar.open(with_password, create=True) as registry:
        registry.dataset("D").sync(["A"], at="2001-01-02", create=True)
        kept = registry.dataset("D").set()
        assert "secret" not in registry.address
        assert ("secret" in str(kept.__reduce__())) == ("://" in address)
        assert pickle.loads(pickle.dumps(kept)) == kept


def test_a_registry_is_closed_by_its_block(tmp_path: Path) -> None:
    with ar.open(tmp_path / "r.db", create=True) as registry:
        kept = seeded(registry).set()
    with raises("closed"):
        list(kept.granules())
    with raises("registry-missing", match="create=True"):
        ar.open(tmp_path / "nothing.db")
    with raises("not-a-registry"):
        (tmp_path / "text").write_text("text " * 100)
        ar.open(tmp_path / "text")
    assert not (tmp_path / "nothing.db").exists()


def test_values_say_what_they_are(file: ar.Registry) -> None:
    first = seeded(file).set(at="2001-01-02")
    assert "DI:7fb1e8ba9b0c9888858b66f6a1732d2c" in repr(first) and "11 granules" in repr(first)
    assert repr(file.dataset(NAME)).startswith("<Dataset US.FOOL2.002 of ")
    shown = first._repr_html_()  # type: ignore[attr-defined]
    assert "Copy this into your paper" in shown and "DI:7fb1e8ba" in shown
    assert "<style" not in shown and "<script" not in shown
    assert NAME in file._repr_html_()  # type: ignore[attr-defined]
    compared = file.compare(first, ["<i>"])._repr_html_()  # type: ignore[attr-defined]
    assert "11 only left" in compared and "<code>&lt;i&gt;</code>" in compared
    assert "7fb1e8ba" in file.history(NAME)._repr_html_()  # type: ignore[attr-defined]
    file.dataset("X").edit(create=True, title="<script>alert(1)</script>")
    file.dataset("X").sync(["<b>"], create=True)
    assert "<script>" not in file.dataset("X")._repr_html_()  # type: ignore[attr-defined]


def test_a_citation_warns_as_on_the_command_line(file: ar.Registry) -> None:
    seeded(file)
    with (
        pytest.warns(UserWarning, match="was last changed or confirmed"),
        pytest.warns(UserWarning, match="the selection is all that US.FOOL2.002 held"),
    ):
        assert f"DI:{file.set(NAME).identifier}" in file.cite(NAME, select=["*"])


def test_a_listing_that_was_refused_is_part_of_the_status(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    dataset.sync(["A", "B", "C"], create=True)
    assert file.status("US")[0].refused is None
    with raises("empty"):
        dataset.sync([])
    [status] = file.status("US")
    assert status.refused is not None and status.refused.at.tzinfo is not None and status.problems
    assert "empty" in status.refused.reason
    dataset.sync(["A", "B", "C"])
    assert file.status("US")[0].refused is None

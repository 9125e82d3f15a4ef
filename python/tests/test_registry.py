"""The operations of an archive, with the seed's example, in both stores."""

import pickle
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
    dataset.ingest(lines("us-2001-02-03.txt"), at=date(2001, 2, 3))
    dataset.delete(lines("us-2001-03-01-deleted.txt"), at=datetime(2001, 3, 1, tzinfo=timezone.utc))
    rows = [line.split("\t") for line in (FIXTURES / "seed/identifiers.tsv").read_text().splitlines()]
    expected = {row[1]: row[3] for row in rows if row[0] == "US"}
    for instance in registry.history(NAME):
        assert instance.identifier == expected[instance.timestamp.date().isoformat()]
        assert instance.recorded_by == "tester"
    assert [row.granules for row in registry.history(NAME, n=2)] == [row.granules for row in registry.history(NAME)][-2:]
    assert len(registry.history()) == 4 and all(row.ok for row in registry.verify())
    assert registry.show(f"{NAME}@2001-01-02").identifier == "7fb1e8ba9b0c9888858b66f6a1732d2c"


def test_a_set_is_named_as_on_the_command_line(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    dataset.edit(doi="10.9999/US/FOOL2.v2", title="FOO Level 2", creator=["Tilmes, Curt", "{NASA, GSFC}"], year=2001)
    first = registry.show(f"{NAME}@2001-01-02")
    identifier = first.identifier
    names = [f"DI:{identifier}", f"DI:{identifier[:8]}", "10.9999/US/FOOL2.v2@2001-01-02", f"{NAME}~1", first.digest]
    assert all(registry.show(name) == first for name in names)
    assert list(first) == sorted(lines("us-2001-01-02.txt")) == list(registry.granules(first))
    assert len(first) == 11 and next(iter(first)) in first and "nothing" not in first
    assert (first.since, first.until) == tuple(datetime(2001, 1, day, tzinfo=timezone.utc) for day in (2, 3))
    assert [row.note for row in first.periods] == ["first"] and first.dataset == NAME
    assert len({first, registry.show(f"DI:{identifier}"), registry.show(dataset)}) == 2
    with raises("usage", ar.Error):
        registry.show(f"DI:{identifier}", known_at="2001-01-02")
    with raises("no-history", ar.NotFound):
        registry.show(NAME, known_at="2001-01-02")
    assert registry.show(NAME, known_at=datetime.now(timezone.utc)) == registry.show(dataset)


def test_a_later_change_leaves_a_set_as_it_was(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    held = registry.show(NAME)
    dataset.ingest(["X"], at="2001-02-01")
    assert list(held) == sorted(lines("us-2001-01-02.txt") + lines("us-2001-01-03.txt")) and "X" not in held
    assert registry.compare(held, dataset).only_right._repr_html_().count("<td>") == 1


def test_sets_are_compared_with_sets_lists_and_directories(registry: ar.Registry, tmp_path: Path) -> None:
    dataset = seeded(registry)
    first = registry.show(f"{NAME}@2001-01-02")
    comparison = registry.compare(first, NAME)
    assert (comparison.identical, comparison.names_identical, comparison.matched) == (False, False, 11)
    assert comparison.checksums_identical is None and comparison.not_compared == 11
    assert list(comparison.only_right) == lines("us-2001-01-03.txt") and not comparison.only_left
    assert registry.compare(dataset, list(registry.show(dataset))).identical
    with pytest.raises(TypeError, match=".identical"):
        bool(comparison)
    tmp_path = tmp_path / "data"
    tmp_path.mkdir()
    for name in first:
        (tmp_path / name).touch()
    assert registry.compare(first, tmp_path, names_only=True).names_identical
    assert ar.compare(list(first), tmp_path, names_only=True).identical
    assert ar.compare(f"DI:{first.identifier}", tmp_path).identical, "no registry knows it"
    assert not ar.compare(f"DI:{first.identifier}", ["A"]).identical


def test_a_listing_that_took_hours_is_compared_with_each_moment_of_it(registry: ar.Registry) -> None:
    dataset = registry.dataset("D")
    dataset.sync(["A", "B", "C"], at="2024-03-01", create=True)
    dataset.ingest(["D"], delete=["B"], at="2024-03-05T03:00Z")
    for listed, left, right in ((["A", "B", "C"], [], []), (["A", "X"], ["C"], ["X"])):
        assert not registry.compare(dataset, listed).identical
        compared = registry.compare(dataset, listed, scanned="2024-03-05T01:00/2024-03-05T07:30")
        assert (list(compared.only_left), list(compared.only_right)) == (left, right)
        assert compared.identical == compared.names_identical == (not left)


def test_a_set_of_another_registry_is_compared_by_its_granules(registry: ar.Registry, tmp_path: Path) -> None:
    seeded(registry)
    with ar.open(tmp_path / "other.db", create=True) as other:
        other.dataset(NAME).sync([ar.File("A", "a.nc", 1, {"md5": "a" * 32})], create=True)
        registry.dataset("A").sync([ar.File("A", "a.nc", 1, {"md5": "a" * 32})], create=True)
        assert not registry.compare(other.show(NAME), NAME).matched
        compared = registry.compare("A", other.dataset(NAME))
        assert compared.identical and compared.checksums_identical


def test_what_is_refused_changes_nothing_and_says_what_to_do(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    before, held = registry.show(NAME), lines("us-2001-01-02.txt")
    with raises("held") as refused:
        dataset.ingest(["X", held[0]], at="2001-02-01")
    assert (refused.value.granule, refused.value.file, refused.value.line) == (held[0], "listing", 2)
    assert "skip_existing=True" in str(refused.value) and refused.value.hint in str(refused.value)
    for listing, at, kind in (([], "2001-02-01", "empty"), (["X"], "2001-01-01", "not-after-last")):
        with raises(kind):
            dataset.sync(listing, at=at)
    with raises("not-held", ar.NotFound):
        dataset.delete(["X"])
    with raises("dataset-unknown", ar.NotFound) as unknown:
        registry.show("US.FOOL2.O02")
    assert isinstance(unknown.value, LookupError) and f"did you mean {NAME}?" in str(unknown.value)
    with raises("input", match="listing:2"):
        dataset.ingest(["X", "a\nb"], at="2001-02-01")
    with pytest.raises(TypeError, match="unexpected keyword argument 'skip_missing'"):
        dataset.ingest(["X"], skip_missing=True)  # type: ignore[call-arg]
    assert registry.show(NAME) == before
    change = dataset.ingest(["X", held[0]], at="2001-02-01", skip_existing=True, dry_run=True)
    assert (change.added, change.skipped) == (1, 1) and "X" not in registry.show(NAME)
    assert dataset.ingest(["X", held[0]], at="2001-02-01", skip_existing=True).set == registry.show(NAME)


def test_several_sets_of_one_name_are_listed_as_candidates(
    registry: ar.Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, digit in (("A", "a"), ("B", "b")):
        registry.dataset(name).create(doi="10.9999/X", shared_doi=name == "B")  # type: ignore[call-arg]
        registry.dataset(name).sync([ar.File("G", "G", 1, {"md5": digit * 32})])
    with raises("ambiguous", ar.Ambiguous) as ambiguous:
        registry.show("10.9999/X")
    assert ambiguous.value.candidates == ("A", "B") and isinstance(ambiguous.value, ar.NotFound)
    shared = registry.show(f"DI:{registry.show('A').identifier}")
    with raises("ambiguous", ar.Ambiguous) as ambiguous:
        assert shared.digest
    assert {registry.show(name).digest for name in ambiguous.value.candidates} == {
        registry.show(name).digest for name in "AB"
    }
    with raises("ambiguous", ar.Ambiguous) as ambiguous:
        list(shared.files)
    assert len(ambiguous.value.candidates) == 2 and list(shared) == ["G"] and shared.dataset is None
    monkeypatch.chdir(tmp_path)
    Path("A").touch()
    with raises("ambiguous", ar.Ambiguous) as ambiguous:
        registry.show("A")
    assert ambiguous.value.candidates == ("A@now", "./A")
    assert registry.show(registry.dataset("A")) == registry.show("A@now"), "a dataset is no file of its name"


def test_damage_is_an_error_of_its_own(file: ar.Registry) -> None:
    import sqlite3

    ids = [f"granule-{number:05}" for number in range(9_000)]
    file.dataset("US").sync(ids, create=True)
    path = file.address
    file.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM granule WHERE granule_id = 'granule-08000'")
    connection.close()
    with ar.open(path) as damaged:
        with raises("damaged", ar.Damaged, match="US"):
            list(damaged.show("US"))
        [verified] = damaged.verify()
        assert not verified.ok and verified.mismatches[0].text


def test_a_change_is_taken_back(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first = registry.show(f"{NAME}@2001-01-02")
    assert dataset.revert(at="2001-02-01").set == first
    assert dataset.revert(f"{NAME}@2001-01-03", at="2001-02-02").added == 1
    both = dataset.ingest(["X"], delete=sorted(first)[:1], at="2001-02-03")
    assert (both.added, both.removed) == (1, 1)


def test_a_time_has_a_zone(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    with pytest.raises(TypeError, match="at: a datetime needs a time zone"):
        dataset.sync(["A"], at=datetime(2001, 1, 2, 12))
    with pytest.raises(TypeError, match="note: float is not"):
        dataset.sync(["A"], note=5.0)  # type: ignore[arg-type]
    with raises("future"):
        dataset.ingest(["A"], at=datetime.now(timezone.utc) + timedelta(days=9))
    change = dataset.ingest(["A"], at=datetime(2001, 2, 1, 2, tzinfo=timezone(timedelta(hours=2))))
    assert change.set.since == datetime(2001, 2, 1, tzinfo=timezone.utc)


def test_a_history_is_imported_and_mirrored(registry: ar.Registry, tmp_path: Path) -> None:
    dataset = seeded(registry)
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(registry.run("dataset", "export", NAME))
    copy = registry.dataset("COPY")
    assert copy.import_history(manifest, create=True).set == registry.show(NAME)
    assert not copy.import_history(manifest).changed
    mirror = registry.dataset("MIRROR").mirror
    assert mirror.pull(manifest, create=True).added == 12 and mirror.source == str(manifest)
    compared = mirror.compare()
    assert compared.identical and compared.names_identical and compared.behind is None
    assert compared.checksums_identical is None, "there are none"
    dataset.ingest(["X"], at="2001-02-01")
    manifest.write_text(registry.run("dataset", "export", NAME))
    behind = mirror.compare(manifest)
    assert behind.behind == 1 and list(behind.only_right) == ["X"] and not behind.identical
    assert mirror.pull().changed
    with raises("usage", match="not pulled"):
        copy.mirror.pull()


def test_the_files_of_a_mirror_are_checked_beside_the_comparison(registry: ar.Registry, tmp_path: Path) -> None:
    root = tmp_path / "files"
    root.mkdir()
    for name in "ABC":
        (root / name).write_text(name)
    registry.dataset("PRIMARY").sync(root, create=True, checksums=True)
    (tmp_path / "manifest.jsonl").write_text(registry.run("dataset", "export", "PRIMARY"))
    mirror = registry.dataset("MIRROR").mirror
    mirror.pull(tmp_path / "manifest.jsonl", create=True)
    never = mirror.compare(checked_within="90d")
    assert never.checksums_identical and never.files is None and not never.identical
    for _ in range(2):
        good = mirror.compare(files=root, checked_within="90d")
        assert good.identical and good.files and good.files.ok and good.files.files == 3
    assert mirror.compare(checked_within="90d").identical
    (root / "stray").write_text("of no granule")
    stray = mirror.compare(files=root)
    assert stray.identical and stray.files and stray.files.ok, "it does not make the copy bad"
    (root / "B").write_text("other")
    bad = mirror.compare(files=root)
    assert bad.names_identical and bad.checksums_identical and not bad.identical
    assert bad.files and [(it.path, it.status) for it in bad.files.findings] == [("B", "size")]
    [status] = registry.status("MIRROR", checked_within="90d")
    assert len(status.problems) == 1
    assert mirror.source == str(tmp_path / "manifest.jsonl")
    registry.run("dataset", "withdraw", "MIRROR", note="a test")
    assert mirror.source is None


def test_a_set_of_an_earlier_time_is_checked_and_cited(file: ar.Registry, tmp_path: Path) -> None:
    dataset = file.dataset("LATE")
    for name in "AB":
        (tmp_path / name).write_text(name)
    dataset.sync([ar.File("A", "A", 1, {})], create=True, at="2001-01-02")
    then = datetime.now(timezone.utc)
    dataset.sync([ar.File(name, name, 1, {}) for name in "ABC"], at="2001-01-03")
    known = file.show("LATE", known_at=then)
    assert list(known) == ["A"]
    check = known.check_files(tmp_path)
    assert check.ok and check.files == 1, "C does not exist, and was not known"
    assert f"DI:{known.identifier}, as held at 2001-01-02)" in known.cite().text
    assert known.cite().text in known._repr_html_()
    assert file.compare(known, ["A"]).identical


def test_the_record_of_a_dataset_is_edited(registry: ar.Registry) -> None:
    dataset = registry.dataset("NEW")
    record = dataset.create(title="T", creator="A, B", max_delete="5%", free_access=True, keyword=["ozone", "level 2"])
    assert (record.title, record.creators, record.max_delete, record.free_access) == ("T", ("A, B",), "5%", True)
    assert record.keywords == ("ozone", "level 2") and record.latest is None
    assert dataset.edit(title="", temporal="2001-01-02/..").title is None
    assert dataset.record == registry.dataset("NEW").record and [row.name for row in registry.datasets()] == ["NEW"]
    with raises("usage"):
        dataset.edit(colour="red")  # type: ignore[call-arg]
    with raises("no-history", ar.NotFound):
        registry.show(dataset)
    with raises("dataset-unknown", ar.NotFound):
        assert registry.dataset("OLD").record


def test_any_other_command_is_run_by_its_words(registry: ar.Registry, tmp_path: Path) -> None:
    seeded(registry)
    [published] = [registry.run("publish", str(tmp_path / "www"), NAME, public_url="https://example.org/")]
    assert published["dataset"] == NAME and published["changes"] == 2
    assert registry.run("verify", str(tmp_path / "www"))["ok"]
    assert registry.run("dataset", "rename", NAME, "OTHER")["former_names"] == [NAME]
    assert "Record which files" in registry.run("--help")
    for words in (("serve",), ()):
        with raises("usage", match="accession serve"):
            registry.run(*words)
    with raises("usage", match="unrecognized"):
        registry.run("nothing")


def test_a_set_is_annotated_and_who_cites_it_is_warned(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    first = registry.show(f"{NAME}@2001-01-02")
    [noted] = registry.annotate(first, "the listing was incomplete", questionable=True)
    assert noted.timestamp == first.since and noted.annotations[0].recorded_by == "tester"
    with pytest.warns(ar.RegistryWarning, match="questionable: the listing was incomplete") as caught:
        first.cite()
    assert caught[0].filename == __file__, "the line that called it"
    both = registry.annotate(f"{NAME}@2001-01-02", "a test", until="2001-01-03")
    assert [row.timestamp.day for row in both] == [2, 3]
    registry.annotate(dataset, "the last one", questionable=True)
    [status] = registry.status()
    assert status.problems == ("the set in force is questionable: the last one",)
    [old] = registry.status(NAME, max_age="0s")
    assert len(old.problems) == 2
    with raises("dataset-unknown", ar.NotFound):
        registry.status("nothing")


@pytest.mark.filterwarnings("default")
def test_a_warning_points_to_the_line_of_the_caller_and_stays_with_the_change(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    held = lines("us-2001-01-03.txt")[0]
    with pytest.warns(ar.RegistryWarning, match="skipped 1 granule: 1 already held") as caught:
        change = dataset.ingest([held, "NEW"], at="2001-01-04", skip_existing=True)
    assert {it.filename for it in caught} == {__file__} and change.warnings == tuple(str(it.message) for it in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ar.RegistryWarning, match="skipped 1 granule"):
            dataset.ingest([held, "NEWER"], at="2001-01-05", skip_existing=True)
    assert [it.ingested for it in registry.history(NAME)][-2:] == [1, 1], "the change was made all the same"


def test_a_sync_that_changes_nothing_is_confirmed_and_one_that_is_refused_is_shown(registry: ar.Registry) -> None:
    dataset = registry.dataset(NAME)
    assert dataset.sync(["A", "B"], create=True).changed
    again = dataset.sync(["B", "A", "B"])
    assert not again.changed and again.added == 0 and again.skipped == 1 and again.set == registry.show(NAME)
    assert dataset.record.confirmed and dataset.record.confirmed["granules"] == 2
    with raises("input"):
        dataset.sync(["A", ""])
    [status] = registry.status()
    assert status.refused and status.refused["reason"].startswith('listing:2: "" is refused')


def test_objects_are_pickled_by_their_address(registry: ar.Registry) -> None:
    dataset = seeded(registry)
    [granule, *_] = lines("us-2001-01-02.txt")
    dataset.add_checksums([ar.File(granule, granule, 1, {"md5": "a" * 32})], at="2001-02-01")
    first, latest = registry.show(f"{NAME}@2001-01-03"), registry.show(NAME)
    assert first.identifier == latest.identifier and first != latest, "the digest counts"
    for one in (first, latest):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and list(again) == list(one) and again.since == one.since
    assert pickle.loads(pickle.dumps(dataset)).record == dataset.record
    assert pickle.loads(pickle.dumps(registry)).address == registry.address
    with pytest.raises(TypeError, match="listing"):
        pickle.dumps(registry.show(["A"]))


def test_replaced_contents_are_another_set(registry: ar.Registry) -> None:
    dataset = registry.dataset("D")
    before = dataset.sync([ar.File("A", "A", 1, {"md5": "a" * 32}), ar.File("B", "B", None, {})], create=True)
    assert list(before.set.files) == [ar.File("A", "A", 1, {"md5": "a" * 32})]
    other = [ar.File("A", "A", 1, {"md5": "b" * 32}), ar.File("B", "B", None, {})]
    with raises("content-contradicts", ar.Refused):
        dataset.sync(other)
    compared = registry.compare("D", other)
    assert not compared.identical and compared.names_identical and list(compared.different) == ["A"]
    assert compared.checksums_identical is False and compared.not_compared == 1


def test_files_are_computed_and_checked(registry: ar.Registry, tmp_path: Path) -> None:
    contents = {"A.nc": b"abc", "B.nc": b"defg", "C.nc": b""}
    root = tmp_path / "data"
    root.mkdir()
    for name, content in contents.items():
        (root / name).write_bytes(content)
    dataset = registry.dataset("US")
    held = dataset.sync(root, create=True, checksums=True).set
    assert held == ar.show([ar.File(it.granule, it.path, it.size, it.checksums) for it in held.files])
    assert held.digest != ar.show(root).digest, "without checksums"
    assert dataset.compute_checksums(root).ok and held.check_files(root).files == 3
    (root / "A.nc").write_bytes(b"abd")
    (root / "B.nc").unlink()
    (root / "D.nc").write_bytes(b"new")
    found = held.check_files(root, unexpected=True)
    assert [(row.granule, row.status) for row in found.findings] == [
        ("A.nc", "checksum"),
        ("B.nc", "missing"),
        (None, "unexpected"),
    ]
    assert not found.ok and found.complete and held.check_files(root, within="1h").files == 3
    assert [row.status for row in held.check_files(root, sizes_only=True).findings] == ["missing"]
    [status] = registry.status("US", checked_within="90d")
    assert status.fixity and status.fixity["open"] == 3
    for nothing in (tmp_path / "nothing", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with raises("not-mounted"):
            held.check_files(nothing)
    with raises("usage"):
        held.check_files(root, within="soon")


def test_a_registry_is_closed_by_its_block(tmp_path: Path) -> None:
    with ar.open(tmp_path / "r.db", create=True) as registry:
        kept = registry.show(seeded(registry))
    with raises("closed"):
        list(kept)
    with raises("registry-missing", ar.NotFound, match="create=True"):
        ar.open(tmp_path / "nothing.db")
    with raises("not-a-registry"):
        (tmp_path / "text").write_text("text " * 100)
        ar.open(tmp_path / "text")
    assert not (tmp_path / "nothing.db").exists()


def test_an_address_is_shown_without_its_password(address: str) -> None:
    with_password = address.replace("accession@", "accession:secret@")
    with ar.open(with_password, create=True) as registry:
        held = registry.dataset("D").sync(["A"], at="2001-01-02", create=True).set
        assert "secret" not in registry.address + repr(registry) + registry._repr_html_()
        assert (b"secret" in pickle.dumps(held)) == ("://" in address)


def test_values_say_what_they_are_and_never_raise(file: ar.Registry) -> None:
    dataset = seeded(file)
    first = file.show(f"{NAME}@2001-01-02")
    assert repr(first) == "<Set DI:7fb1e8ba9b0c9888858b66f6a1732d2c, 11 granules, US.FOOL2.002>"
    assert "Copy this into your paper" in first._repr_html_() and NAME in file._repr_html_()
    compared = file.compare(first, ["<i>A"])._repr_html_()
    assert "11 only left" in compared and "<td>&lt;i&gt;A</td>" in compared
    assert "7fb1e8ba" in file.history(NAME)._repr_html_() and "<script" not in dataset._repr_html_()
    assert "no history yet" in file.dataset("NOTHING")._repr_html_()
    values = [first, file, dataset, file.history(), first.files, first.cite(), dataset.mirror, file.dataset("NOTHING")]
    file.close()
    for value in values:
        shown = getattr(value, "_repr_html_", value.__repr__)()
        assert shown and repr(value), "a closed registry"

"""Sizes and checksums of files: recorded, computed, checked and listed, in both stores."""

import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import raises

import accession_registry as ar

CONTENTS = {"A.nc": b"abc", "B.nc": b"defg", "C.nc": b""}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    for name, content in CONTENTS.items():
        (directory / name).write_bytes(content)
    return directory


@pytest.fixture
def dataset(registry: ar.Registry) -> ar.Dataset:
    dataset = registry.dataset("US")
    dataset.sync(list(CONTENTS), create=True)
    return dataset


def test_checksums_are_computed_checked_and_listed(registry: ar.Registry, dataset: ar.Dataset, root: Path) -> None:
    assert dataset.set().digest == ar.identify(list(CONTENTS)).digest
    computed = dataset.fixity_compute(root, note="first inventory")
    assert computed.ok and computed.files == 3 and computed.bytes == 7 and computed.complete
    listed = "".join(f"{sha256(content)}  {name}\n" for name, content in CONTENTS.items())
    assert dataset.set().fixity_list() == listed
    lines = "".join(f"{name}\tsha-256:{sha256(content)}\n" for name, content in CONTENTS.items())
    assert dataset.set().digest == f"sha256:{sha256(lines.encode())}"
    assert dataset.set().fixity_list(format="bagit") == listed.replace("  ", "  data/")
    [size] = {row.size for row in dataset.set().files() if row.granule == "B.nc"}
    assert size == 4

    assert dataset.set().fixity_check(root, root_name="node").ok
    (root / "A.nc").write_bytes(b"abd")
    (root / "B.nc").unlink()
    (root / "D.nc").write_bytes(b"new")
    found = dataset.set().fixity_check(root, root_name="node", unexpected=True, jobs=1)
    assert [(row.granule, row.path, row.status) for row in found.findings] == [
        ("A.nc", "A.nc", "checksum"),
        ("B.nc", "B.nc", "missing"),
        (None, "D.nc", "unexpected"),
    ]
    assert found.findings[0].expected == f"sha-256:{sha256(b'abc')}" and not found.ok
    assert [row.status for row in dataset.set().fixity_check(root, size_only=True).findings] == ["missing"]

    [status] = registry.status("US", "US", max_age="1d", checked_within=timedelta(days=1))
    assert status.fixity is not None and status.fixity.open == 3
    assert [(root.root, root.files) for root in status.fixity.roots] == [("node", 3)]
    first = status.fixity.first
    assert {(row.path, row.status, row.root) for row in first} == {
        ("A.nc", "checksum", "node"),
        ("B.nc", "missing", "node"),
        ("D.nc", "unexpected", "node"),
    }
    assert status.problems == ["3 files are not as recorded"] and first[0].first_seen <= datetime.now(timezone.utc)
    assert dataset.fixity_forget("node") == 3
    with raises("usage", match="never checked"):
        dataset.fixity_forget("node")


def test_a_part_of_a_set_is_checked_each_night(dataset: ar.Dataset, root: Path) -> None:
    dataset.fixity_compute(root)
    checked = dataset.set().fixity_check(root, for_=timedelta(hours=1))
    assert checked.complete and checked.files == 3
    assert dataset.set().fixity_check(root, for_="90s").files == 3
    with raises("usage", match="for_"):
        dataset.set().fixity_check(root, for_="soon")
    with raises("usage"):
        dataset.set().fixity_check(root, for_="1h", unexpected=True)


def test_a_directory_that_is_not_mounted_is_not_a_million_findings(dataset: ar.Dataset, tmp_path: Path) -> None:
    with raises("not-mounted"):
        dataset.set().fixity_check(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with raises("not-mounted"):
        dataset.fixity_compute(tmp_path / "empty")
    assert len(dataset.fixity_compute(tmp_path / "empty", mounted=True).findings) == 3


def test_what_contradicts_a_record_is_refused_until_it_is_accepted(dataset: ar.Dataset, tmp_path: Path) -> None:
    record = ar.FileRecord("A.nc", "A.nc", 3, {"sha-256": sha256(b"abc")})
    described = dataset.fixity_add([record], note="delivered").instance
    assert described and (described.described, described.replaced, described.note) == (1, 0, "delivered")
    assert not dataset.fixity_add([record]).changed
    other = ar.FileRecord("A.nc", "A.nc", 3, {"sha-256": sha256(b"abd")})
    with raises("content-contradicts", match="max_replace=N"):
        dataset.fixity_add([other])
    replaced = dataset.fixity_add([other], max_replace=1, note="reprocessed").instance
    assert replaced and replaced.replaced == 1 and replaced.identifier == described.identifier
    assert replaced.digest == dataset.set().digest != described.digest == dataset.set(at=described.timestamp).digest
    assert list(dataset.set().files()) == [other]
    with pytest.warns(UserWarning, match="left out 2 granules without sha-256"):
        assert dataset.set(at=described.timestamp).fixity_list().startswith(sha256(b"abc"))

    sums = tmp_path / "sha256sum.txt"
    sums.write_text("".join(f"{sha256(content)}  {name}\n" for name, content in CONTENTS.items()))
    added = dataset.fixity_add(sums, max_replace="50%", note="as it was", dry_run=True)
    assert added.dry_run and added.instance and (added.instance.described, added.instance.replaced) == (2, 1)
    with raises("not-held"):
        dataset.fixity_add([ar.FileRecord("X", "X", 1, {})])
    assert dataset.fixity_add([ar.FileRecord("X", "X", 1, {})], skip_missing=True).skipped.missing == 1
    with raises("input", match="item:1"):
        dataset.fixity_add([ar.FileRecord("A.nc", "/A.nc", 1, {})])
    with raises("usage", match="no size and no checksum"):
        dataset.fixity_add([])


def test_a_failed_pull_is_a_problem_of_the_mirror(registry: ar.Registry, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    registry.dataset("PRIMARY").sync(["A"], create=True)
    registry.dataset("PRIMARY").export(manifest)
    mirror = registry.dataset("MIRROR")
    mirror.mirror_pull(manifest, create=True)
    [status] = registry.status("MIRROR", max_age="1d")
    assert status.problems == [] and status.mirrors[0].identical is not None
    registry.dataset("PRIMARY").ingest(["B"])
    registry.dataset("PRIMARY").export(manifest)
    with raises("not-after-last"):
        mirror.mirror_pull(at="2001-01-02")
    [status] = registry.status("MIRROR")
    assert status.problems == [], "a time that was given is not a failure of the primary"
    manifest.write_text("nothing\n")
    with pytest.raises(ar.Error):
        mirror.mirror_pull()
    [status] = registry.status("MIRROR")
    assert "failed" in status.problems[0] and str(manifest) in status.problems[0]
    registry.dataset("PRIMARY").export(manifest.with_name("whole.jsonl"))
    manifest.with_name("whole.jsonl").rename(manifest)
    assert mirror.mirror_pull().identical and registry.status("MIRROR")[0].problems == []
    manifest.unlink()
    with raises("io"):
        mirror.mirror_compare()
    assert "failed" in registry.status("MIRROR")[0].problems[0], "as the command line remembers it"

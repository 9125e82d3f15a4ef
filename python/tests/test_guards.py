"""What guards reject, and how a caller insists, in both stores."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import FIXTURES, not_checked, raises

import accession_registry as ar
from accession_registry._errors import FLAGS, PARAMETERS, in_python

IDS = [f"G{number:04}.nc" for number in range(1_100)]
HELD, NEW = IDS[:40], IDS[40:]


def files(digit: str) -> list[ar.File]:
    return [ar.File(granule, granule, 1, {"md5": digit * 32}) for granule in HELD]


RESPONSE = json.loads((FIXTURES / "input/umm.json").read_text())
REFUSED: list[tuple[str, Callable[..., ar.Change]]] = [
    ("too-many-deletions", lambda dataset, **more: dataset.sync(HELD[:10], **more)),
    ("too-many-deletions", lambda dataset, **more: dataset.delete(pl.Series(HELD[10:]), **more)),
    ("too-many-deletions", lambda dataset, **more: dataset.ingest(NEW[:5], delete=HELD[10:], **more)),
    ("too-many-additions", lambda dataset, **more: dataset.sync(pl.Series(IDS), **more)),
    ("too-many-additions", lambda dataset, **more: dataset.ingest(NEW, **more)),
    ("empty", lambda dataset, **more: dataset.sync([], **more)),
    ("unlike", lambda dataset, **more: dataset.ingest(["other/data", "retry later"], **more)),
    ("incomplete", lambda dataset, **more: dataset.ingest(RESPONSE, **more)),
    ("incomplete", lambda dataset, **more: dataset.sync(HELD[1:], total=40, **more)),
    ("content-contradicts", lambda dataset, **more: dataset.sync(files("b"), **more)),
    ("content-contradicts", lambda dataset, **more: dataset.add_checksums(iter(files("b")), **more)),
]


def insist(kind: str, dataset: ar.Dataset, change: Callable[..., ar.Change]) -> None:
    """Asserts that a change is rejected and shown, and is made by its expected set, which accepts no other change."""
    before = changes_of(dataset)
    with raises(kind, ar.Refused, match="repeat the call with expect='") as refused:
        change(dataset)
    planned, expect = refused.value.change, refused.value.expect
    assert expect == planned.expect and expect in (f"DI:{planned.set.identifier}", planned.set.digest)
    assert (expect == planned.set.digest) == (kind == "content-contradicts")
    with raises(kind, ar.Refused) as rehearsed:
        change(dataset, dry_run=True)
    assert rehearsed.value.expect == expect
    assert changes_of(dataset) == before, "nothing was recorded"
    if before:
        with raises("not-as-expected"):
            dataset.sync(HELD[2:], expect=expect)
    made = change(dataset, expect=expect)
    assert (made.changed, made.set, made.added, made.removed) == (True, planned.set, planned.added, planned.removed)
    assert len(changes_of(dataset)) == len(before) + 1


def changes_of(dataset: ar.Dataset) -> list[Any]:
    try:
        history: list[Any] = dataset._commands.call(["history", dataset.name])[0]
    except ar.NotFound:
        return []
    return history


@pytest.mark.filterwarnings("ignore:.*skipped ")
def test_each_guard_is_a_refusal_and_expect_makes_exactly_this_change(registry: ar.Registry) -> None:
    for number, (kind, change) in enumerate(REFUSED):
        dataset = registry.dataset(f"D-{number}")
        dataset.sync(files("a"), at="2001-01-02", create=True)
        insist(kind, dataset, change)
    # An expected set does not mean that a name is right.
    similar = registry.dataset("d.0")
    with raises("similar-name", match="there is no dataset d.0, but D-0") as found:
        similar.sync(HELD, create=True)
    assert not isinstance(found.value, ar.Refused)
    similar.create()
    assert similar.sync(HELD).added == len(HELD)


def test_a_clock_that_may_be_ahead_is_a_refusal(address: str, program: str) -> None:
    sync = ["sync", "D", "-", "--create", "--quiet"]
    command = ["faketime", "2020-01-02 00:00:00", program, "--registry", address, *sync]
    try:
        subprocess.run(command, input="\n".join(HELD), text=True, check=True)
    except FileNotFoundError:
        not_checked("the guard of the clock, because faketime is not installed")
    with ar.open(address) as registry:
        insist("clock-ahead", registry.dataset("D"), lambda it, **more: it.ingest(NEW[:1], **more))


def test_a_listing_of_an_import_is_refused_after_those_before_it_were_recorded(
    registry: ar.Registry, tmp_path: Path
) -> None:
    sources = [tmp_path / f"list-2001-01-0{day}.txt" for day in (1, 2, 3)]
    for source, granules in zip(sources, (HELD, HELD[:10], HELD[:9])):
        source.write_text("\n".join(granules))
    dataset = registry.dataset("D")
    with raises("too-many-deletions", ar.Refused, match="list-2001-01-02.txt") as refused:
        dataset.import_history(*sources, create=True)
    assert len(changes_of(dataset)) == 1 and refused.value.expect == f"DI:{ar.show(HELD[:10]).identifier}"
    assert refused.value.change.set.identifier == ar.show(HELD[:9]).identifier, "what the whole import would have done"
    assert dataset.import_history(*sources, expect=refused.value.expect).changed
    assert [instance.granules for instance in registry.history("D")] == [40, 10, 9]


def test_what_is_no_list_is_a_refusal_only_of_a_change(file: ar.Registry, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("find: './lost+found': Permission denied\n")
    with raises("not-a-list", ar.Refused):
        file.dataset("D").sync(log, create=True)
    with pytest.raises(ar.Error) as refused:
        ar.show(log)
    assert type(refused.value) is ar.Error and refused.value.kind == "not-a-list" and not file.datasets()


def test_a_hint_names_parameters_that_exist() -> None:
    hint = in_python("--column id, --skip-lines 1, --comment PREFIX, --no-files or --create; `accession sync A f --split ;`")
    assert hint == "column=… id, --skip-lines 1, --comment PREFIX, --no-files or create=True; `accession sync A f --split ;`"
    assert FLAGS | {"doi", "max_delete"} <= PARAMETERS and "skip_lines" not in PARAMETERS
    assert in_python("--primary-dataset US, --max-delete 3") == "--primary-dataset US, max_delete=3"

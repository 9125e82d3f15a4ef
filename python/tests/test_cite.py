"""Citations of the data used, most of them without a registry, and all without a network."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from conftest import lines, raises
from recorded import MD5, search_data

import accession_registry as ar

DOI = "10.9999/FOO/L2.002"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a machine without a network, which a citation does not need."""

    def refuse(*address: object) -> None:
        raise AssertionError(f"{address} was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_results_of_a_search_are_cited_by_the_doi_that_is_named(tmp_path: Path) -> None:
    results = search_data("FOOL2")
    used = ar.cite(results, of=DOI)
    listed = ar.show(results)
    assert (used.identifier, used.digest, used.granules) == (listed.identifier, listed.digest, 2)
    assert str(used) == used.text and DOI in used.text and f"DI:{listed.identifier}" in used.text
    assert used.text in used._repr_html_() and repr(used) == f"<Citation {used.text}>"
    used.save(tmp_path / "used.bib")
    assert (tmp_path / "used.bib").read_text() == used.bibtex and used.bibtex.startswith("@dataset{")
    used.save(tmp_path / "used.json")
    assert json.loads((tmp_path / "used.json").read_text()) and used.format("ris").startswith("TY  - ")
    for _ in range(2):
        used.save(tmp_path / "used")
    assert sorted(path.name for path in (tmp_path / "used").iterdir()) == ["granules.txt", "ro-crate-metadata.json"]
    assert (tmp_path / "used/granules.txt").read_text() == "".join(f"FOOL2.0{n}.nc\tmd5:{MD5}\n" for n in (1, 2))
    with raises("usage"):
        used.format("haiku")


def test_the_dataset_of_a_listing_must_be_named() -> None:
    with pytest.raises(TypeError, match="'of'"):
        ar.cite(["A"])  # type: ignore[call-arg]
    with raises("usage"):
        ar.cite([], of=DOI)


def test_a_file_has_one_identity(tmp_path: Path) -> None:
    file = tmp_path / "data" / "A.nc"
    file.parent.mkdir()
    file.write_text("a")
    cited = ar.cite(["A.nc"], of=DOI)
    for used in ([file], iter([file]), file.parent, [Path("elsewhere/A.nc")]):
        assert ar.cite(used, of=DOI).identifier == cited.identifier
    assert ar.show(["data/A.nc"]).cite(of=DOI).identifier != cited.identifier, "a string is the id"


def test_a_listing_is_cited_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("name,id\nB,1\nA,2\n")
    shown = ar.show(path, column="name")
    assert shown == ar.show(["A", "B"]) and shown.cite(of=DOI).identifier == shown.identifier
    with raises("usage"):
        shown.cite(of=DOI, digest=True)


def test_a_record_of_the_doi_has_the_title(tmp_path: Path) -> None:
    record = {"type": "dataset", "DOI": DOI.lower(), "title": "FOO Level 2", "author": [{"family": "Tilmes"}]}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    for given in (path, str(path)):
        assert ar.cite(["A"], of=given).text.startswith("Tilmes. FOO Level 2.")


def test_a_set_of_a_registry_is_cited_checked_and_found(registry: ar.Registry) -> None:
    dataset = registry.dataset("US")
    dataset.create(doi=DOI, title="FOO Level 2", creator="Tilmes, Curt", year=2001, publisher="US Archive")
    dataset.sync(lines("us-2001-01-02.txt"), at="2001-01-02")
    first = registry.show("US@2001-01-02")
    cited = first.cite()
    assert f"DI:{first.identifier}" in cited.text and cited.granules == 11 and cited.digest == first.digest
    assert first.digest in first.cite(digest=True).text
    [checked] = registry.check(cited.text)
    assert checked.ok and checked.identifier == first.identifier and checked.doi == DOI
    [wrong] = registry.check(f"{DOI}, 2001-01-02, DI:{'0' * 32}")
    assert not wrong.ok and wrong.problem
    subset = sorted(first)[:3]
    part = registry.cite("US@2001-01-02", select_from=subset)
    assert part.granules == 3 and part.identifier == ar.show(subset).identifier
    found = registry.show(f"DI:{part.identifier}")
    assert list(found) == subset and found.dataset == "US" and found.periods == ()
    assert registry.cite("US@2001-01-02", select=[f"{subset[0]}", subset[1]]).granules == 2
    with raises("selects-nothing", ar.NotFound):
        registry.cite("US", select="nothing*")


def test_a_set_that_has_changed_is_not_cited_in_another_format(registry: ar.Registry) -> None:
    dataset = registry.dataset("US")
    dataset.sync(["A"], create=True)
    cited = registry.cite("US")
    assert "A" not in cited.text or cited.bibtex
    dataset.ingest(["B"])
    with pytest.warns(ar.RegistryWarning, match="was also in force"), raises("conflict", match="cite it again"):
        cited.format("ris")


def test_references_in_a_file_are_checked(registry: ar.Registry, tmp_path: Path) -> None:
    registry.dataset("US").sync(["A"], at="2001-01-02", create=True)
    bibliography: Any = tmp_path / "paper.bib"
    registry.show("US@2001-01-02").cite().save(bibliography)
    for given in (bibliography, str(bibliography)):
        [checked] = registry.check(given)
        assert checked.ok and checked.line and checked.key

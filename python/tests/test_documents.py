"""Runs the guide, the README, the examples and the notebook."""

import doctest
import json
import runpy
import shutil
import sys
from pathlib import Path

import duckdb
import nbclient
import nbformat
import pytest
import recorded
from conftest import FIXTURES

import accession_registry as ar

PACKAGE = Path(__file__).parents[1]
EXAMPLES = PACKAGE / "examples"


@pytest.mark.parametrize("document", ["README.md", "../docs/guide/python.md"])
def test_the_examples_of_documents_run(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "earthaccess", recorded)
    recorded.inventory(tmp_path / "inventory")
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    with recorded.stac_api() as address:
        names = {"stac_api": address}
        failed, tried = doctest.testfile(
            str(PACKAGE / document), module_relative=False, optionflags=options, encoding="utf-8", globs=names
        )
    assert tried > 5 and failed == 0


def run(name: str, *arguments: object) -> None:
    """Runs an example as a program."""
    sys.argv = [name, *(str(argument) for argument in arguments)]
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


@pytest.mark.filterwarnings("ignore")
def test_a_nightly_sync_takes_a_recorded_response(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registry, whole = tmp_path / "registry.db", tmp_path / "umm.json"
    with pytest.raises(SystemExit, match="found 4 granules, but the files contain only 3"):
        run("nightly_sync.py", registry, "UMM", FIXTURES / "input/umm.json")
    whole.write_text((FIXTURES / "input/umm.json").read_text().replace('"hits": 4', '"hits": 3'))
    for _ in range(2):
        run("nightly_sync.py", registry, "UMM", whole)
        run("nightly_sync.py", registry, "STAC", FIXTURES / "input/stac.json")
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("UMM: +2 -0, identifier ") and last.startswith("STAC: +0 -0, identifier ")
    assert second.split("identifier ")[1] == last.split("identifier ")[1]


def test_a_notebook_is_cited_and_its_set_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "registry.db"
    with ar.open(path, create=True) as registry:
        registry.dataset("US").sync(["a.nc", "b.nc", "c.nc"], create=True)
    run("cite_what_my_notebook_used.py", path, "US", "/data/c.nc", "/data/a.nc", "/data/b.nc")
    assert f"DI:{ar.show(['a.nc', 'b.nc', 'c.nc']).identifier}" in capsys.readouterr().out
    run("cite_what_my_notebook_used.py", path, "US", "/data/a.nc")
    part = capsys.readouterr().out
    assert f"DI:{ar.show(['a.nc']).identifier}" in part
    run("cited_set_into_duckdb.py", path, part, tmp_path / "cited.duckdb")
    assert capsys.readouterr().out == "1 granules\n"
    with duckdb.connect(str(tmp_path / "cited.duckdb")) as database:
        assert database.sql("SELECT granule FROM granule").fetchall() == [("a.nc",)]


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "notebook.ipynb", tmp_path)
    notebook = nbformat.read(tmp_path / "notebook.ipynb", as_version=4)
    warns = 'dataset.ingest(["FOOL2.01.nc", "FOOL2.12.nc"], skip_existing=True).added'
    notebook.cells.append(nbformat.v4.new_code_cell(warns))
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    _, _, registry, cited, rows, warned = [cell.get("outputs", []) for cell in notebook.cells]
    assert "US.FOOL2.002" in registry[0]["data"]["text/html"]
    html = cited[0]["data"]["text/html"]
    assert "Copy this into your paper" in html
    assert "<Set DI:" in cited[0]["data"]["text/plain"]
    assert rows[0]["data"]["text/plain"] == "1"
    text = "".join(output.get("text", "") for output in warned)
    assert "RegistryWarning: skipped 1 granule" in text and warns in text, "at the line of the cell"

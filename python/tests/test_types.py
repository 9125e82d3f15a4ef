"""The types of the package, and the examples in its documentation."""

import builtins
import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accession_registry as ar
from accession_registry import _native


def mypy(where: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", *arguments]
    # Where it is imported from: installed, or built in place.
    package = Path(ar.__file__).parents[1]
    installed = "site-packages" in package.parts
    environment = {**os.environ, "MYPYPATH": "" if installed else str(package)}
    checked = subprocess.run(command, env=environment, cwd=where, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_types_are_strict(tmp_path: Path) -> None:
    mypy(tmp_path, "mypy", "--strict", "-p", "accession_registry")


def test_the_types_are_those_of_the_module(tmp_path: Path) -> None:
    mypy(tmp_path, "mypy.stubtest", "accession_registry")


def test_everything_has_a_documentation() -> None:
    for name in ar.__all__:
        value = getattr(ar, name)
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value.__module__ == "accession_registry" and not issubclass(value, Exception):
            for member, of in vars(value).items():
                assert member.startswith("__") or member == "_repr_html_" or inspect.getdoc(of), f"{name}.{member}"


def test_every_kind_of_error_has_a_class() -> None:
    classes = [value for value in vars(_native).values() if inspect.isclass(value) and issubclass(value, ar.Error)]
    assert len(classes) > 80
    assert not {value.__name__ for value in classes} & set(dir(builtins))
    assert all(value.__name__.endswith("Error") and value.__module__ == "accession_registry" for value in classes)
    with pytest.raises(ar.Error) as refused:
        ar.open("/nothing/at/all")
    assert type(refused.value) is ar.RegistryMissingError


@pytest.mark.parametrize("name", ["", "identify", "open"])
def test_the_examples_of_the_documentation_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    what = getattr(ar, name) if name else ar
    globs = {**vars(ar), "ar": ar}
    [test] = doctest.DocTestFinder(recurse=False).find(what, name or "accession_registry", globs=globs)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0

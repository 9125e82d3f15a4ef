"""The types of the package, and the examples in its documentation."""

import doctest
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import accession_registry as ar


def check_types(where: Path, *arguments: str) -> None:
    # The package is installed, or built in place.
    package, tests = Path(ar.__file__).parents[1], Path(__file__).parent
    paths = [tests] if "site-packages" in package.parts else [tests, package]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", *arguments]
    checked = subprocess.run(command, env=environment, cwd=where, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_package_and_what_people_write_have_strict_types(tmp_path: Path) -> None:
    check_types(tmp_path, "mypy", "--strict", "-p", "accession_registry", "-m", "cells")


def test_the_types_are_those_of_the_module(tmp_path: Path) -> None:
    check_types(tmp_path, "mypy.stubtest", "accession_registry")


def test_everything_has_a_documentation() -> None:
    assert len(ar.__all__) == len(set(ar.__all__)) == 26 and ar.__all__ == sorted(ar.__all__)
    for name in ar.__all__:
        value = getattr(ar, name)
        assert inspect.getdoc(value), name
        assert value.__module__.startswith("accession_registry")
        for member, of in vars(value).items() if inspect.isclass(value) else ():
            if inspect.isfunction(of) or isinstance(of, property):
                assert member.startswith("_") or inspect.getdoc(of), f"{name}.{member}"


def test_an_error_says_why_and_survives_a_pickle() -> None:
    with pytest.raises(ar.NotFound) as refused:
        ar.open("/nothing/at/all")
    for error in (refused.value, pickle.loads(pickle.dumps(refused.value))):
        assert (error.kind, error.file, type(error)) == ("registry-missing", None, ar.NotFound)
        assert error.hint and "create=True" in error.hint and str(error).endswith(f"\nhint: {error.hint}")


def documented() -> Iterator[tuple[str, str]]:
    """The names of the package, of its functions, its classes and their members, with their documentation."""
    yield "", inspect.getdoc(ar) or ""
    for name in ar.__all__:
        value = getattr(ar, name)
        yield name, inspect.getdoc(value) or ""
        for member, of in vars(value).items() if inspect.isclass(value) else ():
            yield f"{name}.{member}", inspect.getdoc(of) or ""


EXAMPLES = [(name, text) for name, text in documented() if ">>>" in text]


@pytest.mark.parametrize("name, text", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_examples_of_the_documentation_run(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The examples run as if pasted below `import accession_registry as ar`.
    test = doctest.DocTestParser().get_doctest(text, {"ar": ar}, name or "accession_registry", None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0

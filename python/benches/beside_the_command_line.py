"""Compares the speed of the package and the program in one run: show, list and sync of 1,000,000 ids.

Run it with the Python of an environment with the installed wheel, which contains both:
python python/benches/beside_the_command_line.py [GRANULES]
Exits with 1 if the package takes more than 1.3 times as long as the program.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import accession_registry as ar

PROGRAM = Path(sys.executable).parent / "accession"
ROUNDS = 5
MOST = 1.3


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def beside(what: str, program: Callable[[], object], package: Callable[[], object]) -> bool:
    """Compares the best times of both. Alternates between them, so that a busy machine slows both."""
    times = [(seconds(program), seconds(package)) for _ in range(ROUNDS)]
    of_program, of_package = (min(column) for column in zip(*times))
    ratio = of_package / of_program
    print(f"{what:<28} program {of_program:6.2f} s, package {of_package:6.2f} s, ratio {ratio:.2f}")
    return ratio <= MOST


def main(granules: int) -> bool:
    ids = [f"FOOL2.v2.{number:07}.bba34792-f256-4c54-81dd-9977e432c204" for number in range(granules)]
    column = pl.Series("granule", ids)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        listing = directory / "ids.txt"
        listing.write_text("".join(f"{identifier}\n" for identifier in ids))
        names = iter(range(1_000_000))

        def program(*arguments: object, registry: Path = directory / "a.db") -> None:
            command = [str(PROGRAM), "--registry", str(registry), *map(str, arguments)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def sync_by_program() -> None:
            program("sync", "US", "--create", listing, registry=directory / f"{next(names)}.db")

        def sync_by_package() -> None:
            with ar.open(directory / f"{next(names)}.db", create=True) as registry:
                registry.dataset("US").sync(column, create=True)

        program("sync", "US", "--create", listing)
        with ar.open(directory / "a.db") as registry:
            held = registry.show("US")
            results = [
                beside("show, a list of str", lambda: program("show", listing), lambda: ar.show(ids)),
                beside("show, a polars column", lambda: program("show", listing), lambda: ar.show(column)),
                beside("granules of a set", lambda: program("granules", "US"), lambda: pl.DataFrame(held)),
                beside("sync of a polars column", sync_by_program, sync_by_package),
            ]
    return all(results)


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))

"""Prints the cost of commands in datasets of different sizes: the first table of docs/about/performance.md.

sizes.py ACCESSION [CHANGESxGRANULES]...

ACCESSION is the program to measure. A dataset has CHANGES changes, each of which added GRANULES granules
with ids of 48 characters (granules.py). Each time is the shortest of three.
"""
import os
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
HERE = os.path.dirname(os.path.abspath(__file__))


def shown(seconds):
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def measure(accession, changes, granules):
    """The cells of a column, in the order of ROWS."""

    def run(*arguments, stdin=None, rounds=1):
        times = []
        for _ in range(rounds):
            begin = time.perf_counter()
            subprocess.run(
                [accession, *arguments], stdin=stdin, stdout=subprocess.DEVNULL, check=True,
                stderr=subprocess.DEVNULL,
            )
            times.append(time.perf_counter() - begin)
        return min(times)

    table = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "granules.py"), str(changes), str(granules)],
        stdout=subprocess.PIPE,
    )
    imported = run("import", "D", "-", "--format", "csv", "--create", stdin=table.stdout)
    assert table.wait() == 0
    size = os.path.getsize("accession.db")
    added = []
    for number in range(ROUNDS):
        with open("new.txt", "w") as listing:
            listing.writelines(f"granule.new.{number}.{granule:03}\n" for granule in range(288))
        at = ("--at", f"2020-01-0{number + 1}")
        added.append(run("--quiet", "ingest", "D", *at, "new.txt"))
    return [
        shown(imported),
        shown(min(added)),
        shown(run("show", "D@2000-01-01", rounds=ROUNDS)),
        shown(run("granules", "D", rounds=ROUNDS)),
        shown(run("verify", rounds=ROUNDS)),
        f"{size / 1e6:,.1f} MB",
    ]


ROWS = [
    "import the whole history",
    "add 288 granules at the end of the order",
    "look up an identifier by date",
    "list the granules, and prove the list",
    "`verify`: recompute every identifier",
    "size of the registry",
]


def main():
    accession = os.path.abspath(sys.argv[1])
    sizes = sys.argv[2:] or ["10x1000", "347x2880", "13889x7200"]
    sizes = [tuple(int(number) for number in size.split("x")) for size in sizes]
    columns = []
    for changes, granules in sizes:
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            columns.append(measure(accession, changes, granules))
            os.chdir(HERE)
    heads = [f"{changes * granules:,} granules, {changes:,} changes" for changes, granules in sizes]
    print("| What | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for row, cells in zip(ROWS, zip(*columns)):
        print(f"| {row} | " + " | ".join(cells) + " |")


main()

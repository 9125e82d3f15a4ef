"""Measures the commands that read or write a whole dataset, each with its limit, in one run.

large.py ACCESSION [CHANGES GRANULES_PER_CHANGE] [--piped] [--before OTHER]

ACCESSION is the program to measure. The dataset is that of granules.py, by default with 9,999,360
granules in 3,472 changes. The limits are measured with the shell `sqlite3`. With `--piped`, the table
is imported from standard input instead of a file, and measurements that need a second registry or a
manifest are left out. This is meant for 13889 changes of 7200 granules. On a machine that does other
work as well, compare processor times. `--before` names another build of the program, such as that of
the previous commit. Each command is then measured with both in turn, in ROUNDS rounds, with registries
that each build created itself. The ratios at the end are those of the shortest times.
"""
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
HERE = os.path.dirname(os.path.abspath(__file__))
LIST = "SELECT granule_id FROM granule WHERE dataset_id = 1 AND deleted IS NULL ORDER BY granule_id"
INSERT = """PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE granule (granule_id TEXT PRIMARY KEY, ingested TEXT) WITHOUT ROWID;
.import --csv --skip 1 granules.csv granule
"""


SORTED = """PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
ATTACH 'accession.db' AS registry;
CREATE TABLE granule (dataset_id INTEGER, granule_id TEXT, ingested INTEGER,
    PRIMARY KEY (dataset_id, granule_id, ingested)) WITHOUT ROWID;
INSERT INTO granule SELECT dataset_id, granule_id, ingested FROM registry.granule
    ORDER BY dataset_id, granule_id, ingested;
"""


# The shortest time and processor time of each measurement.
SHORTEST = {}


def run(what, command, stdin=None, piped=False, source=None):
    """Runs a command with its output to /dev/null or into a pipe, and prints its time.

    `source` is a command whose output is its input.
    """
    begin = time.perf_counter()
    reader = None
    stdout = subprocess.DEVNULL
    if piped:
        reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        stdout = reader.stdin
    written = subprocess.Popen(source, stdout=subprocess.PIPE) if source else None
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if stdin else written and written.stdout,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    )
    if reader:
        reader.stdin.close()
    if written:
        written.stdout.close()
    if stdin:
        child.stdin.write(stdin.encode())
        child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if reader:
        reader.wait()
    wall = time.perf_counter() - begin
    processor = usage.ru_utime + usage.ru_stime
    shortest = SHORTEST.get(what, (wall, processor))
    SHORTEST[what] = (min(shortest[0], wall), min(shortest[1], processor))
    print(
        f"| {what} | {time_of(wall)} | {time_of(processor)} | {usage.ru_maxrss / 1024:.0f} MB"
        f" | {usage.ru_oublock * 512 / 1e6:,.0f} MB | {child.returncode} |",
        flush=True,
    )


def ratio(what, numerator, denominator, bound):
    """Prints the ratio of two measurements, as time and as processor time."""
    of = [SHORTEST[numerator][index] / SHORTEST[denominator][index] for index in (0, 1)]
    print(f"| {what} | {of[0]:.2f} | {of[1]:.2f} | {bound} |", flush=True)


def compare_builds(builds, table, changes):
    """Measures every command with two builds in turn, each with the registry that it created itself."""
    state = f"D@{hour(int(changes) - 2)}"
    sizes = {}
    for number in range(ROUNDS):
        # The order alternates, so that neither build profits from the caches of the other.
        for build, program in builds[::-1] if number % 2 else builds:
            directory = f"{build}-{number}"
            os.mkdir(directory)
            os.chdir(directory)
            run(f"{build}: `import`", [program, "import", "D", table, "--create"])
            sizes[build] = os.path.getsize("accession.db")
            shutil.copy("accession.db", "mirror.db")
            mirror = [program, "--registry", "mirror.db", "mirror", "compare", "D"]
            for what, command in (
                ("`granules`", ["granules", "D"]),
                ("`compare`", ["compare", state, "D", "--summary"]),
                ("`verify`", ["verify", "--jobs", "1"]),
                ("`dataset export`", ["dataset", "export", "D", "--output", "manifest.jsonl"]),
                # Commands that take milliseconds are measured more often.
                *[("a look-up by date", ["cite", "D@2000-02-01", "--format", "tuple"])] * 20,
                *[("an append", ["ingest", "D", "--id", f"zzz{it:02}", "--at", "now"]) for it in range(20)],
                ("a rewind", ["ingest", "D", "--id", "!", "--at", "now"]),
            ):
                run(f"{build}: {what}", [program, *command], piped=command[0] == "granules")
            run(f"{build}: `mirror compare` with a registry", [*mirror, "accession.db"])
            run(f"{build}: `mirror compare` with a manifest", [*mirror, "manifest.jsonl"])
            os.chdir("..")
            shutil.rmtree(directory)
    print("\n| Now, relative to before | Time | Processor time | Bound |\n|---|---|---|---|")
    for what in SHORTEST:
        if what.startswith("now: "):
            ratio(what.removeprefix("now: "), what, what.replace("now", "before", 1), bound=1.05)
    grown = sizes["now"] - sizes["before"]
    print(f"\nThe registry has {sizes['now']:,} bytes, {grown:+,} (bound: +65,536).")


def time_of(seconds):
    return f"{seconds * 1000:.0f} ms" if seconds < 0.1 else f"{seconds:.1f} s"


def hour(number):
    """The time of a change, by its number, counted from 0."""
    at = datetime.datetime(2000, 1, 1) + datetime.timedelta(hours=number)
    return at.isoformat() + "Z"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--piped"]
    is_piped = "--piped" in sys.argv
    before = None
    if "--before" in arguments:
        at = arguments.index("--before")
        before = os.path.abspath(arguments[at + 1])
        del arguments[at:at + 2]
    accession = os.path.abspath(arguments[0])
    changes, granules = arguments[1:3] or ("3472", "2880")
    script = [sys.executable, os.path.join(HERE, "granules.py"), changes, granules]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        print("| What | Time | Processor time | Peak memory | Written | Exit status |")
        print("|---|---|---|---|---|---|")
        if is_piped:
            run("`import` of the table from standard input into a new registry",
                [accession, "import", "D", "-", "--create"], source=script)
        else:
            with open("granules.csv", "wb") as table:
                subprocess.run(script, stdout=table, check=True)
            if before:
                builds = [("before", before), ("now", accession)]
                return compare_builds(builds, os.path.abspath("granules.csv"), changes)
            run("limit: `.import` of the table into a new database", ["sqlite3", "inserted.db"],
                INSERT)
            os.remove("inserted.db")
            run("`import` of the table into a new registry",
                [accession, "import", "D", "granules.csv", "--create"])
        bytes_of_file = os.path.getsize("accession.db")
        if not is_piped:
            run("limit: its rows are inserted in order into a new database",
                ["sqlite3", "inserted.db"], SORTED)
            os.remove("inserted.db")
        run("limit: the ids from the shell into a pipe", ["sqlite3", "accession.db", LIST],
            piped=True)
        run("`granules` into a pipe", [accession, "granules", "D"], piped=True)
        run("limit: the rows are counted", ["sqlite3", "accession.db",
            "SELECT count(granule_id) FROM granule WHERE dataset_id = 1"])
        run("limit: `PRAGMA integrity_check`", ["sqlite3", "accession.db", "PRAGMA integrity_check"])
        run("`verify`", [accession, "verify"])
        run("`verify --jobs 1`", [accession, "verify", "--jobs", "1"])
        run("limit: the ids twice, from the shell", ["sqlite3", "accession.db", f"{LIST}; {LIST}"])
        run("`compare` of the last two states",
            [accession, "compare", f"D@{hour(int(changes) - 2)}", "D", "--summary"])
        if not is_piped:
            shutil.copy("accession.db", "mirror.db")
            run("`mirror compare` with a registry",
                [accession, "--registry", "mirror.db", "mirror", "compare", "D", "accession.db"])
            run("`dataset export`", [accession, "dataset", "export", "D", "--output", "manifest.jsonl"])
            run("`mirror compare` with this manifest",
                [accession, "--registry", "mirror.db", "mirror", "compare", "D", "manifest.jsonl"])
        run("a look-up by date", [accession, "cite", "D@2000-02-01", "--format", "tuple"])
        run("a granule after all others", [accession, "ingest", "D", "--id", "zzz", "--at", "now"])
        run("a granule before all others", [accession, "ingest", "D", "--id", "!", "--at", "now"])
        print(f"\nThe registry has {bytes_of_file / 1e6:,.0f} MB.")


main()

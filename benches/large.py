"""Measures the commands that read or write a whole dataset, each beside its limit, in one run.

large.py ACCESSION [CHANGES GRANULES_PER_CHANGE]

ACCESSION is the program to measure. The dataset is that of granules.py, by default of 9,999,360
granules in 3,472 changes. The limits are measured with the shell `sqlite3`. On a machine that does
other work as well, processor time is the figure to compare.
"""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = "SELECT granule_id FROM granule WHERE dataset_id = 1 AND deleted IS NULL ORDER BY granule_id"
INSERT = """PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE granule (granule_id TEXT PRIMARY KEY, ingested TEXT) WITHOUT ROWID;
.import --csv --skip 1 granules.csv granule
"""


def run(what, command, stdin=None, piped=False):
    """Runs a command, whose output goes to /dev/null, or into a pipe, and prints what it took."""
    begin = time.perf_counter()
    reader = None
    stdout = subprocess.DEVNULL
    if piped:
        reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        stdout = reader.stdin
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE if stdin else None, stdout=stdout, stderr=subprocess.DEVNULL
    )
    if reader:
        reader.stdin.close()
    if stdin:
        child.stdin.write(stdin.encode())
        child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if reader:
        reader.wait()
    wall = time.perf_counter() - begin
    processor = usage.ru_utime + usage.ru_stime
    print(
        f"| {what} | {wall:.1f} s | {processor:.1f} s | {usage.ru_maxrss / 1024:.0f} MB"
        f" | {usage.ru_oublock * 512 / 1e6:,.0f} MB | {child.returncode} |",
        flush=True,
    )


def main():
    accession = os.path.abspath(sys.argv[1])
    changes, granules = (sys.argv[2:4] + ["3472", "2880"])[:2] if sys.argv[2:] else ("3472", "2880")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("granules.csv", "wb") as table:
            script = os.path.join(HERE, "granules.py")
            subprocess.run([sys.executable, script, changes, granules], stdout=table, check=True)
        print("| What | Time | Processor time | Peak memory | Written | Exit status |")
        print("|---|---|---|---|---|---|")
        run("limit: `.import` of the table into a new database", ["sqlite3", "inserted.db"], INSERT)
        run("`import` of the table into a new registry",
            [accession, "import", "D", "granules.csv", "--create"])
        bytes_of_file = os.path.getsize("accession.db")
        run("limit: the same rows from the shell into a pipe", ["sqlite3", "accession.db", LIST],
            piped=True)
        run("`granules` into a pipe", [accession, "granules", "D"], piped=True)
        run("limit: the rows are counted", ["sqlite3", "accession.db",
            "SELECT count(granule_id) FROM granule WHERE dataset_id = 1"])
        run("limit: `PRAGMA integrity_check`", ["sqlite3", "accession.db", "PRAGMA integrity_check"])
        run("`verify`", [accession, "verify"])
        run("`compare` of two equal states", [accession, "compare", "D", "D", "--summary"])
        print(f"\nThe registry has {bytes_of_file / 1e6:,.0f} MB.")


main()

"""Measures how `verify` scales with the number of jobs, and with the number of small datasets.

scaling.py ACCESSION [DATASETS GRANULES_PER_DATASET]

Prints the processor time divided by the wall time of `verify`, with one job and with one job per
core, in five rounds, and their medians. The default is 200 datasets of 20,000 granules. Then it prints
the time per dataset for 1,000 and for 10,000 datasets of one granule.
"""
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import seal


def measured(command):
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def many_datasets(accession, registry, datasets, granules):
    """Creates a registry of datasets with the same granules: one is imported, and then copied."""
    with open("granules.csv", "w") as table:
        table.write("granule_id,ingested\n")
        table.writelines(f"granule.{n:09},2001-01-02\n" for n in range(granules))
    command = [accession, "--registry", registry, "import", "D00000", "granules.csv", "--create"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    copies = f"""PRAGMA synchronous = OFF;
CREATE TEMP TABLE copy AS
    WITH RECURSIVE copy (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM copy WHERE n < {datasets})
    SELECT n FROM copy;
"""
    columns = "SELECT name FROM pragma_table_info('{}') WHERE name NOT IN ('id', 'dataset_id')"
    shell = ["sqlite3", registry]

    def names(table):
        output = subprocess.run(shell + [columns.format(table)], check=True, capture_output=True)
        return output.stdout.decode().split()

    others = "".join(f", {name}" for name in names("dataset") if name != "name")
    copies += f"""INSERT INTO dataset (id, name{others})
    SELECT n, printf('D%05d', n){others} FROM copy, dataset WHERE dataset.id = 1 ORDER BY n;
"""
    for table in ["record_version", "instance", "granule", "checkpoint"]:
        others = "".join(f", {name}" for name in names(table))
        copies += f"""INSERT INTO {table} (dataset_id{others})
    SELECT n{others} FROM copy, {table} WHERE dataset_id = 1 ORDER BY n{others};
"""
    subprocess.run(shell, input=copies.encode(), check=True, stdout=subprocess.DEVNULL)
    database = sqlite3.connect(registry)
    database.execute("UPDATE dataset SET record = json_set(record, '$.name', name)")
    seal.seal(database)
    database.close()


def main():
    accession = os.path.abspath(sys.argv[1])
    datasets, granules = map(int, sys.argv[2:4]) if sys.argv[2:] else (200, 20_000)
    cores = os.cpu_count()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        many_datasets(accession, "many.db", datasets, granules)
        ratios = {1: [], cores: []}
        for _ in range(5):
            for jobs, of_jobs in ratios.items():
                command = [accession, "--registry", "many.db", "verify", "--jobs", str(jobs)]
                wall, processor = measured(command)
                of_jobs.append(processor / wall)
                print(f"{jobs} jobs: {processor:.2f} s in {wall:.2f} s: {processor / wall:.2f}")
        for jobs, of_jobs in ratios.items():
            print(f"{jobs} jobs, median: {statistics.median(of_jobs):.2f}")
        for number in [1_000, 10_000]:
            many_datasets(accession, f"{number}.db", number, 1)
            wall, processor = measured([accession, "--registry", f"{number}.db", "verify"])
            print(f"{number} datasets of one granule: {1e6 * processor / number:.0f} µs each, {wall:.2f} s")


main()

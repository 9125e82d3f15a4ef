"""Load a cited set and the history of its dataset into DuckDB.

Run: python cited_set_into_duckdb.py REGISTRY CITATION DATABASE
"""

import sys

import duckdb

import accession_registry as ar


def load(registry: ar.Registry, citation: str, database: duckdb.DuckDBPyConnection) -> int:
    """Creates the tables `granule` and `history`. Returns the number of granules."""
    cited = registry.show(citation)
    names = [cited.dataset] if cited.dataset else sorted({period.dataset for period in cited.periods})
    changes = registry.history(*names)
    database.execute("CREATE OR REPLACE TABLE granule AS FROM cited")
    database.execute("CREATE OR REPLACE TABLE history AS FROM changes")
    [(count,)] = database.execute("SELECT count(*) FROM granule").fetchall()
    return int(count)


if __name__ == "__main__":
    address, citation, path = sys.argv[1:]
    with ar.open(address) as registry, duckdb.connect(path) as database:
        print(f"{load(registry, citation, database)} granules")

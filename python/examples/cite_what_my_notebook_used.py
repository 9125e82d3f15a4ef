"""Cite the files that a notebook used: find the set that has exactly these files, and cite it.

Run: python cite_what_my_notebook_used.py REGISTRY DATASET FILE...
"""

import sys
from pathlib import Path

import accession_registry as ar


def cite(registry: ar.Registry, dataset: str, files: list[Path]) -> ar.Citation:
    """Cites the set that has exactly these files. If there is none, cites the files as a subset of the latest set."""
    try:
        return registry.cite(f"DI:{ar.show(files).identifier}")
    except ar.NotFound:
        # No set has exactly these files. They are cited as a subset, which is saved with its identifier.
        return registry.cite(dataset, select_from=files)


if __name__ == "__main__":
    address, dataset, *files = sys.argv[1:]
    with ar.open(address) as registry:
        print(cite(registry, dataset, [Path(file) for file in files]))

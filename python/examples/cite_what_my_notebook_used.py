"""Cite what a notebook used: find the set that has exactly the files that it opened, and cite it.

Run: python cite_what_my_notebook_used.py REGISTRY DATASET FILE...
"""

import sys
from pathlib import Path

import accession_registry as ar


def cite(registry: ar.Registry, dataset: str, files: list[Path]) -> ar.Citation:
    """The citation of the set that has exactly these files, or else of this part of the latest one."""
    try:
        return registry.cite(f"DI:{ar.show(files).identifier}")
    except ar.NotFound:
        # No set is exactly these: they are cited as a subset, which is saved with its identifier.
        return registry.cite(dataset, select_from=files)


if __name__ == "__main__":
    address, dataset, *files = sys.argv[1:]
    with ar.open(address) as registry:
        print(cite(registry, dataset, [Path(file) for file in files]))

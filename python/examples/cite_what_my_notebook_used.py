"""Cite what a notebook used: identify the files that it opened, find the set that has them, and cite it.

Run: python cite_what_my_notebook_used.py REGISTRY DATASET FILE...
"""

import sys
from pathlib import Path

import accession_registry as ar


def cite(registry: ar.Registry, dataset: str, files: list[str]) -> str:
    """The citation of the set that has exactly these files, or else of this part of the latest one."""
    granules = [Path(file).name for file in files]
    held = registry.resolve(ar.identify(granules).identifier, dataset=dataset)
    if held:
        return registry.set(held[-1].identifier).cite()
    # No set is exactly these: they are cited as a subset, which is saved with its identifier.
    return registry.cite(dataset, select_from=granules)


if __name__ == "__main__":
    address, dataset, *files = sys.argv[1:]
    with ar.open(address) as registry:
        print(cite(registry, dataset, files), end="")

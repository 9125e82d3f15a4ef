"""Nightly sync from a catalogue: make a dataset hold exactly the granules that a search returned.

Here, `results` is a saved response of CMR or a STAC catalogue. It can also be the result of
`earthaccess.search_data(short_name=…, count=-1)`, or the items of `pystac_client`.

Run: python nightly_sync.py REGISTRY DATASET RESPONSE.json
"""

import sys
from pathlib import Path

import accession_registry as ar


def sync(registry: ar.Registry, dataset: str, results: Path) -> ar.Change:
    """Records the granules of tonight. Refuses a search result that lacks pages or too many granules."""
    return registry.dataset(dataset).sync(results, create=True, note="nightly")


if __name__ == "__main__":
    address, dataset, response = sys.argv[1:]
    with ar.open(address, create=True) as registry:
        try:
            change = sync(registry, dataset, Path(response))
        except ar.Error as refused:
            sys.exit(f"{dataset}: {refused}")
        print(f"{dataset}: +{change.added} -{change.removed}, identifier {change.set.identifier}")

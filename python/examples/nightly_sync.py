"""Nightly sync from a catalogue: make a dataset hold exactly the granules that a search returned.

`results` may be what `earthaccess.search_data(short_name=…, count=-1)` returned, the items of
`pystac_client`, or a saved response of CMR or a STAC catalogue, as here.

Run: python nightly_sync.py REGISTRY DATASET RESPONSE.json
"""

import json
import sys
from typing import Any

import accession_registry as ar


def sync(registry: ar.Registry, dataset: str, results: Any) -> ar.Applied:
    """Records tonight's state. A search that lost more than 2 %, or of which pages are missing, is refused."""
    return registry.dataset(dataset).sync(results, create=True, note="nightly", max_delete="2%")


if __name__ == "__main__":
    address, dataset, response = sys.argv[1:]
    with open(response, encoding="utf-8") as file:
        found = json.load(file)
    with ar.open(address, create=True) as registry:
        try:
            # The whole response: it states how many granules the search found.
            applied = sync(registry, dataset, found)
        except ar.Error as refused:
            sys.exit(f"{dataset}: {refused}")
        print(f"{dataset}: +{applied.added} -{applied.removed}, identifier {applied.identifier}")

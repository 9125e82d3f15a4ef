"""Shortened responses of catalogues: results of `earthaccess.search_data`."""

from typing import Any

MD5 = "900150983cd24fb0d6963f7d28e17f72"


class DataGranule(dict[str, Any]):
    """As earthaccess has them."""


def granule(name: str, collection: str) -> DataGranule:
    checksum = {"Value": MD5, "Algorithm": "MD5"}
    files = [{"Name": name, "SizeInBytes": 3, "Size": 3, "SizeUnit": "NA", "Checksum": checksum}]
    meta = {"concept-type": "granule", "concept-id": "G1-FOO", "revision-id": 1, "collection-concept-id": collection}
    umm = {"GranuleUR": name, "DataGranule": {"ArchiveAndDistributionInformation": files}}
    return DataGranule({"meta": meta, "umm": umm, "size": 0.0})


def search_data(short_name: str, **_: object) -> list[DataGranule]:
    """As ``earthaccess.search_data``."""
    collection = {"FOOL2": "C1000-FOO", "BARL3": "C2000-BAR"}[short_name]
    return [granule(f"{short_name}.{number:02}.nc", collection) for number in (1, 2)]

"""What catalogues returned, shortened: results of `earthaccess.search_data`, and records of collections of CMR."""

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


def collection(concept_id: str, short_name: str, title: str, doi: str | None) -> dict[str, Any]:
    cited = {"Creator": "Tilmes, C.", "Publisher": "US Archive", "ReleaseDate": "2023-05-01T00:00:00.000Z"}
    of_doi = {"DOI": doi, "Authority": "https://doi.org"} if doi else {"MissingReason": "Unknown"}
    umm = {"ShortName": short_name, "Version": "002", "EntryTitle": title, "DOI": of_doi}
    return {"meta": {"concept-id": concept_id}, "umm": {**umm, "CollectionCitations": [cited]}}


COLLECTIONS = {
    "C1000-FOO": collection("C1000-FOO", "FOOL2", "FOO Level 2 Granules", "10.9999/FOO/L2.002"),
    "C2000-BAR": collection("C2000-BAR", "BARL3", "BAR Level 3 Maps", None),
}

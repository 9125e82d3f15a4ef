"""extruct reads the JSON-LD of the pages. It has the fields for dataset search engines that the record has."""

import json
import subprocess

import extruct
import jsonschema
from served import PROGRAM, ROOT

SCHEMA = ROOT / "fixtures" / "web" / "dataset-search.schema.json"

# The fields from the record, which are absent if the record does not have them.
OF_THE_RECORD = ["description", "creator", "publisher", "provider", "datePublished", "version", "license", "url"]
ALWAYS = ["name", "identifier", "distribution", "dateModified", "includedInDataCatalog"]


def check(site):
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    latest = site.rows("history", "US.FOOL2.002", "-n", "1")[0]["identifier"]
    pages = {
        "/datasets/US.FOOL2.002/": OF_THE_RECORD,
        "/datasets/US.FOOL2.002@2001-01-05": OF_THE_RECORD,
        f"/DI:{latest}": OF_THE_RECORD,
        f"/DI:{site.part}": OF_THE_RECORD,
        "/datasets/CROWD/": OF_THE_RECORD,
        "/datasets/BARE/": [],
        "/datasets/BARE@2001-01-01": [],
    }
    for path, present in pages.items():
        found = extruct.extract(site.page(path), base_url=site.url + path, syntaxes=["json-ld"])
        (dataset,) = found["json-ld"]
        errors = [error.message for error in validator.iter_errors(dataset)]
        # The schema requires a description, but none is invented.
        expected = [] if present else ["'description' is a required property"]
        assert errors == expected, (path, errors)
        assert {name for name in OF_THE_RECORD if name in dataset} == set(present), (path, sorted(dataset))
        assert all(name in dataset for name in ALWAYS), (path, sorted(dataset))
        # The distribution exists, and the identifier is that of the list.
        (distribution,) = dataset["distribution"]
        status, headers, body = site.get(distribution["contentUrl"].removeprefix(site.url))
        assert status == 200 and headers["content-type"].split(";")[0] == distribution["encodingFormat"]
        listed = subprocess.run([PROGRAM, "show", "-"], input=body, check=True, stdout=subprocess.PIPE)
        checksum = dataset["spdx:checksum"]["spdx:checksumValue"]
        assert checksum in listed.stdout.decode() and checksum in distribution["contentUrl"], path
    for path in ["/", "/datasets/EMPTY/", "/check"]:
        assert extruct.extract(site.page(path), syntaxes=["json-ld"])["json-ld"] == [], path
    return f"{len(pages)} pages describe their datasets as search engines read it"

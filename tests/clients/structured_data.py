"""extruct reads the JSON-LD of the pages, which has what dataset search engines ask for, where the record has it."""

import json
import subprocess

import extruct
import jsonschema
from served import PROGRAM, ROOT

SCHEMA = ROOT / "fixtures" / "web" / "dataset-search.schema.json"

# The fields that come from the record: absent where the record has nothing for them.
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
        # The schema asks for a description, which is never invented.
        expected = [] if present else ["'description' is a required property"]
        assert errors == expected, (path, errors)
        assert {name for name in OF_THE_RECORD if name in dataset} == set(present), (path, sorted(dataset))
        assert all(name in dataset for name in ALWAYS), (path, sorted(dataset))
        # What it offers is there, and the identifier is that of the list.
        (distribution,) = dataset["distribution"]
        status, headers, body = site.get(distribution["contentUrl"].removeprefix(site.url))
        assert status == 200 and headers["content-type"].split(";")[0] == distribution["encodingFormat"]
        listed = subprocess.run([PROGRAM, "show", "-"], input=body, check=True, stdout=subprocess.PIPE)
        checksum = dataset["spdx:checksum"]["spdx:checksumValue"]
        assert checksum in listed.stdout.decode() and checksum in distribution["contentUrl"], path
    for path in ["/", "/datasets/EMPTY/", "/check"]:
        assert extruct.extract(site.page(path), syntaxes=["json-ld"])["json-ld"] == [], path
    return f"{len(pages)} pages describe their datasets as search engines read it"

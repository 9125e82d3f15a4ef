"""`curl` with each media type gets the same bytes as `accession cite`, and other software reads them."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import citation_peers as peers

# The formats with their own media type, and those that only `?format=` selects.
MEDIA_TYPES = {
    "application/x-bibtex": "bibtex",
    "application/x-research-info-systems": "ris",
    "application/vnd.citationstyles.csl+json": "csl-json",
    "application/vnd.datacite.datacite+json": "datacite-json",
    "application/ld+json": "json-ld",
    "text/x-bibliography": "text",
}
NAMED = ["tuple"]


def curl(url, *options):
    """The media type and the body after redirects."""
    command = ["curl", "-sSL", "--fail", "-w", "\n%{content_type}", *options, url]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    body, media_type = output.rsplit(b"\n", 1)
    return media_type.decode().split(";")[0], body


def same_bytes(site, path, words, format, options):
    """Compares up to twice, since the access date may change between the two."""
    for last in [False, True]:
        cited = site.run("cite", *words, "--format", format)
        media_type, served = curl(site.url + path, *options)
        if format == "csl-json":
            # Over HTTP it is one object, as from other resolvers. On the command line it is a list.
            served, cited = [json.loads(served)], json.loads(cited)
        if served == cited or last:
            assert served == cited, (path, format, served, cited)
            return media_type, json.dumps(served) if format == "csl-json" else served.decode()


def check(site):
    doi = "10.9999/US/FOO_L2.v2%3C1::A%25ID%3E%23x"
    latest = site.rows("history", "US.FOOL2.002", "-n", "1")[0]["identifier"]
    # THEM also had this set and still holds it. The page is that of the first holder.
    shared = site.rows("show", "US.FOOL2.002@2001-01-05")[0]["identifier"]
    pages = {
        "/datasets/US.FOOL2.002@2001-01-05": ["US.FOOL2.002@2001-01-05"],
        "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z": ["US.FOOL2.002@2001-01-03T00:00:00Z"],
        "/datasets/US.FOOL2.002/?at=2001-01-05": ["US.FOOL2.002@2001-01-05"],
        "/datasets/US.FOOL2.002/": ["US.FOOL2.002"],
        "/datasets/US.FOOL2.002": ["US.FOOL2.002"],
        f"/doi/{doi}": ["US.FOOL2.002"],
        f"/DI:{latest}": [f"DI:{latest}"],
        f"/DI:{latest.upper()}": [f"DI:{latest}"],
        f"/DI:{shared}": [f"DI:{shared}"],
        f"/DI:{site.part}": [f"DI:{site.part}"],
        "/datasets/BARE@2001-01-05": ["BARE@2001-01-05"],
    }
    compared = 0
    for path, words in pages.items():
        texts = {}
        for media_type, format in MEDIA_TYPES.items():
            sent, texts[format] = same_bytes(site, path, words, format, ["-H", f"Accept: {media_type}"])
            assert sent == media_type, (path, sent)
            compared += 1
        for format in NAMED:
            # curl keeps the query of an address, and so does a redirect.
            joined = f"{path}&format={format}" if "?" in path else f"{path}?format={format}"
            if not path.startswith("/doi/") and "?at=" not in path:
                texts[format] = same_bytes(site, joined, words, format, [])[1]
                compared += 1
        kind = {"/datasets/BARE@2001-01-05": "bare", f"/DI:{site.part}": "part"}.get(path)
        if kind is None and path.endswith("2001-01-05"):
            kind = "served"
        if kind is not None:
            # The citation of a set by its identifier has the date on which the set came into force.
            date = "2001-01-03" if path.startswith("/DI:") else "2001-01-05"
            peers.check(kind, lambda _, format: texts[format], date)
    # An unsupported format is rejected, and not sent in another format.
    status, _, _ = site.get("/datasets/US.FOOL2.002/", accept="application/vnd.codemeta.ld+json")
    assert status == 406, status
    return f"{compared} citations are those of the command line"

"""Reads a page like reference managers: its `meta` elements, and the files that it links to."""

import html.parser

from served import CREATORS, DESCRIPTION, DOI, TITLE

# The elements that Zotero's translator "Embedded Metadata" reads, and the fields in which it stores them. JabRef's
# browser extension runs the same translators.
HIGHWIRE = {
    "citation_title": "title",
    "citation_publication_date": "date",
    "citation_publisher": "publisher",
    "citation_doi": "DOI",
    "citation_public_url": "url",
    "citation_abstract": "abstractNote",
    "citation_author": "creators",
}
# The elements of Dublin Core that its RDF translator reads. The type makes the item a dataset.
DUBLIN_CORE = {"DC.title", "DC.creator", "DC.publisher", "DC.date", "DC.identifier", "DC.type"}


class Meta(html.parser.HTMLParser):
    """The `meta` elements and the links of a page."""

    def __init__(self, page):
        super().__init__()
        self.meta, self.links = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "meta" and "name" in attributes:
            self.meta.append((attributes["name"], attributes["content"]))
        if tag == "a" and "format=" in attributes.get("href", ""):
            self.links.append(attributes["href"])


def authors(meta):
    """The creators as the translator splits and orders their names."""
    creators = []
    for author in [content for name, content in meta if name == "citation_author"]:
        # With more than one element, it splits only at semicolons.
        for one in author.split(";"):
            family, comma, given = one.strip().partition(",")
            creators.append((family.strip(), given.strip()) if comma else one.strip())
    return creators


def check(site):
    latest = site.rows("history", "US.FOOL2.002", "-n", "1")[0]["identifier"]
    held = site.rows("show", "US.FOOL2.002@2001-01-05")[0]["identifier"]
    pages = {
        "/datasets/US.FOOL2.002/": ("/datasets/US.FOOL2.002/", latest),
        "/datasets/US.FOOL2.002@2001-01-05": ("/datasets/US.FOOL2.002@2001-01-03T00:00:00Z", held),
        f"/DI:{latest}": (f"/DI:{latest}", latest),
        f"/DI:{site.part}": (f"/DI:{site.part}", site.part),
    }
    for path, (canonical, identifier) in pages.items():
        read = Meta(site.page(path))
        names = {name for name, _ in read.meta}
        assert {name for name in names if name.startswith("citation_")} == set(HIGHWIRE), (path, names)
        assert {name for name in names if name.startswith("DC.")} == DUBLIN_CORE, (path, names)
        item = {HIGHWIRE[name]: content for name, content in read.meta if name in HIGHWIRE}
        title, _, set_ = " ".join(item["title"].split()).rpartition(" [")
        assert title == TITLE and set_.startswith(f"DI:{identifier}, ") and set_.endswith("]"), item
        assert (item["DOI"], item["date"], item["abstractNote"]) == (DOI, "2001", DESCRIPTION), item
        assert item["url"] == site.url + canonical, item
        assert ("DC.type", "Dataset") in read.meta
        identifiers = [content for name, content in read.meta if name == "DC.identifier"]
        assert identifiers == [f"doi:{DOI}", f"DI:{identifier}"], (path, identifiers)
        creators = authors(read.meta)
        assert len(creators) == len(CREATORS), creators
        assert creators[:2] == [("Tilmes", "Curt"), ("山田", "太郎")], creators
        # The files: a click on one of these links imports a file.
        offered = {link.split("format=")[1]: link for link in read.links}
        for format, media_type in {"ris": "application/x-research-info-systems", "bibtex": "application/x-bibtex"}.items():
            status, headers, body = site.get(offered[format])
            assert status == 200 and headers["content-type"].split(";")[0] == media_type, path
            assert f"DI:{identifier}" in body.decode(), path
    bare = Meta(site.page("/datasets/BARE/"))
    names = {name for name, _ in bare.meta if name.startswith("citation_")}
    assert names == {"citation_title", "citation_public_url"}, names
    return f"{len(pages)} pages have the fields that reference managers read"

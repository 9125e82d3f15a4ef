"""The signposting library finds the same typed links in headers and elements."""

import html.parser

from signposting import find_signposting_html, find_signposting_http

MAX_HEADER_BYTES = 3_000


class Links(html.parser.HTMLParser):
    """The link elements of a page's head."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "link":
            self.found.append(dict(attributes))


def targets(signposts):
    """Links as relations, addresses and types. The one in `cite-as` has no type."""
    return {(str(link.rel), str(link.target), str(link.type) if link.type else None) for link in signposts}


def parameters(header):
    """The links of a header `Link`, without the library: relation, address, type."""
    links = set()
    for link in header.split(", <"):
        address, _, rest = link.lstrip("<").partition(">")
        fields = dict(part.strip().split("=", 1) for part in rest.split(";") if "=" in part)
        media_type = fields.get("type", "").strip('"') or None
        links.add((fields["rel"].strip('"'), address, media_type))
    return links


def check(site):
    shared = site.rows("lookup", "US.FOOL2.002", "--at", "2001-01-05")[0]["identifier"]
    latest = site.rows("lookup", "US.FOOL2.002")[0]["identifier"]
    crowd = site.rows("lookup", "CROWD")[0]["identifier"]
    crowds = ["CROWD", crowd, site.long_name]
    bare = site.rows("lookup", "BARE")[0]["identifier"]
    full = ["cite-as", "type", "describedby", "item", "license", "author"]
    # A dataset without a record.
    plain = ["cite-as", "type", "describedby", "item"]
    pages = {
        "/datasets/US.FOOL2.002/": full,
        "/datasets/US.FOOL2.002@2001-01-05": full,
        "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z": full,
        f"/DI:{latest}": full,
        f"/DI:{site.part}": full,
        "/datasets/CROWD/": full,
        "/datasets/CROWD@2001-01-01T00:00:00Z": full,
        f"/DI:{crowd}": full,
        # Of those who held it, the first one leads.
        f"/DI:{shared}": full,
        "/datasets/BARE/": plain,
        f"/DI:{bare}": plain,
        f"/datasets/{site.long_name}/": full,
        f"/datasets/{site.long_name}@2001-01-01T00:00:00.123456Z": full,
        "/datasets/EMPTY/": ["cite-as", "type"],
    }
    for path, relations in pages.items():
        url = site.url + path
        status, headers, body = site.get(path, accept="text/html")
        assert status == 200, (path, status)
        lines = headers.get_all("Link")
        length = sum(len(line) for line in lines)
        assert length < MAX_HEADER_BYTES, f"{path}: {length} bytes"
        in_header = find_signposting_http(url)
        in_page = find_signposting_html(url)
        found = {str(link.rel) for link in in_header.signposts} - {"collection"}
        assert found == set(relations), (path, found)
        assert targets(in_header.signposts) == targets(in_page.signposts), path
        # All links, also those that the library leaves out.
        elements = {(link["rel"], link["href"], link.get("type")) for link in Links(body.decode()).found}
        in_lines = {link for line in lines for link in parameters(line)}
        # What browsers, feed readers and search engines read is in the page alone.
        elements = {link for link in elements if link[0] not in ("stylesheet", "icon") and link[2] != "application/atom+xml"}
        elements = {link for link in elements if link[0] != "canonical" or link in in_lines}
        assert elements == in_lines, (path, elements ^ in_lines)
        authors = len(in_header.authors)
        assert authors == (5 if any(each in path for each in crowds) else authors), path
        # What is linked to is there, in the type that the link promises.
        for link in list(in_header.describedBy) + list(in_header.items):
            target = str(link.target)
            assert target.startswith(site.url), target
            status, headers, _ = site.get(target.removeprefix(site.url))
            assert status == 200, target
            assert headers["content-type"].split(";")[0] == str(link.type), target
            back = find_signposting_http(target)
            if link in in_header.items:
                assert back.collection is not None, target
    return f"{len(pages)} pages have the same links in headers and elements"

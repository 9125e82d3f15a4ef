"""The signposting library finds the same typed links in headers and elements."""

from signposting import find_signposting_html, find_signposting_http


def targets(signposts):
    """Links as relations, addresses and types. The one in `cite-as` has no type."""
    return {(str(link.rel), str(link.target), str(link.type) if link.type else None) for link in signposts}


def check(site):
    shared = site.rows("show", "US.FOOL2.002@2001-01-05")[0]["identifier"]
    latest = site.rows("history", "US.FOOL2.002", "-n", "1")[0]["identifier"]
    crowd = site.rows("history", "CROWD", "-n", "1")[0]["identifier"]
    crowds = ["CROWD", crowd, site.long_name]
    bare = site.rows("history", "BARE", "-n", "1")[0]["identifier"]
    full = ["cite-as", "type", "describedby", "item", "license", "author"]
    # A dataset without metadata.
    plain = ["cite-as", "type", "describedby", "item"]
    pages = {
        "/datasets/US.FOOL2.002/": full,
        "/datasets/US.FOOL2.002@2001-01-05": full,
        "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z": full,
        f"/DI:{latest}": full,
        f"/DI:{site.part}": full,
        "/datasets/CROWD/": full,
        f"/DI:{crowd}": full,
        # The page of the first dataset that held the set.
        f"/DI:{shared}": full,
        "/datasets/BARE/": plain,
        f"/DI:{bare}": plain,
        f"/datasets/{site.long_name}/": full,
        f"/datasets/{site.long_name}@2001-01-01T00:00:00.123456Z": full,
        "/datasets/EMPTY/": ["cite-as", "type"],
    }
    for path, relations in pages.items():
        url = site.url + path
        in_header = find_signposting_http(url)
        in_page = find_signposting_html(url)
        found = {str(link.rel) for link in in_header.signposts} - {"collection"}
        assert found == set(relations), (path, found)
        assert targets(in_header.signposts) == targets(in_page.signposts), path
        authors = len(in_header.authors)
        assert authors == (5 if any(each in path for each in crowds) else authors), path
        # The targets exist, with the type that the link promises.
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

"""feedparser reads the feeds correctly."""

import feedparser


def parsed(site, path):
    feed = feedparser.parse(site.url + path)
    assert feed.status == 200 and not feed.bozo, (path, feed.get("bozo_exception"))
    assert feed.version == "atom10", feed.version
    return feed


def check(site):
    history = site.rows("history", "US.FOOL2.002")
    feed = parsed(site, "/datasets/US.FOOL2.002/feed.atom")
    assert feed.feed.id.startswith("urn:uuid:") and "FOO & Level_2" in feed.feed.title, feed.feed
    newest = [row["timestamp"] for row in reversed(history)]
    assert [entry.published for entry in feed.entries] == newest, newest
    for entry, row in zip(feed.entries, reversed(history)):
        assert row["identifier"] in entry.content[0].value and (row["note"] or "") in entry.content[0].value
        assert entry.link == f"{site.url}/datasets/US.FOOL2.002@{row['timestamp']}", entry.link
        assert entry.updated >= row["recorded"][:19] and entry.author, entry
    ids = {entry.id for entry in feed.entries}
    assert len(ids) == len(history) and all(each.startswith("urn:uuid:") for each in ids)
    # The feed of all datasets has the last entry of each day of recording.
    every = parsed(site, "/feed.atom")
    last = {row["recorded"][:10]: entry.id for entry, row in reversed(list(zip(feed.entries, reversed(history))))}
    shared = ids & {entry.id for entry in every.entries}
    assert shared == set(last.values()) or len(every.entries) == 100, (shared, last)
    # A second request with the ETag gets no entries.
    again = feedparser.parse(f"{site.url}/feed.atom", etag=every.etag)
    assert again.status == 304, again.status
    return f"{len(feed.entries)} and {len(every.entries)} entries, and 304 for the tag"

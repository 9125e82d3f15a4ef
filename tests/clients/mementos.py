"""memento-client finds, for every date of a history, the set that `accession lookup` names."""

import datetime
import json

from memento_client import MementoClient

SECOND = datetime.timedelta(seconds=1)


def parsed(time):
    """A time of the registry in whole seconds; their fractions are cut off."""
    whole = time.rstrip("Z").split(".")[0]
    return datetime.datetime.fromisoformat(whole)


def check(site):
    original = f"{site.url}/datasets/TIMES/"
    instances = [json.loads(line) for line in site.run("--json", "history", "TIMES").splitlines()]
    times = sorted({parsed(instance["timestamp"]) for instance in instances})
    # Several changes have one of these times, since HTTP has whole seconds.
    assert len(times) < len(instances)
    # A dataset's address is its own TimeGate: nothing comes before it.
    client = MementoClient(timegate_uri="", check_native_timegate=False)
    asked = set()
    for time in times:
        asked |= {time - SECOND, time, time + SECOND, time + datetime.timedelta(days=1)}
    asked.add(datetime.datetime(2026, 1, 1))
    first = min(times)
    for at in sorted(asked):
        if at < first:
            continue
        # Everything in that second counts.
        looked_up = site.rows("lookup", "TIMES", "--at", f"{at.isoformat()}.999999Z")[0]
        info = client.get_memento_info(original, at)
        closest = info["mementos"]["closest"]
        assert closest["http_status_code"] == 200, closest
        (address,) = closest["uri"]
        assert address == f"{site.url}/datasets/TIMES@{looked_up['timestamp']}", (at, address)
        assert closest["datetime"] == parsed(looked_up["timestamp"]) <= at, (at, closest)
        status, _, body = site.get(address.removeprefix(site.url), accept="application/json")
        shown = json.loads(body)
        assert status == 200 and shown["identifier"] == looked_up["identifier"], (at, shown)
        # The client starts from a memento as well, and finds the original.
        assert client.get_original_uri(address) == original
        for edge, instance in {"first": instances[0], "last": instances[-1]}.items():
            (linked,) = info["mementos"][edge]["uri"]
            assert linked == f"{site.url}/datasets/TIMES@{instance['timestamp']}", (edge, linked)
    # A time before the first leads to the first, and links say where the history is.
    early = first - SECOND
    info = client.get_memento_info(original, early)
    (address,) = info["mementos"]["closest"]["uri"]
    assert address == f"{site.url}/datasets/TIMES@{instances[0]['timestamp']}", info
    assert {"closest", "first", "last"} <= set(info["mementos"]), info
    # The TimeMap, page by page, has every instance.
    listed, address = [], "/datasets/TIMES/history?format=timemap&limit=7"
    while address:
        _, headers, body = site.get(address)
        assert headers["content-type"] == "application/link-format"
        links = MementoClient.parse_link_header(body.decode())
        listed += [uri for uri, link in links.items() if "memento" in link["rel"]]
        following = [uri for uri, link in links.items() if link["rel"] == ["timemap"]]
        address = following[0].removeprefix(site.url) if following else None
    expected = [f"{site.url}/datasets/TIMES@{instance['timestamp']}" for instance in reversed(instances)]
    assert listed == expected, (listed, expected)
    return f"{len(asked)} times lead to the mementos that lookup names, and the TimeMap has all {len(expected)}"

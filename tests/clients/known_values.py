"""For Schemathesis: in half of the cases, replaces generated values by values of the registry."""

import json
import os
import zlib

import schemathesis

KNOWN = json.loads(os.environ.get("KNOWN_VALUES", "{}"))


def replaced(values):
    if not values:
        return values
    replaced = dict(values)
    for name, value in values.items():
        # The choice depends on the value alone, so that a case can be repeated.
        dice = zlib.crc32(repr((name, value)).encode())
        if name in KNOWN and dice % 2 == 0:
            replaced[name] = KNOWN[name][dice // 2 % len(KNOWN[name])]
    return replaced


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    return replaced(path_parameters)


@schemathesis.hook
def map_query(context, query):
    return replaced(query)


@schemathesis.hook
def map_headers(context, headers):
    return replaced(headers)

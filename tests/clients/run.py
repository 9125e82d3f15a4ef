"""Tests `accession serve` with clients that others wrote.

    pip install rispy pybtex datacite citeproc-py rdflib signposting extruct schemathesis \\
        feedparser
    pip install --no-deps commonmeta-py    # for the JSON schema of CSL that it includes
    cargo build --release
    python3 tests/clients/run.py [CHECK]...

$ACCESSION is the program, $CASES the number of cases of each operation of the API. The check `lint` needs
programs that pip does not install.
"""

import importlib
import sys
import time

from served import Site

CHECKS = ["citations", "links", "feeds", "structured_data", "reference_managers", "api"]


def main():
    with Site() as site:
        for name in sys.argv[1:] or CHECKS:
            began = time.monotonic()
            result = importlib.import_module(name).check(site)
            print(f"{name}: {result} ({time.monotonic() - began:.1f} s)", flush=True)


if __name__ == "__main__":
    main()

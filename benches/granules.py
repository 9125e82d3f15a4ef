"""Writes a CSV table of granules to standard output: ids of 48 characters, in canonical order.

granules.py CHANGES GRANULES_PER_CHANGE

Each change ingests this number of granules, an hour after the previous change. `granules.py 3472 2880`
writes 9,999,360 granules, and `granules.py 13889 7200` writes 100,000,800.
"""
import datetime
import sys

changes, granules = (int(argument) for argument in sys.argv[1:])
begin = datetime.datetime(2000, 1, 1)
tail = "0123456789abcdef" * 2
sys.stdout.write("granule_id,ingested\n")
for change in range(changes):
    at = (begin + datetime.timedelta(hours=change)).isoformat() + "Z"
    first = change * granules
    sys.stdout.write(
        "".join(f"granul.{number:09}{tail},{at}\n" for number in range(first, first + granules))
    )

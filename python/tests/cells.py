"""Code as users write it, which must pass `mypy --strict`. It is not run."""

from pathlib import Path
from typing import Any

import duckdb

import accession_registry as ar

d = Path("data")
results: list[dict[str, Any]] = []
ids = ["A", "B"]
reg = ar.open("accession.db", create=True)
ds = reg.dataset("FOO")

ar.cite(results, of="10.5067/FOO").save("used.bib")

ds.sync(d, create=True, checksums=True)

try:
    ds.sync(ids)
except ar.Refused as refused:
    ds.sync(ids, expect=refused.expect, note=f"{refused.change.removed} are gone")

compared: ar.Comparison = ar.compare("https://HOST/#DI:7fb1e8ba", d)

files: ar.Table[ar.File] = reg.show("FOO@2024-03-05").files
duckdb.sql("SELECT sum(size) FROM files")

for instance in reg.history("FOO", n=3):
    reveal: str | None = instance.note
record: ar.Record = ds.edit(title="T", creator=["A, B"], max_delete="2%")

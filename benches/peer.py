"""Makes a change without this program, with hashlib and sqlite3, hashing the whole chain again."""
import hashlib
import sqlite3
import sys
import time

path, granules = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(path)
db.execute("CREATE TABLE granule (granule_id TEXT PRIMARY KEY) WITHOUT ROWID")
db.executemany(
    "INSERT INTO granule VALUES (?)",
    ((f"granule.{2 * n:08}.{'0123456789abcdef' * 2}"[:48].ljust(48, "x"),) for n in range(granules)),
)
db.commit()
begin = time.perf_counter()
db.execute("INSERT INTO granule VALUES ('granule.late')")
chain = ""
for (granule_id,) in db.execute("SELECT granule_id FROM granule ORDER BY granule_id"):
    chain = hashlib.md5((chain + granule_id + "\n").encode()).hexdigest() + "\n"
db.commit()
print(time.perf_counter() - begin)

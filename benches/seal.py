"""The checksums of rows that are written with SQL. `accession` verifies them whenever it reads a row."""
import zlib


def check(values):
    """The `row_check` of a row: the CRC-32 of its other values, each with its type and size."""
    sealed = b""
    for value in values:
        if value is None:
            sealed += b"\0"
        elif isinstance(value, int):
            sealed += b"\1" + value.to_bytes(8, "little", signed=True)
        else:
            kind, value = (b"\2", value.encode()) if isinstance(value, str) else (b"\3", value)
            sealed += kind + len(value).to_bytes(8, "little") + value
    return zlib.crc32(sealed)


def seal(database):
    """Sets the checksum of every row in the tables of datasets and their histories."""
    for table, key in [("dataset", 1), ("record_version", 2), ("instance", 2)]:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")][:-1]
        is_row = " AND ".join(f"{column} = ?" for column in columns[:key])
        rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        database.executemany(
            f"UPDATE {table} SET row_check = ? WHERE {is_row}", [(check(row), *row[:key]) for row in rows]
        )
    database.commit()

"""The inventory that a bucket of S3 writes of itself, as CSV or Parquet."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import unquote_plus

from accession_registry._http import shown
from accession_registry._listing import Listing, Page, pyarrow
from accession_registry._records import Error, error


def s3_inventory(
    manifest: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, etag_md5: bool = False
) -> Listing:
    """The objects of a bucket, by the ``manifest.json`` of its S3 Inventory: a path, or an address such as ``s3://…``
    if ``fsspec`` is installed.

    Each data file must have the bytes that the manifest states. It is read from the bucket that received the
    inventory; below ``root``, where it has its whole key; or else beside a manifest in a directory. With
    ``etag_md5``, an ETag that can be an MD5 checksum is one, which it is not where KMS encrypts the object.
    """
    place = os.fspath(manifest)

    def pages() -> Iterator[Page]:
        try:
            with _open(place) as file:
                text = file.read()
        except Error:
            raise
        except Exception as cause:
            raise _unreadable(place, cause) from cause
        try:
            described = json.loads(text)
            kind, schema = described["fileFormat"], [name.strip() for name in described["fileSchema"].split(",")]
            files = [(file["key"], file["size"], file["MD5checksum"]) for file in described["files"]]
            bucket = described["destinationBucket"].rpartition(":")[2]
            if {(type(key), type(size), type(md5)) for key, size, md5 in files} - {(str, int, str)}:
                raise TypeError("a data file without its key, size or MD5checksum")
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            raise _refused(f"{_named(place)} is not the manifest of an S3 inventory: {cause!r}") from cause
        if kind not in ("CSV", "Parquet"):
            raise _refused(f"the inventory is {kind}, which is not read here: let the bucket write CSV or Parquet")
        for key, size, md5 in files:
            with TemporaryFile() as copy:
                _fetch(_place_of(key, place, bucket, root), key, copy, size, md5)
                yield from _rows(copy, key, kind, schema, etag_md5)

    return Listing(f"S3 inventory {_named(place)}", pages)


def _named(place: str) -> str:
    return shown(place) if "://" in place else place


def _unreadable(place: str, cause: Exception) -> Error:
    """A file that cannot be read. What clients of stores raise may have a signed address in its text."""
    why = str(cause) if "://" not in place else type(cause).__name__
    return error("io", f"{_named(place)} cannot be read: {why}", "nothing was changed; check the path or the address")


def _refused(message: str) -> Error:
    return error("input", message, "nothing was changed; fetch the whole inventory again")


def _open(place: str) -> IO[Any]:
    if "://" not in place:
        return open(place, "rb")
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        hint = "install fsspec and its part for this store, or copy the inventory into a directory"
        raise error("usage", f"{_named(place)} needs fsspec", hint) from None
    file: IO[Any] = fsspec.open(place, "rb").open()
    return file


def _place_of(key: str, manifest: str, bucket: str, root: str | os.PathLike[str] | None) -> str:
    parts = key.split("/")
    if not set(parts).isdisjoint({"", ".", ".."}):
        raise _refused(f"the key {key!r} of a data file leads elsewhere")
    if root is not None:
        return f"{os.fspath(root).rstrip('/')}/{key}"
    if "://" in manifest:
        return f"{manifest.split('://')[0]}://{bucket}/{key}"
    directory = Path(manifest).absolute().parent
    for first in range(len(parts)):
        for parent in (directory, directory.parent):
            path = parent.joinpath(*parts[first:])
            if path.is_file():
                return str(path)
    raise _refused(f"the data file {key!r} of the inventory is missing")


def _fetch(place: str, key: str, copy: IO[bytes], size: int, md5: str) -> None:
    """Copies a data file, all of whose bytes are as the manifest states."""
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with _open(place) as file:
            while part := file.read(1 << 20):
                digest.update(part)
                copy.write(part)
    except Error:
        raise
    except FileNotFoundError as cause:
        raise _refused(f"the data file {key!r} of the inventory is missing") from cause
    except Exception as cause:
        raise _unreadable(place, cause) from cause
    if (copy.tell(), digest.hexdigest()) != (size, md5.lower()):
        found = f"{copy.tell()} bytes and the MD5 checksum {digest.hexdigest()}"
        raise _refused(f"the data file {key!r} of the inventory has {found}, but the manifest states {size} and {md5}")
    copy.seek(0)


def _rows(copy: IO[bytes], key: str, kind: str, schema: list[str], etag_md5: bool) -> Iterator[Page]:
    try:
        for batch in _batches(copy, key, kind, schema):
            # CSV and Parquet spell the names of columns differently.
            columns = {name.replace("_", "").lower(): batch.column(name).to_pylist() for name in batch.schema.names}
            none = [None] * batch.num_rows
            of_object = [columns.get(name, none) for name in ("size", "islatest", "isdeletemarker", "etag")]
            rows = []
            for object_key, size, is_latest, is_deleted, etag in zip(columns["key"], *of_object):
                if object_key is None:
                    raise ValueError("an object has no key")
                # Consoles make an object for each new folder.
                is_folder = object_key.endswith("/") and size in (None, "", "0", 0)
                if is_folder or str(is_latest).lower() == "false" or str(is_deleted).lower() == "true":
                    continue
                # Only in CSV is it encoded.
                name = unquote_plus(object_key, errors="strict") if kind == "CSV" else object_key
                is_md5 = etag_md5 and etag and len(etag) == 32 and set(etag.lower()) <= set("0123456789abcdef")
                count = None if size in (None, "") else int(size)
                if count is not None and not 0 <= count < 1 << 63:
                    raise ValueError(f"the size of {name!r} is {count}")
                rows.append((name, name, count, f"md5:{etag}" if is_md5 else None))
            yield Page(rows, len(rows))
    except (ValueError, KeyError, OSError, EOFError, zlib.error) as cause:
        raise _refused(f"the data file {key!r} of the inventory cannot be read: {cause}") from cause


def _batches(copy: IO[bytes], key: str, kind: str, schema: list[str]) -> Iterator[Any]:
    if kind == "Parquet":
        yield from pyarrow("pyarrow.parquet").ParquetFile(copy).iter_batches()
        return
    csv = pyarrow("pyarrow.csv")
    text: Any = gzip.open(copy) if key.endswith(".gz") else copy
    # That of an empty bucket.
    if not text.peek(1):
        return
    types = csv.ConvertOptions(column_types=dict.fromkeys(schema, pyarrow().string()))
    names, lines = csv.ReadOptions(column_names=schema), csv.ParseOptions(newlines_in_values=True)
    yield from csv.open_csv(text, read_options=names, parse_options=lines, convert_options=types)

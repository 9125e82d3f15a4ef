"""Citations of what was used, without a registry."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path, PurePath
from typing import Any, overload

from accession_registry._listing import Listing, pyarrow
from accession_registry._native import cite_list, identify
from accession_registry._records import Error, error

_METADATA = "ro-crate-metadata.json"
# What the library calls a file until it is whole.
_NEW = ".accession-publish.new"


@dataclass(frozen=True)
class Cited:
    """Granules of one dataset that are cited: its DOI or its name, and what names exactly these granules."""

    of: str
    identifier: str
    digest: str
    granules: int
    text: str
    bibtex: str


@dataclass
class _Used:
    """What was used of a dataset: its granules, and its record as CSL-JSON."""

    of: str
    record: str | None
    granules: Any
    column: str | None

    def cite(self, output: Path | None = None) -> Cited:
        return Cited(self.of, *cite_list(self.granules, [self.of], self.record, column=self.column, output=output))


@dataclass(frozen=True, repr=False)
class Citations:
    """The citations of what was used, one a DOI."""

    _used: list[_Used]
    _cited: list[Cited]

    @property
    def text(self) -> str:
        """The sentences for a paper, one a line."""
        return "".join(cited.text for cited in self._cited)

    @property
    def bibtex(self) -> str:
        """The entries for a bibliography."""
        return "\n".join(cited.bibtex for cited in self._cited)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes an RO-Crate with the lists: of several datasets, one in which each has a crate of its own."""
        root = Path(directory)
        if len(self._used) == 1:
            self._used[0].cite(root)
            return
        names = [_name(used.of) for used in self._used]
        if len({name.lower() for name in names}) < len(names):
            message = f"two of these would have one directory: {', '.join(used.of for used in self._used)}"
            raise error("usage", message, "save the crate of each by itself")
        described, crate = root / _METADATA, root / _NEW
        # Everything is looked at before anything is written.
        _refuse_others(root, {_METADATA, _NEW, *names})
        for name in names:
            _refuse_others(root / name, {_METADATA, _NEW, "granules.txt"})
        # Never describes other crates than those beside it.
        if described.is_file():
            described.unlink()
        for name, used in zip(names, self._used):
            used.cite(root / name)
        crate.unlink(missing_ok=True)
        # A new file: what a link leads to is left alone.
        with crate.open("x", encoding="utf-8") as file:
            file.write(json.dumps(_crate_of_crates(names, self._cited), indent=2, ensure_ascii=False) + "\n")
        crate.replace(described)

    @overload
    def __getitem__(self, key: int) -> Cited: ...
    @overload
    def __getitem__(self, key: slice) -> list[Cited]: ...
    def __getitem__(self, key: int | slice) -> Cited | list[Cited]:
        return self._cited[key]

    def __iter__(self) -> Iterator[Cited]:
        return iter(self._cited)

    def __len__(self) -> int:
        return len(self._cited)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Citations of {', '.join(cited.of for cited in self._cited)}>"

    def _repr_html_(self) -> str:
        return f"<p>Copy this into your paper:</p><pre>{escape(self.text)}</pre>"


def cite(
    results: Any,
    *,
    of: str | Mapping[str, str] | None = None,
    record: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    column: str | None = None,
) -> Citations:
    """Cites what was used, without a registry: one citation a DOI.

    ``results`` are those of ``earthaccess.search_data``, items of pystac, what ``to_path_dict`` of intake-esgf
    returned, paths, ids, or a table, whose ``column`` has the ids. ``of`` is the DOI or the name of the dataset, or
    a mapping from collections or keys of the results to DOIs or names. Results of CMR need ``of``: they have ids of
    collections, but no DOIs, and no request is made. An item of STAC has ``sci:doi``, or else the name of its
    collection. ``record`` is the metadata of the DOI from doi.org (CSL-JSON or DataCite JSON), or a file with it.

    >>> used = ar.cite(["FOOL2.01.nc", "FOOL2.02.nc"], of="10.9999/FOOL2")
    >>> used[0].identifier, "DI:a9a59be28ebe7f0c80a8d833c098bac7" in used.bibtex
    ('a9a59be28ebe7f0c80a8d833c098bac7', True)
    >>> used.save("used")
    """
    granules: dict[str, Any] = {}
    if hasattr(results, "__arrow_c_stream__"):
        granules[""] = _kept(results)
    elif isinstance(results, Mapping) and not {"feed", "response"}.isdisjoint(results):
        granules[""] = results
    else:
        for key, granule in _granules(results):
            granules.setdefault(key if not isinstance(of, str) else "", []).append(granule)
    if not granules:
        raise error("usage", "there are no granules, and nothing to cite", "check what the search returned")
    named = of if isinstance(of, Mapping) else dict.fromkeys(granules, of or "")
    names = {key: _bare(named.get(key) or "") or _doi_or_name(key) for key in granules}
    if "" in names.values():
        raise error("usage", "it is not known of which dataset these granules are", 'name its DOI: of="10.…/…"')
    collections = sorted(key for key in names if not named.get(key) and re.fullmatch(r"C\d+-\w+", key))
    if collections:
        example = ", ".join(f'"{key}": "10.…/…"' for key in collections)
        message = f"the results have no DOI, only the collections {', '.join(collections)}"
        raise error("usage", message, f"name their DOIs: of={{{example}}}")
    given = None
    if record is not None:
        given = json.dumps(record) if isinstance(record, Mapping) else Path(record).read_text("utf-8")
    used: dict[str, _Used] = {}
    for key, name in names.items():
        # The letters of a DOI have no case.
        same = name.lower() if name.startswith("10.") else name
        if same in used:
            used[same].granules += granules[key]
        else:
            used[same] = _Used(name, given, granules[key], column)
    return Citations(list(used.values()), [one.cite() for one in used.values()])


def _kept(table: Any) -> Any:
    """The table, so that it can be read again to be saved: a stream may be read once."""
    try:
        return table if isinstance(table, Listing) else pyarrow().chunked_array(table)
    except Error:
        # Without pyarrow it is read where it is.
        return table
    except (ValueError, OSError, NotImplementedError) as cause:
        # Arrow puts a traceback into its text.
        why = str(cause).partition(" Detail: ")[0]
        raise error("input", f"the table cannot be read: {why}") from cause


def _granules(results: Any) -> Iterator[tuple[str, Any]]:
    """Granules, each after the key of its dataset, which may be empty."""
    if isinstance(results, (str, bytes, os.PathLike)):
        message = "a string is one id, and a path one file, and neither is a list of ids"
        raise error("usage", message, 'put it into a list: ["…"], or read what the file lists')
    if not isinstance(results, Iterable):
        raise error("usage", f"{type(results).__name__} is not a list of ids", "hand over a list, or a table")
    if isinstance(results, Mapping):
        pages = [results[key] for key in ("items", "features") if key in results]
        if not pages:
            for key, items in results.items():
                if not isinstance(items, Iterable) or isinstance(items, (str, bytes, Mapping)):
                    message = f"the key {str(key)!r} has {type(items).__name__}, and not a list of paths"
                    raise error("usage", message, "put a record of a catalogue, or a path, into a list")
                # They are paths, or addresses.
                paths = (PurePath(item) if isinstance(item, str) else item for item in items)
                yield from ((str(key), granule) for granule in _named(paths))
            return
        # It is refused if pages of the search are missing.
        identify(results)
        [results] = pages
    # A `pyarrow.Array` is iterated over as values of its own.
    for granule in _named(results.to_pylist() if hasattr(results, "to_pylist") else results):
        yield _collection_of(granule) if isinstance(granule, Mapping) else "", granule


def _named(items: Iterable[Any]) -> Iterator[Any]:
    """The granules of items. Of two paths with one name only one granule remains."""
    paths: dict[Any, Any] = {}
    repeated = []
    for item in items:
        granule = _granule(item)
        if isinstance(item, os.PathLike) and paths.setdefault(granule, item) != item:
            repeated.append(item)
        yield granule
    for path in repeated[:1]:
        first = f"{paths[_granule(path)]} and {path}"
        warnings.warn(f"paths have the name of another, and each name is cited once: {len(repeated)}, as {first}")


def _granule(item: Any) -> Any:
    """An id, or a record of a catalogue."""
    if isinstance(item, os.PathLike):
        parts = PurePath(item).parts
        # What ESGF calls a file consists of the directories in which its clients put it.
        projects = [number for number, part in enumerate(parts) if part in _PROJECTS]
        return ".".join(parts[projects[-1] :]) if projects else parts[-1]
    # A client may have derived its class from `dict`.
    return item.to_dict() if hasattr(item, "to_dict") and not isinstance(item, Mapping) else item


_PROJECTS = ("CMIP6", "CMIP6Plus", "CMIP7", "input4MIPs", "obs4MIPs")


def _collection_of(record: Mapping[str, Any]) -> str:
    """What says of which dataset a record is: the id of the collection in CMR, the DOI of a STAC item, or a name."""
    meta, umm, properties = (record.get(key) or {} for key in ("meta", "umm", "properties"))
    reference = umm.get("CollectionReference") or {}
    named = ".".join(str(reference[key]) for key in ("ShortName", "Version") if reference.get(key))
    found = (meta.get("collection-concept-id"), properties.get("sci:doi"), record.get("collection"), named)
    return str(next(filter(None, found), ""))


def _name(text: str) -> str:
    """The text as the name of a dataset, or of a directory."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)


def _bare(name: str) -> str:
    """The DOI of an address, or of a text that begins with ``doi:``."""
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi:)", "", name.strip(), flags=re.IGNORECASE)


def _doi_or_name(key: str) -> str:
    return bare if (bare := _bare(key)).startswith("10.") else _name(key)


def _refuse_others(directory: Path, own: set[str]) -> None:
    """Refuses a directory that has files which a crate here has not."""
    for other in sorted(set(os.listdir(directory)) - own)[:1] if directory.is_dir() else []:
        message = f"{directory} has a file of something else: {other!r}"
        raise error("already-exists", message, "name a new directory")


def _crate_of_crates(names: list[str], cited: list[Cited]) -> dict[str, Any]:
    """The description of a directory that has a crate for each dataset."""
    about = {"@id": "./"}
    conforms = {"@id": "https://w3id.org/ro/crate/1.2"}
    graph: list[dict[str, Any]] = [
        {"@id": _METADATA, "@type": "CreativeWork", "about": about, "conformsTo": conforms},
        {
            **about,
            "@type": "Dataset",
            "name": "What was used of several datasets",
            "description": "\n".join(one.text.strip() for one in cited),
            "datePublished": date.today().isoformat(),
            "license": "That of each dataset",
            "hasPart": [{"@id": f"{name}/"} for name in names],
        },
    ]
    for name, one in zip(names, cited):
        described = {"@id": f"{name}/{_METADATA}"}
        crate = {"name": f"What was used of {one.of}", "conformsTo": {"@id": "https://w3id.org/ro/crate"}}
        graph.append({"@id": f"{name}/", "@type": "Dataset", **crate, "subjectOf": described})
        graph.append({**described, "@type": "CreativeWork", "encodingFormat": "application/ld+json"})
    return {"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": graph}

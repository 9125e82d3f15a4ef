# The types of the module that is written in Rust.
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from os import PathLike
from types import GenericAlias, TracebackType
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, final, overload

from accession_registry._comparisons import Comparison, MirrorComparison
from accession_registry._records import (
    Annotated,
    Applied,
    DatasetRecord,
    FileRecord,
    FixityCheck,
    Identified,
    Instance,
    Interval,
    Period,
    Pulled,
    Status,
    Verification,
)

_T = TypeVar("_T")

__version__: str
__all__ = [
    "__version__",
    "Dataset",
    "Registry",
    "Rows",
    "Set",
    "Sides",
    "cite_list",
    "identify",
    "open",
    "open_set",
    "plot",
    "read_page",
]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Record(Protocol):
    def to_dict(self) -> dict[str, Any]: ...

# A mapping is the response of a catalogue.
_Ids: TypeAlias = Iterable[str] | _ArrowStream | Mapping[str, Any] | Iterable[Mapping[str, Any]] | Iterable[_Record]
_Time: TypeAlias = str | datetime | date
_Path: TypeAlias = str | PathLike[str]
_Limit: TypeAlias = int | str
_Duration: TypeAlias = timedelta | str
# Records of files: of this package, of a catalogue, or in a file such as sha256sum writes it.
_Files: TypeAlias = (
    _Path | Iterable[FileRecord] | Mapping[str, Any] | Iterable[Mapping[str, Any]] | Iterable[_Record]
)
_Format: TypeAlias = Literal[
    "text", "tuple", "bibtex", "ris", "csl-json", "datacite-json", "json-ld"
]

def open(address: _Path, *, create: bool = False, by: str | None = None) -> Registry: ...
def open_set(address: _Path, dataset: str, timestamp: str | None, identifier: str, digest: str) -> Set: ...
def cite_list(
    ids: _Ids,
    of: list[str],
    record: str | None,
    *,
    column: str | None = None,
    output: _Path | None = None,
) -> tuple[str, str, int, str, str]: ...
def read_page(
    page: bytes, name: str, format: str
) -> tuple[list[tuple[str, str | None, int | None, str | None]], int, int | None]: ...
def plot(changes: Sequence[tuple[datetime, int]]) -> str: ...
def identify(ids: _Ids, *, column: str | None = None) -> Identified: ...
@final
class Registry:
    @property
    def address(self) -> str: ...
    def dataset(self, name: str) -> Dataset: ...
    def datasets(self, *, all: bool = False) -> list[DatasetRecord]: ...
    def set(self, name: str, *, at: _Time | None = None, known_at: _Time | None = None) -> Set: ...
    def granules(self, set: str | Set | Dataset) -> Rows[str]: ...
    def resolve(
        self, identifier: str, *, dataset: str | None = None, at: _Time | None = None
    ) -> list[Interval]: ...
    def compare(
        self, left: str | Set | Dataset, right: str | Set | Dataset | _Ids, *, column: str | None = None
    ) -> Comparison: ...
    def cite(
        self,
        set: str | Set | Dataset,
        *,
        format: _Format = "text",
        select: list[str] | None = None,
        select_from: _Ids | None = None,
        column: str | None = None,
    ) -> str: ...
    def history(
        self,
        dataset: str,
        *,
        since: _Time | None = None,
        until: _Time | None = None,
        reverse: bool = False,
        known_at: _Time | None = None,
    ) -> Rows[Instance]: ...
    def find(self, granule: str) -> list[Period]: ...
    def annotate(
        self,
        set: str | Set | Dataset,
        note: str,
        *,
        until: _Time | None = None,
        questionable: bool = False,
        dry_run: bool = False,
    ) -> list[Annotated]: ...
    def status(
        self,
        *datasets: str,
        max_age: _Duration | None = None,
        checked_within: _Duration | None = None,
    ) -> list[Status]: ...
    def verify(self, *datasets: str, jobs: int | None = None) -> list[Verification]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Registry: ...
    def __exit__(
        self,
        *_raised: type[BaseException] | BaseException | TracebackType | None,
    ) -> None: ...

@final
class Dataset:
    @property
    def name(self) -> str: ...
    @property
    def record(self) -> DatasetRecord: ...
    def sync(
        self,
        ids: _Ids,
        *,
        at: _Time | None = None,
        note: str | None = None,
        max_delete: _Limit | None = None,
        max_add: _Limit | None = None,
        create: bool = False,
        dry_run: bool = False,
        max_replace: _Limit | None = None,
        column: str | None = None,
    ) -> Applied: ...
    def ingest(
        self,
        ids: _Ids,
        *,
        at: _Time | None = None,
        note: str | None = None,
        skip_existing: bool = False,
        create: bool = False,
        dry_run: bool = False,
        max_replace: _Limit | None = None,
        column: str | None = None,
    ) -> Applied: ...
    def delete(
        self,
        ids: _Ids,
        *,
        at: _Time | None = None,
        note: str | None = None,
        skip_missing: bool = False,
        dry_run: bool = False,
        column: str | None = None,
    ) -> Applied: ...
    def change(
        self,
        *,
        ingest: _Ids | None = None,
        delete: _Ids | None = None,
        at: _Time | None = None,
        note: str | None = None,
        skip_existing: bool = False,
        skip_missing: bool = False,
        dry_run: bool = False,
        max_replace: _Limit | None = None,
        column: str | None = None,
    ) -> Applied: ...
    def revert(
        self, to: _Time, *, at: _Time | None = None, note: str | None = None, dry_run: bool = False
    ) -> Applied: ...
    def set(self, *, at: _Time | None = None, known_at: _Time | None = None) -> Set: ...
    def history(
        self,
        *,
        since: _Time | None = None,
        until: _Time | None = None,
        reverse: bool = False,
        known_at: _Time | None = None,
    ) -> Rows[Instance]: ...
    def edit(self, *, create: bool = False, shared_doi: bool = False, **fields: object) -> DatasetRecord: ...
    def fixity_add(
        self,
        files: _Files,
        *,
        format: str | None = None,
        at: _Time | None = None,
        note: str | None = None,
        skip_missing: bool = False,
        max_replace: _Limit | None = None,
        dry_run: bool = False,
    ) -> Applied: ...
    def fixity_compute(
        self,
        root: _Path,
        *,
        algorithm: str = "sha-256",
        jobs: int | None = None,
        mounted: bool = False,
        note: str | None = None,
    ) -> FixityCheck: ...
    def fixity_forget(self, root: str) -> int: ...
    def export(self, output: _Path, *, until: _Time | None = None) -> None: ...
    def import_(
        self,
        source: _Path,
        *,
        format: str | None = None,
        column: str | None = None,
        ingested: str | None = None,
        deleted: str | None = None,
        create: bool = False,
        dry_run: bool = False,
        at: Literal["now"] | None = None,
        timeout: int | None = None,
        max_bytes: int | None = None,
        ca_file: _Path | None = None,
        insecure: bool = False,
    ) -> Applied: ...
    def mirror_pull(
        self,
        primary: _Path | None = None,
        *,
        primary_dataset: str | None = None,
        at: _Time | None = None,
        reset: bool = False,
        max_delete: _Limit | None = None,
        max_add: _Limit | None = None,
        max_replace: _Limit | None = None,
        create: bool = False,
        dry_run: bool = False,
        timeout: int | None = None,
        max_bytes: int | None = None,
        max_age: _Duration | None = None,
        ca_file: _Path | None = None,
        insecure: bool = False,
    ) -> Pulled: ...
    def mirror_compare(
        self,
        primary: _Path | None = None,
        *,
        primary_dataset: str | None = None,
        timeout: int | None = None,
        max_bytes: int | None = None,
        max_age: _Duration | None = None,
        ca_file: _Path | None = None,
        insecure: bool = False,
    ) -> MirrorComparison: ...

@final
class Set:
    @property
    def identifier(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def timestamp(self) -> datetime: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def instance(self) -> Instance: ...
    @property
    def is_subset(self) -> bool: ...
    def granules(self, *, after: str | None = None) -> Rows[str]: ...
    def files(self) -> Rows[FileRecord]: ...
    def fixity_check(
        self,
        root: _Path,
        *,
        root_name: str | None = None,
        jobs: int | None = None,
        size_only: bool = False,
        for_: _Duration | None = None,
        unexpected: bool = False,
        mounted: bool = False,
    ) -> FixityCheck: ...
    def fixity_list(
        self,
        *,
        algorithm: str | None = None,
        format: Literal["checksums", "bagit"] = "checksums",
    ) -> str: ...
    @property
    def digest(self) -> str: ...
    def cite(self, *, format: _Format = "text") -> str: ...
    def to_arrow(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Rows[str]: ...
    def __contains__(self, granule: str, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Rows(Iterator[_T]):
    def to_arrow(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __iter__(self) -> Rows[_T]: ...
    def __next__(self) -> _T: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> _T: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[_T]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@final
class Sides:
    @property
    def matched(self) -> int: ...
    def ids(self, index: int, what: str) -> Rows[str]: ...
    def table(self, left: str, right: str) -> Rows[tuple[str, str]]: ...

"""Cite exactly the files that you used, and list them again in ten years.

A *registry* records which granules (files, usually) the datasets of an archive held at any time, and
gives each such set an identifier that depends on nothing but the ids.

>>> import accession_registry as ar
>>> reg = ar.open("example.db", create=True)
>>> applied = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
>>> applied.identifier
'8f714d3efb0e51ed23fb7eeecca3009b'
>>> s = reg.set("US.FOOL2.002")
>>> len(s), list(s.granules())
(2, ['A', 'B'])
>>> ar.identify(["B", "A"]).identifier == s.identifier
True
"""

from . import sources
from ._cite import Citations, Cited, cite
from ._comparisons import Comparison, MirrorComparison
from ._native import Dataset, Registry, Rows, Set, identify, open, open_set
from ._native import __version__ as __version__
from ._records import *

__all__ = [
    "Annotated",
    "Annotation",
    "Applied",
    "Citations",
    "Cited",
    "Comparison",
    "Confirmation",
    "Dataset",
    "DatasetRecord",
    "Error",
    "FileFinding",
    "FileRecord",
    "FilesChecked",
    "Finding",
    "FixityCheck",
    "Identified",
    "Instance",
    "Interval",
    "LastChange",
    "MirrorComparison",
    "Mirrored",
    "OpenFinding",
    "Period",
    "Pulled",
    "RefusedListing",
    "Registry",
    "RootState",
    "Rows",
    "Set",
    "Skipped",
    "Status",
    "Verification",
    "__version__",
    "cite",
    "identify",
    "open",
    "open_set",
    "sources",
]

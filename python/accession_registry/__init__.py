"""Cite exactly the files that you used, and list them again in ten years.

A *registry* records which granules (files, usually) the datasets of an archive held at any time, and
gives each such set an identifier that depends only on the ids.

>>> import accession_registry as ar
>>> reg = ar.open("example.db", create=True)
>>> change = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
>>> change.set.identifier
'8f714d3efb0e51ed23fb7eeecca3009b'
>>> s = reg.show("US.FOOL2.002")
>>> len(s), list(s)
(2, ['A', 'B'])
>>> ar.show(["B", "A"]) == s
True
"""

from accession_registry._errors import Ambiguous, Damaged, Error, NotFound, Refused, RegistryWarning
from accession_registry._errors import add_parameters as _add_parameters
from accession_registry._native import __version__ as __version__
from accession_registry._records import Checked, File, FileCheck, Instance, Period, Record, Status, Verification
from accession_registry._registry import Fields as _Fields
from accession_registry._registry import Dataset, Mirror, Registry, cite, compare, open, show
from accession_registry._results import Change, Citation, Comparison, Set
from accession_registry._table import Table

__all__ = [
    "Ambiguous",
    "Change",
    "Checked",
    "Citation",
    "Comparison",
    "Damaged",
    "Dataset",
    "Error",
    "File",
    "FileCheck",
    "Instance",
    "Mirror",
    "NotFound",
    "Period",
    "Record",
    "Refused",
    "Registry",
    "RegistryWarning",
    "Set",
    "Status",
    "Table",
    "Verification",
    "cite",
    "compare",
    "open",
    "show",
]

for _name in __all__:
    # Messages and pickles name the public package, and not the private module.
    globals()[_name].__module__ = __name__

_add_parameters(Registry, Dataset, Mirror, Set, _Fields)


def _main() -> int:
    """Runs the program."""
    import signal
    import sys

    from accession_registry._native import main

    # With Python's handler, Ctrl-C would not end every command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return main(sys.argv[1:])

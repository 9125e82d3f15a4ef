"""Who makes changes, if a registry is opened without saying it."""

from __future__ import annotations

import getpass
import os


def user() -> str | None:
    """The environment variable ACCESSION_BY, or the user of the system, who may have no name."""
    named = os.environ.get("ACCESSION_BY", "")
    if named.strip():
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return None

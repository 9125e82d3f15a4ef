"""Shared by several tests: registries in both stores, and the lists of the seed."""

import getpass
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

import accession_registry as ar

FIXTURES = Path(__file__).parents[2] / "fixtures"


def lines(name: str) -> list[str]:
    """The ids of a list of the seed."""
    return (FIXTURES / "seed" / name).read_text().split()


E = TypeVar("E", bound=ar.Error)


@contextmanager
def raises(
    kind: str, of: type[E] = ar.Error, match: str | None = None  # type: ignore[assignment]
) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expects an error of this kind and class."""
    with pytest.raises(of, match=match) as raised:
        yield raised
    assert raised.value.kind == kind, raised.value


def not_checked(what: str) -> NoReturn:
    """Skips a test whose requirements are missing, or fails it if ACCESSION_TEST_ALL is set."""
    if "ACCESSION_TEST_ALL" in os.environ:
        pytest.fail(f"NOT CHECKED: {what}")
    pytest.skip(f"NOT CHECKED: {what}")


def _server_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    in_path = shutil.which("initdb")
    return found[-1].parent if found else Path(in_path).parent if in_path else None


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a PostgreSQL server for the tests, without a database."""
    programs = _server_programs()
    if programs is None:
        not_checked("registries on a server, because PostgreSQL is not installed")
    # The server cannot run as root.
    is_root = os.getuid() == 0
    user = "postgres" if is_root else getpass.getuser()
    # Creating and removing a database for each test would be slow on a disk.
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="accession-python-", dir=memory) as directory:
        if is_root:
            account = pwd.getpwnam(user)
            os.chown(directory, account.pw_uid, account.pw_gid)
        data = f"{directory}/data"
        run = {"user": user, "group": account.pw_gid} if is_root else {}

        def call(*command: str) -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=directory, **run)  # type: ignore[call-overload]

        call(f"{programs}/initdb", "-D", data, "-U", "accession", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories={directory} -c fsync=off"
        call(f"{programs}/pg_ctl", "-D", data, "-w", "-l", f"{directory}/log", "-o", options, "start")
        try:
            yield f"postgres://accession@{directory.replace('/', '%2F')}"
        finally:
            call(f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture
def program() -> str:
    """The program of the wheel, or the one that $ACCESSION names."""
    beside = Path(sys.executable).with_name("accession")
    found = os.environ.get("ACCESSION") or (str(beside) if beside.exists() else None)
    if found is None:
        not_checked("what the program sends or writes, because it is not installed")
    return found


@pytest.fixture
def serve(program: str) -> Iterator[Callable[[Path], str]]:
    """Serves a registry with `accession serve`, and returns its address."""
    servers: list[subprocess.Popen[str]] = []

    def begin(registry: Path) -> str:
        command = [program, "--registry", str(registry), "serve", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        servers.append(server)
        assert server.stdout is not None
        return server.stdout.readline().split()[-1].rstrip("/")

    yield begin
    for server in servers:
        server.terminate()
        server.communicate()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a registry that does not exist yet, in each store."""
    if request.param == "sqlite":
        return str(tmp_path / "registry.db")
    server: str = request.getfixturevalue("cluster")
    name = "d" + tmp_path.name.replace("-", "_").lower()
    programs = _server_programs()
    socket = server.removeprefix("postgres://accession@").replace("%2F", "/")
    create = [f"{programs}/createdb", "-h", socket, "-U", "accession", name]
    subprocess.run(create, check=True, capture_output=True)
    return f"{server}/{name}"


@pytest.fixture
def registry(address: str) -> Iterator[ar.Registry]:
    """An empty registry, in each store."""
    with ar.open(address, create=True, by="tester") as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ar.Registry]:
    """An empty registry in a file."""
    with ar.open(tmp_path / "registry.db", create=True, by="tester") as opened:
        yield opened

"""Threads, forks and interrupted calls."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import accession_registry as ar


# A thread may read the clock before another one has written.
@pytest.mark.filterwarnings("ignore:the last change of .* is in the future")
def test_many_threads_share_a_registry(registry: ar.Registry) -> None:
    datasets = [f"D{number}" for number in range(4)]
    rounds = 6
    failures: list[BaseException] = []

    def write(name: str) -> None:
        for number in range(rounds):
            registry.dataset(name).ingest([f"{name}-{number}"], create=True)

    def read() -> None:
        for _ in range(rounds * 2):
            for row in registry.datasets():
                if row.latest is not None:
                    found = registry.show(f"{row.name}@{row.latest.timestamp.isoformat()}")
                    assert ar.show(list(found)) == found

    def attempt(work: object, *arguments: str) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=attempt, args=(write, name)) for name in datasets]
    threads += [threading.Thread(target=attempt, args=(read,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert [len(registry.show(name)) for name in datasets] == [rounds] * 4
    assert all(row.ok for row in registry.verify())


def test_threads_read_one_table(file: ar.Registry) -> None:
    ids = [f"granule-{number:05}" for number in range(10_000)]
    granules = file.dataset("US").sync(ids, create=True).set
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(list, [granules] * 4)) == [ids] * 4


def test_python_runs_while_the_library_works(file: ar.Registry) -> None:
    ids = [f"granule-{number:06}" for number in range(100_000)]
    file.dataset("US").sync(ids, create=True)
    ticks = 0
    stopped = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stopped.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(3):
        assert all(row.ok for row in file.verify())
    stopped.set()
    thread.join()
    assert ticks > 3


def used_in_a_fork(kept: ar.Set, registry: ar.Registry, results: object) -> None:
    kinds = []
    for use in (
        lambda: list(kept),
        lambda: registry.show("US"),
        lambda: registry.dataset("US").ingest(["X"]),
        lambda: registry.close(),
    ):
        try:
            use()
            kinds.append("worked")
        except ar.Error as error:
            kinds.append(error.kind)
    results.put(kinds)  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_is_refused_and_closes_nothing(registry: ar.Registry) -> None:
    registry.dataset("US").sync(["A", "B"], create=True)
    kept = registry.show("US")
    granules = iter(kept)
    assert next(granules) == "A"
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=used_in_a_fork, args=(kept, registry, results))
    child.start()
    assert results.get(timeout=60) == ["forked"] * 4
    child.join(60)
    assert child.exitcode == 0
    # The child dropped its copies, and ended.
    assert list(granules) == ["B"]
    assert registry.dataset("US").ingest(["C"]).changed
    assert all(row.ok for row in registry.verify())


def length(found: ar.Set) -> int:
    return len(list(found))


def test_a_set_goes_to_a_spawned_process(registry: ar.Registry) -> None:
    registry.dataset("US").sync(["A", "B"], create=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(length, [registry.show("US")]) == [2]


def run(program: str, *arguments: str) -> "subprocess.Popen[str]":
    """Starts a program, which prints a first line when it is ready."""
    source = textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", source, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    return child


SYNC_FOR_LONG = """
    import sys, threading, time
    import accession_registry as ar
    registry = ar.open(sys.argv[1])
    ids = [f"granule-{number:07}" for number in range(200_000)]
    print("ready", flush=True)
    began = time.time()
    try:
        registry.dataset(sys.argv[2]).sync(ids)
        print("finished", time.time() - began, time.time())
    except KeyboardInterrupt:
        print("interrupted", time.time() - began, time.time())
"""


def sync_for_long(registry: ar.Registry, name: str) -> "subprocess.Popen[str]":
    """Creates a dataset with one granule, and begins to sync it."""
    registry.dataset(name).create(max_delete="100%", max_add=1_000_000)
    registry.dataset(name).sync(["A"])
    return run(SYNC_FOR_LONG, registry.address, name)


def test_ctrl_c_ends_a_call_within_a_second_and_changes_nothing(registry: ar.Registry) -> None:
    # The first call is not interrupted. It shows the duration of a call on this machine.
    outcome, seconds, _ = sync_for_long(registry, "WHOLE").communicate(timeout=120)[0].split()
    assert outcome == "finished"
    for part in (0.02, 0.3, 0.7):
        wait, taken = part * float(seconds), 9.0
        # Other work of the machine can delay any call. If it delays the first, later ones may end before the signal.
        for attempt in range(10):
            name = f"D{part}.{attempt}"
            child = sync_for_long(registry, name)
            time.sleep(wait)
            asked = time.time()
            child.send_signal(signal.SIGINT)
            outcome, _, ended = child.communicate(timeout=120)[0].split()
            # A signal after the commit also raises an exception, but then the whole change was made.
            if (held := len(registry.show(name))) == 200_000:
                wait *= 0.8
                continue
            assert (outcome, held) == ("interrupted", 1)
            taken = float(ended) - asked
            if taken < 1:
                break
        assert taken < 1, part
    assert all(row.ok for row in registry.verify())


def test_a_handler_of_signals_runs_while_a_call_does(file: ar.Registry) -> None:
    class Alarm(Exception):
        """The exception that the handler raises."""

    def ring(number: int, frame: object) -> None:
        raise Alarm

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        ids = (f"granule-{number}" for number in range(10_000_000))
        with pytest.raises(Alarm):
            ar.show(ids)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_the_program_of_the_package_runs_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    main = "import sys, accession_registry as ar; sys.argv[0] = 'accession'; sys.exit(ar._main())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", main, "--registry", str(tmp_path / "r.db")]
    for words, status in ((["ingest", "US", "--id", "A", "--create"], 0), (["compare", "US", "US@2001-01-02"], 2)):
        run = subprocess.run([*command, *words], env=environment, capture_output=True, text=True)
        assert run.returncode == status and "Traceback" not in run.stderr, run.stderr
    with subprocess.Popen([*command, "sync", "US", "-"], env=environment, stdin=subprocess.PIPE) as child:
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(10) in (130, -signal.SIGINT)

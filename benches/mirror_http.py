"""Measures the data that a mirror receives over HTTP, and other ways to copy a list of granules.

mirror_http.py ACCESSION [GRANULES]
mirror_http.py ACCESSION --memory GRANULES...

ACCESSION is the program to measure, built with --release. The dataset has 1,000,000 granules by default, and
274 more a day later. Bytes are those of TCP payloads in both directions, counted by a proxy. Seconds are wall time.
nginx, rsync, zsync and casync are measured if they are installed. A bound that is missed is reported, and the exit
status is then 1.

With --memory, the peak memory of the mirror and of the server is measured for each number of granules.
"""
import hashlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ACCESSION = os.path.abspath(sys.argv[1])
IS_MEMORY = "--memory" in sys.argv
SIZES = [int(text) for text in sys.argv[2:] if text != "--memory"] or [1_000_000]
MISSED = []
random.seed(17)


class Proxy:
    """Forwards connections to a port of this machine, and counts bytes and requests."""

    def __init__(self, port):
        self.upstream, self.bytes, self.requests = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.upstream))
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, target, source is client), daemon=True).start()

    def copy(self, source, target, is_request):
        try:
            while data := source.recv(1 << 16):
                self.bytes += len(data)
                self.requests += is_request and data.count(b" HTTP/1.1\r\n")
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def run(*command, accepted=(0,)):
    """Runs a command to its end, and returns its peak memory in megabytes."""
    peak = 0
    with open("stderr", "w") as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while child.poll() is None:
            peak = peak_memory(child) or peak
            time.sleep(0.01)
    if child.returncode not in accepted:
        sys.exit(f"{command}: {child.returncode}: {open('stderr').read()}")
    return peak


def peak_memory(process):
    """The peak memory so far, in megabytes. The ru_maxrss of a child would begin with that of this process."""
    try:
        with open(f"/proc/{process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024
    except (OSError, TypeError):
        return None  # It has ended.


def measure(what, proxy, *command, accepted=(0,), **bounds):
    """Runs a command, and prints its bytes and seconds with bounds: `name=(measured / bytes, most)`."""
    before, asked, began = proxy.bytes, proxy.requests, time.perf_counter()
    run(*command, accepted=accepted)
    seconds, moved, requests = time.perf_counter() - began, proxy.bytes - before, proxy.requests - asked
    print(f"{what:62} {moved:>12,} B {requests:>4} requests {seconds:8.2f} s", flush=True)
    for name, (measured, most) in ((name, bound(moved, requests)) for name, bound in bounds.items()):
        check(name.replace("_", " "), measured, most)


def check(name, measured, most):
    is_met = measured <= most
    print(f"    {name}: {measured:,.4g}, at most {most:,}: {'met' if is_met else 'MISSED'}", flush=True)
    if not is_met:
        MISSED.append(name)


def log_bytes(directory):
    log = os.path.join(directory, "datasets/US/log")
    return sum(os.path.getsize(os.path.join(log, name)) for name in os.listdir(log) if name.endswith(".jsonl"))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def serve_files(port):
    """A web server for the directory files: nginx, or Python's, which does not support ranges."""
    if not shutil.which("nginx"):
        return subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1",
                                 "--directory", "files"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    here = os.getcwd()
    with open("nginx.conf", "w") as out:
        out.write(f"daemon off; error_log {here}/nginx.log; pid {here}/nginx.pid; events {{}}\n"
                  f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {here}/files; }} }}\n")
    os.chmod(here, 0o755)
    return subprocess.Popen(["nginx", "-c", f"{here}/nginx.conf"], stderr=subprocess.DEVNULL)


def granule(number):
    digest = hashlib.md5(str(number).encode()).hexdigest()
    uuid = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))
    return f"FOOL2.v2.{number:08}.{uuid}"


def write(path, ids):
    with open(path, "w") as out:
        out.writelines(id + "\n" for id in ids)


def serve(*options):
    """The program serving us.db, and a proxy in front of it."""
    server = subprocess.Popen([ACCESSION, "--registry", "us.db", "--quiet", "serve", "--listen", "127.0.0.1:0", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return server, Proxy(int(re.search(r":(\d+)/", server.stdout.readline())[1]))


def serve_with_python(directory):
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1",
                               "--directory", directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, Proxy(port)
        except OSError:
            time.sleep(0.05)


def end(*servers):
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait()


def diverge(mirror, granules):
    """Makes three scattered differences in a mirror: one granule more, and two less."""
    write("own.txt", [granule(granules // 2) + ".own"])
    write("gone.txt", [granule(7), granule(granules - 7)])
    run(*mirror, "ingest", "US", "--at", "2001-01-05", "own.txt", "--delete", "gone.txt")


def expecting(primary):
    """The option that lets a diverged mirror follow its primary."""
    shown = subprocess.run([*primary, "show", "US", "--json"], check=True, capture_output=True, text=True).stdout
    return "--expect", "DI:" + re.search('"identifier":"([0-9a-f]{32})"', shown).group(1)


def bytes_and_seconds(granules):
    ids = [granule(number) for number in range(granules)]
    day = sorted(granule(number) + ".new" for number in random.sample(range(granules), 274))
    write("ids.txt", ids), write("day.txt", day)
    us, them, other = ([ACCESSION, "--registry", name] for name in ("us.db", "them.db", "other.db"))
    run(*us, "ingest", "US", "--create", "--at", "2001-01-01", "ids.txt")
    run(*us, "publish", "static")
    server, proxy = serve()
    files_port = free_port()
    os.makedirs("files")
    web = serve_files(files_port)
    files = Proxy(files_port)
    python, static = serve_with_python("static")
    pull = [*them, "mirror", "pull", "US", f"http://127.0.0.1:{proxy.port}/datasets/US/", "--max-age", "1h"]
    compare = [*them, "mirror", "compare", "US", f"http://127.0.0.1:{proxy.port}/datasets/US/"]
    static_pull = [*other, "mirror", "pull", "US", f"http://127.0.0.1:{static.port}/datasets/US/", "--max-age", "1h"]
    try:
        measure("first pull", proxy, *pull, "--create", "--at", "2001-01-01")
        measure("pull, nothing new", proxy, *pull, "--at", "2001-01-02",
                requests=lambda _, requests: (requests, 1), bytes=lambda moved, _: (moved, 5_000))
        measure("first pull from files, Python's web server", static, *static_pull, "--create", "--at", "2001-01-01")
        measure("pull from files, Python's web server, nothing new", static, *static_pull, "--at", "2001-01-02")
        before = log_bytes("static")
        run(*us, "ingest", "US", "--at", "2001-01-03", "day.txt")
        run(*us, "publish", "static")
        lines = log_bytes("static") - before
        print(f"{len(day)} granules later: {os.path.getsize('day.txt'):,} B of ids, {lines:,} B of new lines in the log")
        measure("pull, 274 granules later", proxy, *pull, "--at", "2001-01-04",
                bytes_relative_to_the_new_lines=lambda moved, _: (moved / lines, 1.2))
        measure("pull from files, Python's web server, 274 granules later", static, *static_pull, "--at", "2001-01-04")
        diverge(them, granules)
        list_bytes = os.path.getsize("ids.txt") + os.path.getsize("day.txt")
        of_list = {"bytes_relative_to_the_list": lambda moved, _: (moved / list_bytes, 0.01)}
        measure("compare, three scattered differences", proxy, *compare, accepted=(1,), **of_list)
        measure("pull --expect, three scattered differences", proxy, *pull, *expecting(us), "--at", "2001-01-06", **of_list)
        others(ids, sorted(ids + day), files)
    finally:
        end(server, web, python)


def others(before, now, files):
    """Measures tools that need no registry, with a list of ids on a web server and a copy of it."""
    write("files/list.txt", now), write("old.txt", before)
    url = f"http://127.0.0.1:{files.port}/list.txt"
    measure("curl of the list, then comm", files, "sh", "-c",
            f"curl -fsS {url} > new.txt && LC_ALL=C comm -3 old.txt new.txt > differences")
    run("sh", "-c", "gzip -k files/list.txt")
    measure("curl of the compressed list, then comm", files, "sh", "-c",
            f"curl -fsS {url}.gz | gunzip > new.txt && LC_ALL=C comm -3 old.txt new.txt > differences")
    if shutil.which("rsync"):
        port = free_port()
        with open("rsyncd.conf", "w") as out:
            out.write(f"use chroot = no\n[files]\npath = {os.getcwd()}/files\n")
        daemon = subprocess.Popen(["rsync", "--daemon", "--no-detach", "--config=rsyncd.conf",
                                   f"--port={port}", "--address=127.0.0.1"])
        time.sleep(1)
        counted = Proxy(port)
        shutil.copy("old.txt", "copy.txt")
        measure("rsync -z of the list", counted, "rsync", "-z", "--no-whole-file",
                f"rsync://127.0.0.1:{counted.port}/files/list.txt", "copy.txt")
        daemon.terminate()
    else:
        print("rsync is not installed")
    if shutil.which("zsync") and shutil.which("zsyncmake") and shutil.which("nginx"):
        run("zsyncmake", "-u", url, "-o", "files/list.txt.zsync", "files/list.txt")
        measure("zsync of the list", files, "zsync", "-q", "-i", "old.txt", "-o", "zsync.txt", f"{url}.zsync")
    else:
        print("zsync, or nginx for it, is not installed")
    if shutil.which("casync"):
        run("casync", "make", "--store=files/list.castr", "files/list.caibx", "files/list.txt")
        root = f"http://127.0.0.1:{files.port}"
        measure("casync of the list", files, "casync", "extract", f"--store={root}/list.castr", "--seed=old.txt",
                f"{root}/list.caibx", "casync.txt")
        run("cmp", "casync.txt", "files/list.txt")
    else:
        print("casync is not installed")


def memory(granules):
    """Prints and returns the peak memory of each step, in megabytes."""
    write("ids.txt", (granule(number) for number in range(granules)))
    us, them = ([ACCESSION, "--registry", name] for name in ("us.db", "them.db"))
    run(*us, "ingest", "US", "--create", "--at", "2001-01-01", "ids.txt")
    run(*us, "publish", "www")
    server, proxy = serve()
    url = f"http://127.0.0.1:{proxy.port}/datasets/US/"
    peaks = {}

    def step(what, *command, accepted=(0,)):
        began = time.perf_counter()
        peaks[what] = run(*command, accepted=accepted)
        seconds = time.perf_counter() - began
        print(f"{granules:>12,} {what:52} {peaks[what]:8.1f} MB {seconds:8.2f} s", flush=True)

    try:
        step("first pull", *them, "mirror", "pull", "US", url, "--create", "--at", "2001-01-01")
        step("compare, nothing new", *them, "mirror", "compare", "US", url)
        diverge(them, granules)
        step("compare, three scattered differences", *them, "mirror", "compare", "US", url, accepted=(1,))
        step("pull --expect, three scattered differences",
             *them, "mirror", "pull", "US", url, *expecting(us), "--at", "2001-01-06")
        peaks["the server"] = peak_memory(server)
        print(f"{granules:>12,} {'the server':52} {peaks['the server']:8.1f} MB", flush=True)
    finally:
        end(server)
    return peaks


def main():
    directory = tempfile.mkdtemp(prefix="accession-bench-")
    # Lets the user of nginx read the directory.
    os.chmod(directory, 0o755)
    first = None
    for granules in SIZES:
        os.mkdir(f"{directory}/{granules}")
        os.chdir(f"{directory}/{granules}")
        if not IS_MEMORY:
            bytes_and_seconds(granules)
            continue
        peaks = memory(granules)
        first = first or peaks
        for what, peak in peaks.items():
            if peaks is not first:
                check(f"{what}, relative to the first number of granules", peak / first[what], 1.5)
    shutil.rmtree(directory)
    sys.exit(1 if MISSED else 0)


main()

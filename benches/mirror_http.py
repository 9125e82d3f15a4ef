"""Measures what a mirror receives over HTTP, beside other ways to copy a list of granules.

mirror_http.py ACCESSION [GRANULES]

ACCESSION is the program to measure, built with --release. The dataset has 1,000,000 granules by default, and
274 more a day later. Bytes are those of TCP payloads in both directions, counted by a proxy; seconds are wall time.
rsync and zsync are measured where they are installed.
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
GRANULES = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
random.seed(17)


class Proxy:
    """Passes connections on to a port of this machine, and counts bytes and connections."""

    def __init__(self, port):
        self.upstream, self.bytes = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.upstream))
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(1 << 16):
                self.bytes += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def run(*command, stdout=subprocess.DEVNULL, accepted=(0,)):
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
    if done.returncode not in accepted:
        sys.exit(f"{command}: {done.returncode}: {done.stderr}")


def measure(what, proxy, *command, accepted=(0,)):
    before, began = proxy.bytes, time.perf_counter()
    run(*command, accepted=accepted)
    print(f"{what:58} {proxy.bytes - before:>12,} B {time.perf_counter() - began:8.2f} s", flush=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def serve_files(port):
    """A web server over the directory files: nginx, or Python's, which has no ranges."""
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


def main():
    os.chdir(tempfile.mkdtemp(prefix="accession-bench-"))
    ids = [granule(number) for number in range(GRANULES)]
    day = [granule(random.randrange(GRANULES)) + ".new" for _ in range(274)]
    write("ids.txt", ids), write("day.txt", sorted(set(day)))
    us = [ACCESSION, "--registry", "us.db"]
    run(*us, "ingest", "US", "--create", "--at", "2001-01-01", "--from", "ids.txt")
    server = subprocess.Popen([*us, "--quiet", "serve", "--listen", "127.0.0.1:0", "--cache", "www"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    proxy = Proxy(int(re.search(r":(\d+)/", server.stdout.readline())[1]))
    files_port = free_port()
    os.makedirs("files")
    web = serve_files(files_port)
    files = Proxy(files_port)
    address = f"http://127.0.0.1:{proxy.port}/datasets/US/"
    them = [ACCESSION, "--registry", "them.db"]
    pull = [*them, "mirror", "pull", "US", address, "--max-age", "1h"]
    compare = [*them, "mirror", "compare", "US", address]
    try:
        measure("first pull", proxy, *pull, "--create", "--at", "2001-01-01")
        measure("pull, nothing new", proxy, *pull, "--at", "2001-01-02")
        run(*us, "ingest", "US", "--at", "2001-01-03", "--from", "day.txt")
        lines = os.path.getsize("day.txt")
        run(ACCESSION, "--registry", "us.db", "publish", "www")
        measure(f"pull, 274 granules later ({lines:,} B of ids)", proxy, *pull, "--at", "2001-01-04")
        write("own.txt", [ids[GRANULES // 2] + ".own"])
        write("gone.txt", [ids[7], ids[-7]])
        run(*them, "change", "US", "--at", "2001-01-05", "--ingest", "own.txt", "--delete", "gone.txt")
        measure("compare, three scattered differences", proxy, *compare, accepted=(1,))
        measure("pull --reset, three scattered differences", proxy, *pull, "--reset", "--at", "2001-01-06")

        # What is used without a registry: a list of ids on a web server, and a copy of it.
        now = sorted(ids + list(set(day)))
        write("files/list.txt", now), write("old.txt", ids)
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
    finally:
        server.terminate(), web.terminate()


main()

"""Measures `accession serve` and other servers of the same data, in one run.

serve.py ACCESSION [WHAT]...

ACCESSION is the program to measure. WHAT is `resolve`, `list`, `slow` or `pages`; the default is all.
Needs wrk and nginx, and for `resolve` the program datasette in $DATASETTE (default: in PATH). Prints the
commands and their output.
"""
import hashlib
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import seal

CONNECTIONS = 32
SECONDS = 10
DATASETS, CHANGES = 200, 50
LISTED = 1_000_000
READERS = 100
MANY_DATASETS = 10_000
LONG_HISTORY = 100_000

WRK = """
local paths = {}
for path in io.lines("paths") do paths[#paths + 1] = path end
local at = math.random(#paths)
request = function()
    at = at % #paths + 1
    return wrk.format("GET", paths[at], { ["Accept"] = "application/json" })
end
"""
NGINX = """
worker_processes auto;
daemon off;
pid nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 1000000;
    open_file_cache max=20000;
    default_type application/json;
    server { listen 127.0.0.1:8099; root files; }
}
"""


class Server:
    """A program that serves until the end of a `with` block."""

    def __init__(self, command, address):
        self.command, self.address = command, address

    def __enter__(self):
        # The log of the other servers is not read, so a pipe would become full.
        stdout = subprocess.PIPE if self.address is None else subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdout=stdout, stderr=subprocess.DEVNULL, text=True)
        if self.address is None:
            self.address = self.process.stdout.readline().split("//")[1].strip().rstrip("/")
        self.host, port = self.address.split(":")
        self.port = int(port)
        for _ in range(200):
            try:
                socket.create_connection((self.host, self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{self.command} does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def get(self, path, accept="application/json"):
        connection = http.client.HTTPConnection(self.host, self.port)
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def memory(self, field):
        """The memory of the process, in kB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(field))


def serve(accession, registry):
    return Server([accession, "--registry", registry, "--quiet", "serve", "--listen", "127.0.0.1:0"], None)


def wrk(server, name, paths):
    with open("paths", "w") as file:
        file.write("\n".join(paths) + "\n")
    with open("wrk.lua", "w") as file:
        file.write(WRK)
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", "wrk.lua", f"http://{server.address}"]
    print(f"$ {' '.join(command)}  # {name}")
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(output.strip(), flush=True)
    assert "Non-2xx" not in output
    return float(output.split("Requests/sec:")[1].split()[0])


def import_changes(accession, registry, name, rows):
    """Creates a dataset from rows of a table of changes."""
    with open("changes.tsv", "w") as file:
        file.writelines(rows)
    command = [accession, "--registry", registry, "--quiet", "import", name, "changes.tsv", "--create", "--format", "changes"]
    subprocess.run(command, check=True)


def at(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_000_000_000 + second))


def resolve(accession):
    print(f"\n# Resolve identifiers as JSON: {DATASETS * CHANGES} identifiers, {CONNECTIONS} connections")
    registry = "resolve.db"
    for number in range(DATASETS):
        rows = (f"{at(change)}\t+\tgranule-{number}-{change}\n" for change in range(CHANGES))
        import_changes(accession, registry, f"D{number:03}", rows)
    import sqlite3

    database = sqlite3.connect(registry)
    identifiers = [row[0] for row in database.execute("SELECT lower(hex(identifier)) FROM instance")]
    database.close()
    random.Random(7).shuffle(identifiers)
    identifiers = identifiers[:2_000]
    with serve(accession, registry) as server:
        os.mkdir("files")
        for identifier in identifiers:
            status, body = server.get(f"/DI:{identifier}")
            assert status == 200
            with open(f"files/DI:{identifier}", "wb") as file:
                file.write(body)
        own = wrk(server, "accession serve", [f"/DI:{identifier}" for identifier in identifiers])
    with open("nginx.conf", "w") as file:
        file.write(NGINX)
    with Server(["nginx", "-p", os.getcwd(), "-c", "nginx.conf"], "127.0.0.1:8099") as server:
        files = wrk(server, "nginx, the same bytes from files", [f"/DI:{identifier}" for identifier in identifiers])
    datasette = os.environ.get("DATASETTE", "datasette")
    command = [datasette, "serve", "-i", registry, "-p", "8098", "--setting", "num_sql_threads", "4"]
    with Server(command, "127.0.0.1:8098") as server:
        # An index finds the row, as in the program.
        sql = "SELECT%20*%20FROM%20instance%20JOIN%20dataset%20ON%20dataset.id=dataset_id%20WHERE%20identifier=X'{}'"
        paths = [f"/resolve.json?_shape=array&sql={sql.format(identifier)}" for identifier in identifiers]
        status, body = server.get(paths[0])
        assert status == 200 and len(json.loads(body)) == 1, body
        peer = wrk(server, "datasette, the same row", paths)
    print(f"accession serve relative to Datasette: {own / peer:.1f} times (at least 10)")
    print(f"accession serve relative to nginx: {own / files:.2f} (at least 0.15)")


def listed(accession, registry):
    with open("ids.txt", "w") as file:
        file.writelines(f"MOD09GQ.A{2000 + n % 20}{n % 365:03}.h{n % 36:02}v{n % 18:02}.061.{n:013}\n" for n in range(LISTED))
    command = [accession, "--registry", registry, "--quiet", "ingest", "LARGE", "--create", "--at", "2020-01-01", "ids.txt"]
    if not os.path.exists(registry):
        subprocess.run(command, check=True)
    command = [accession, "--registry", registry, "--json", "show", "LARGE@2020-01-01"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["identifier"]


def piped(command):
    """The time of a command that writes into a pipe, and the number of bytes."""
    began = time.perf_counter()
    reader = subprocess.Popen(command, stdout=subprocess.PIPE)
    digest = 0
    while chunk := reader.stdout.read(1 << 16):
        digest += len(chunk)
    assert reader.wait() == 0, command
    return time.perf_counter() - began, digest


def list_ids(accession):
    registry = "list.db"
    identifier = listed(accession, registry)
    print(f"\n# The list of {LISTED} ids, beside `accession granules` into a pipe")
    with serve(accession, registry) as server:
        address = f"http://{server.address}/DI:{identifier}/granules"
        times = {"serve": [], "granules": []}
        for _ in range(7):
            took, sent = piped(["curl", "-s", address])
            times["serve"].append(took)
            took, printed = piped([accession, "--registry", registry, "granules", f"DI:{identifier}"])
            times["granules"].append(took)
            assert sent == printed, (sent, printed)
    for name, values in times.items():
        print(f"{name}: {' '.join(f'{value:.3f}' for value in values)} s, median {statistics.median(values):.3f} s")
    ratio = statistics.median(times["granules"]) / statistics.median(times["serve"])
    print(f"speed of the list relative to `accession granules`: {ratio:.2f} (at least 0.7)")


def slow(accession):
    registry = "list.db"
    identifier = listed(accession, registry)
    print(f"\n# {READERS} slow readers of that list at once")
    with serve(accession, registry) as server:
        # Requested once as a whole, so that caches are not counted.
        server.get(f"/DI:{identifier}/granules")
        server.get("/datasets/LARGE/", "text/html")
        idle = server.memory("VmRSS")
        sockets = []
        for _ in range(READERS):
            reader = socket.create_connection((server.host, server.port))
            reader.sendall(f"GET /DI:{identifier}/granules HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            sockets.append(reader)
        until = time.monotonic() + 15
        while time.monotonic() < until:
            for reader in sockets:
                reader.recv(16_384)
            time.sleep(0.1)
        peak = server.memory("VmHWM")
        for reader in sockets:
            reader.close()
    print(f"idle {idle / 1024:.1f} MB, peak {peak / 1024:.1f} MB, difference {(peak - idle) / 1024:.1f} MB (less than 64)")


def pages(accession):
    print(f"\n# Pages: {MANY_DATASETS} datasets, and a history of {LONG_HISTORY} instances")
    registry = "pages.db"
    rows = []
    for n in range(LONG_HISTORY):
        rows.append(f"{at(n * 600)}\t{'+' if n % 3 != 2 else '-'}\tgranule-{n if n % 3 != 2 else n - 1}\n")
    import_changes(accession, registry, "LONG", rows)
    import sqlite3

    # Adds the rows of 10,000 small datasets with SQL, since thousands of commands would take long.
    database = sqlite3.connect(registry)
    identifier = bytes.fromhex(hashlib.md5(b"x\n").hexdigest())
    database.execute("BEGIN")
    for number in range(MANY_DATASETS):
        record = {"name": f"D{number:05}", "title": f"Dataset number {number}", "doi": f"10.9999/D{number:05}"}
        key = database.execute(
            "INSERT INTO dataset (name, doi, record, row_check) VALUES (?, ?, ?, 0)",
            (record["name"], record["doi"], json.dumps(record)),
        ).lastrowid
        when = 1_000_000_000_000_000
        database.execute("INSERT INTO granule (dataset_id, granule_id, ingested) VALUES (?, 'x', ?)", (key, when))
        database.execute(
            "INSERT INTO instance (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded, row_check) VALUES (?, ?, ?, 1, 1, 0, ?, 0)",
            (key, when, identifier, when),
        )
    seal.seal(database)
    database.close()
    with serve(accession, registry) as server:
        status, body = server.get("/datasets/LONG/history?limit=10000")
        instances = json.loads(body)["instances"]
        old, recent = instances[-1], instances[1]
        asked = {
            "the list of the datasets": "/",
            "its page after the half": "/?after=D05000",
            "a search that finds one": "/?q=number+7777",
            "a search that finds nothing": "/?q=nothing-has-this",
            "a small dataset": "/datasets/D07777/",
            "the set that all of them hold": f"/DI:{identifier.hex()}",
            "the DOI of one": "/doi/10.9999/D07777",
            "a granule in all of them": "/find?granule=x",
            "the sitemap": "/sitemap.xml",
            "the long history's dataset": "/datasets/LONG/",
            "its history": "/datasets/LONG/history",
            "its history, a page back": f"/datasets/LONG/history?after={old['timestamp']}",
            "an instance": f"/datasets/LONG@{old['timestamp']}",
            "a day of it": "/datasets/LONG@2002-01-01",
            "a set": f"/DI:{old['identifier']}",
            "the set before the latest": f"/DI:{recent['identifier']}",
            "the health": "/healthz",
        }
        for name, path in asked.items():
            times = []
            for _ in range(31):
                began = time.perf_counter()
                status, body = server.get(path, "text/html,*/*;q=0.8")
                times.append((time.perf_counter() - began) * 1_000)
                assert status in (200, 303), (path, status, body)
            median = statistics.median(times)
            print(f"{name}: median {median:.1f} ms, first {times[0]:.1f} ms, at most {max(times):.1f} ms{'' if median < 50 else '  MISSED'}")
        print(f"peak memory {server.memory('VmHWM') / 1024:.1f} MB")


MEASURED = {"resolve": resolve, "list": list_ids, "slow": slow, "pages": pages}


def main():
    accession = os.path.abspath(sys.argv[1])
    directory = tempfile.mkdtemp(prefix="accession-serve-")
    # nginx drops the privileges of root.
    os.chmod(directory, 0o755)
    os.chdir(directory)
    try:
        for name in sys.argv[2:] or MEASURED:
            MEASURED[name](accession)
    finally:
        os.chdir("/")
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()

"""Measures what a request costs `accession serve`, beside nginx that serves the same bytes, in one run.

web.py ACCESSION [POSTGRESQL]

ACCESSION is the program to measure. POSTGRESQL is the address of an empty registry on PostgreSQL, of which the
first request after a write is timed, too. The cost is the processor time of all threads of the server, from
/proc/PID/task/*/schedstat, for each of REQUESTS requests on CONNECTIONS connections that are kept open. Unlike
the time that passes, it hardly depends on what else the machine does. Of nginx, it is that of its worker.
Prints a table, with the bound of each ratio; exits with 1 if one is not met.
"""
import gzip
import http.client
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SCRIPT = os.path.abspath(__file__)
sys.path.insert(0, os.path.dirname(SCRIPT))
from serve import Server, at, import_changes, serve

CONNECTIONS, REQUESTS = 32, 5_000
LISTED = 100_000
# The sets of a long history, each of which is asked for once.
SETS = 1_000
NGINX = """
worker_processes 1;
daemon off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    gzip_static on;
    etag on;
    keepalive_requests 1000000;
    open_file_cache max=1000;
    default_type text/plain;
    server { listen 127.0.0.1:PORT; root files; }
}
"""
# Each downloads lists one after the other, as fast as a good line would.
LIST_BYTES_PER_SECOND = 1_000_000


def processes(pid):
    """A process, and those that it has started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in processes(int(child)))]


def spent(pid):
    """The processor time of a process and of its children up to now, in microseconds."""
    total = 0
    for one in processes(pid):
        for task in pathlib.Path(f"/proc/{one}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1_000


def ask(server, path, headers, requests, times=None):
    """Sends requests on one connection."""
    connection = http.client.HTTPConnection(server.host, server.port)
    for _ in range(requests):
        began = time.perf_counter()
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status in (200, 304), (path, response.status)
        if times is not None:
            times.append((time.perf_counter() - began) * 1_000)
    connection.close()


def cost(server, path, headers, requests):
    """The processor time of a request, in microseconds."""
    ask(server, path, headers, 20)
    before = spent(server.process.pid)
    each = requests // CONNECTIONS
    threads = [threading.Thread(target=ask, args=(server, path, headers, each)) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (spent(server.process.pid) - before) / (each * CONNECTIONS)


def fetch(server, path, headers):
    connection = http.client.HTTPConnection(server.host, server.port)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 200, (path, response.status)
    return dict(response.getheaders()), body


def fill(accession, registry):
    for number in range(20):
        rows = (f"{at(86_400 * day)}\t+\tgranule-{number}-{day:05}\n" for day in range(201))
        import_changes(accession, registry, f"D{number:02}", rows)
    rows = (f"{at(3_600 * hour)}\t+\tgranule-{hour:05}\n" for hour in range(2 * SETS))
    import_changes(accession, registry, "LONG", rows)
    rows = (f"{at(0)}\t+\tMOD09GQ.A{2000 + n % 20}{n % 365:03}.h{n % 36:02}v{n % 18:02}.061.{n:013}\n" for n in range(LISTED))
    import_changes(accession, registry, "LIST", rows)


def identifier_of(server, name):
    import json

    return json.loads(fetch(server, f"/datasets/{name}/", {"Accept": "application/json"})[1])["latest"]["identifier"]


def download(host, port, path):
    """Downloads a compressed list again and again, at `LIST_BYTES_PER_SECOND`."""
    connection = http.client.HTTPConnection(host, int(port))
    began, received = time.perf_counter(), 0
    while True:
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        assert response.status == 200, response.status
        while part := response.read(64 * 1_024):
            received += len(part)
            time.sleep(max(0, began + received / LIST_BYTES_PER_SECOND - time.perf_counter()))


def download_all(*what):
    threads = [threading.Thread(target=download, args=what) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    # One that ends has failed.
    threads[0].join()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wanted(server):
    """What is asked for: its name, the address, the headers, the number of requests, and the bound."""
    small, large = identifier_of(server, "D00"), identifier_of(server, "LIST")
    json_type, html, packed = {"Accept": "application/json"}, {"Accept": "text/html"}, {"Accept-Encoding": "gzip"}
    return [
        ("identifier as JSON", f"/DI:{small}", json_type, REQUESTS, 3),
        ("dataset page", "/datasets/D00/", html, REQUESTS, 4),
        ("dataset page, gzip", "/datasets/D00/", html | packed, REQUESTS, 4),
        ("index", "/", html, REQUESTS, 4),
        ("history as JSON", "/datasets/D00/history", json_type, REQUESTS, 5),
        (f"list of {LISTED} ids", f"/DI:{large}/granules", {}, REQUESTS, 2.5),
        ("the same, gzip", f"/DI:{large}/granules", packed, REQUESTS, 2),
    ]


def cold_rows(server, nginx, row):
    """First requests of distinct sets, which nothing has kept: what a resolver is asked for."""
    import json

    history = json.loads(fetch(server, f"/datasets/LONG/history?limit={SETS}", {"Accept": "application/json"})[1])
    paths = [f"/DI:{instance['identifier']}" for instance in history["instances"]]
    assert len(set(paths)) == SETS
    for name, accept, bound in [("JSON", "application/json", 5), ("BibTeX", "application/x-bibtex", 8), ("HTML", "text/html", 40)]:
        headers = {"Accept": accept}
        body = fetch(server, paths[0], headers)[1]
        pathlib.Path(f"files/cold-{name}").write_bytes(body)
        before = spent(server.process.pid)
        for path in paths[1:]:
            ask(server, path, headers, 1)
        own = (spent(server.process.pid) - before) / (SETS - 1)
        # A connection for each, too.
        fetch(nginx, f"/cold-{name}", {})
        before = spent(nginx.process.pid)
        for _ in paths[1:]:
            ask(nginx, f"/cold-{name}", {}, 1)
        other = (spent(nginx.process.pid) - before) / (SETS - 1)
        row(f"{SETS} sets as {name}, each once", len(body), "", own, other, bound)


def first_requests(accession, registry):
    """Times requests on PostgreSQL, each the first one after a write."""
    fill(accession, registry)
    print("\n| what, on PostgreSQL | first request after a write, ms | the next one, ms |\n|---|---|---|")
    with serve(accession, registry) as server:
        for number, (name, path, headers, *_) in enumerate(wanted(server)):
            import_changes(accession, registry, f"WRITTEN{number}", [f"{at(number)}\t+\tgranule-{number}\n"])
            times = []
            for _ in range(2):
                began = time.perf_counter()
                fetch(server, path, headers)
                times.append((time.perf_counter() - began) * 1_000)
            print(f"| {name} | {times[0]:.1f} | {times[1]:.1f} |")


def main():
    accession = os.path.abspath(sys.argv[1])
    directory = tempfile.mkdtemp(prefix="accession-web-")
    os.chmod(directory, 0o755)
    os.chdir(directory)
    missed = False
    try:
        fill(accession, "web.db")
        os.mkdir("files")
        port = str(free_port())
        pathlib.Path("nginx.conf").write_text(NGINX.replace("PORT", port))
        with serve(accession, "web.db") as server, Server(["nginx", "-p", directory, "-c", "nginx.conf"], f"127.0.0.1:{port}") as nginx:
            asked = wanted(server)
            print("| what | bytes | cold, ms | µs a request | nginx, µs | ratio | bound |")
            print("|---|---|---|---|---|---|---|")

            def row(name, size, cold, own, other, bound):
                nonlocal missed
                missed = missed or own / other > bound
                shown = "" if own / other <= bound else " MISSED"
                print(f"| {name} | {size} | {cold} | {own:.1f} | {other:.1f} | {own / other:.2f} | {bound}{shown} |", flush=True)

            for number, (name, path, headers, requests, bound) in enumerate(asked):
                began = time.perf_counter()
                sent, body = fetch(server, path, headers)
                cold = f"{(time.perf_counter() - began) * 1_000:.1f}"
                file = pathlib.Path(f"files/{number}")
                if sent.get("content-encoding") == "gzip":
                    # What nginx compressed beforehand; the plain file must be there, too.
                    file.write_bytes(gzip.decompress(body))
                    pathlib.Path(f"files/{number}.gz").write_bytes(body)
                else:
                    file.write_bytes(body)
                own = cost(server, path, headers, requests)
                other = cost(nginx, f"/{number}", headers, requests)
                row(name, len(body), cold, own, other, bound)
                if number == 1:
                    tag = sent["etag"]
                    its = fetch(nginx, f"/{number}", {})[0]["ETag"]
                    own = cost(server, path, headers | {"If-None-Match": tag}, requests)
                    other = cost(nginx, f"/{number}", {"If-None-Match": its}, requests)
                    row("dataset page, 304", 0, "", own, other, 3)
            cold_rows(server, nginx, row)
            times = {}
            for name in ("alone", "beside lists"):
                readers = []
                if name != "alone":
                    command = [sys.executable, SCRIPT, "--download", server.host, str(server.port), asked[-1][1]]
                    readers = [subprocess.Popen(command)]
                    time.sleep(2)
                times[name] = []
                ask(server, *asked[0][1:3], 2_000, times[name])
                for reader in readers:
                    assert reader.poll() is None, "a list was not downloaded"
                    reader.kill()
                    reader.wait()
            alone, beside = (statistics.quantiles(times[name], n=20)[-1] for name in times)
            print(f"\nidentifier as JSON, p95: {alone:.2f} ms alone, {beside:.2f} ms while {CONNECTIONS} clients download compressed lists: {beside / alone:.1f} times (at most 5)")
            missed = missed or beside / alone > 5
            print(f"memory: {server.memory('VmRSS') / 1024:.1f} MB, at most {server.memory('VmHWM') / 1024:.1f} MB")
        if len(sys.argv) > 2:
            first_requests(accession, sys.argv[2])
    finally:
        os.chdir("/")
        shutil.rmtree(directory)
    sys.exit(missed)


if __name__ == "__main__":
    if sys.argv[1] == "--download":
        download_all(*sys.argv[2:])
    else:
        main()

"""Measures `accession serve` against its bounds, and with another build of it and with nginx, in one run.

web.py ACCESSION [OTHER]

ACCESSION is the program to measure, and OTHER another build, such as the one before a change. Each serves a registry
that it has created. A cost is the processor time of all threads of a server, from /proc/PID/task/*/schedstat, for each
request on CONNECTIONS connections. Every request has a different address (`?n=`), so a cache has no effect.
Prints a table with the bound of each figure. Exits with 1 if one is not met.
"""
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

SCRIPT = os.path.abspath(__file__)
sys.path.insert(0, os.path.dirname(SCRIPT))
from serve import Server, at, import_changes, serve

CONNECTIONS, REQUESTS, ROUNDS = 32, 1_920, 3
LISTED, CHANGES = 1_000_000, 20_000
UNREAD, SLOW, HOT = 500, 512, 5_000
MIB = 1_024
SHIPPED = os.path.join(os.path.dirname(SCRIPT), "..", "docs", "deploy", "nginx-serve.conf")
NGINX = """
worker_processes 1;
daemon off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http { access_log off; sendfile on; etag on; keepalive_requests 1000000; default_type text/html; INSIDE }
"""


def spent(process):
    """The processor time of a process and of its children so far, in microseconds."""
    children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
    own = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1_000
    return own + sum(spent(int(child)) for child in children)


def get(server, path, headers={}, connection=None):
    own = connection or http.client.HTTPConnection(server.host, server.port)
    own.request("GET", path, headers=headers)
    response = own.getresponse()
    body = response.read()
    assert response.status == 200, (path, response.status)
    if connection is None:
        own.close()
    return body


def cost(server, path, headers, requests, each_another=True):
    """The processor time of a request, in microseconds."""
    def ask(first):
        connection = http.client.HTTPConnection(server.host, server.port)
        for number in range(requests // CONNECTIONS):
            get(server, f"{path}?n={first}.{number}" if each_another else path, headers, connection)
        connection.close()

    before = spent(server.process.pid)
    threads = [threading.Thread(target=ask, args=(f"{time.monotonic_ns()}-{thread}",)) for thread in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (spent(server.process.pid) - before) / (requests // CONNECTIONS * CONNECTIONS)


def fill(accession, registry):
    rows = (f"{at(86_400 * day)}\t+\tgranule-{day:05}\n" for day in range(201))
    import_changes(accession, registry, "SMALL", rows)
    rows = (f"{at(3_600 * hour)}\t+\tgranule-{hour:05}\n" for hour in range(CHANGES))
    import_changes(accession, registry, "LONG", rows)
    rows = (f"{at(0)}\t+\tMOD09GQ.A{2000 + n % 20}{n % 365:03}.h{n % 36:02}v{n % 18:02}.061.{n:013}\n" for n in range(LISTED))
    import_changes(accession, registry, "LIST", rows)
    rows = (f"{at(0)}\t+\t{'x' * 900}{n:08}\n" for n in range(20_000))
    import_changes(accession, registry, "WIDE", rows)


def identifier_of(server, name):
    return json.loads(get(server, f"/datasets/{name}/", {"Accept": "application/json"}))["latest"]["identifier"]


def readers(server, path, count):
    """Connections that have read the beginning of a response, and read no further."""
    opened = []
    for _ in range(count):
        stream = socket.create_connection((server.host, server.port))
        stream.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        opened.append(stream)
    for stream in opened:
        assert stream.recv(100).startswith(b"HTTP/1.1 200")
    return opened


def slowest_probe(server, seconds):
    """The longest time until /healthz responds, in milliseconds."""
    slowest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
        slowest = max(slowest, (time.perf_counter() - began) * 1_000)
        time.sleep(0.02)
    return slowest


class Bounds:
    """The rows of the table."""

    def __init__(self):
        self.missed = False
        print("| what | measured | beside | ratio or figure | bound |\n|---|---|---|---|---|")

    def row(self, what, measured, beside, figure, bound):
        is_missed = bound is not None and figure > bound
        self.missed = self.missed or is_missed
        shown = "" if bound is None else f"{bound}{' MISSED' if is_missed else ''}"
        print(f"| {what} | {measured} | {beside} | {figure:.2f} | {shown} |", flush=True)


def beside_another(bounds, server, other):
    json_type, html = {"Accept": "application/json"}, {"Accept": "text/html"}
    for what, path, headers in [
        ("identifier as JSON", f"/DI:{identifier_of(server, 'SMALL')}", json_type),
        ("dataset page", "/datasets/SMALL/", html),
    ]:
        best = [min(costs) for costs in zip(*([cost(it, path, headers, REQUESTS) for it in (server, other)] for _ in range(ROUNDS)))]
        bounds.row(f"{what}, µs", f"{best[0]:.0f}", f"the other build {best[1]:.0f}", best[0] / best[1], 1.1)


def list_beside_pipe(bounds, accession, registry, server):
    """A list costs the server little more than the program. The program reads and hashes on two threads. The server
    does both on one, because 500 lists would need two each. So a single list takes longer if cores are idle."""
    identifier = identifier_of(server, "LIST")
    command = [accession, "--registry", registry, "granules", f"DI:{identifier}"]
    times, costs = [], []
    for _ in range(ROUNDS):
        began, before = time.perf_counter(), spent(server.process.pid)
        body = get(server, f"/DI:{identifier}/granules")
        middle, after = time.perf_counter(), spent(server.process.pid)
        children = os.times()
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        times.append((middle - began, time.perf_counter() - middle))
        own = os.times()
        program = own.children_user + own.children_system - children.children_user - children.children_system
        costs.append(((after - before) / 1e6, program))
        assert body == printed
    served, piped = (min(it) for it in zip(*costs))
    bounds.row(f"list of {LISTED} ids, s of processor time", f"{served:.2f}", f"`accession granules` into a pipe {piped:.2f}", served / piped, 1.3)
    served, piped = (min(it) for it in zip(*times))
    bounds.row(f"list of {LISTED} ids, s", f"{served:.2f}", f"`accession granules` into a pipe {piped:.2f}", served / piped, None)


def stalled_disk(bounds, accession, registry):
    """Simulates a stalled disk by a file: calls about the registry wait while it exists."""
    source = pathlib.Path(SCRIPT, "../../cli/tests/server/stalled_disk.rs").resolve().read_text()
    pathlib.Path("shim.c").write_text(source.split('r#"')[1].split('"#')[0])
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c"], check=True)
    subprocess.run([accession, "--quiet", "registry", "copy", registry, "stalling.db"], check=True)
    environment = {"LD_PRELOAD": os.path.abspath("shim.so"), "STALL": os.path.abspath("stall")}
    os.environ.update(environment)
    try:
        with serve(accession, os.path.abspath("stalling.db")) as server:
            for name in environment:
                del os.environ[name]
            get(server, "/datasets/SMALL/")
            pathlib.Path("stall").touch()
            asked = [socket.create_connection((server.host, server.port)) for _ in range(20)]
            for stream in asked:
                stream.sendall(b"GET /datasets/SMALL/ HTTP/1.1\r\nhost: x\r\n\r\n")
            bounds.row("/healthz beside a stalled disk, ms", "", "20 pages that wait", slowest_probe(server, 3), 100)
            os.remove("stall")
    finally:
        for name in environment:
            os.environ.pop(name, None)


def behind_nginx(bounds, server):
    """Measures a hot page behind the shipped configuration, and the same bytes in a file."""
    page = get(server, "/datasets/SMALL/", {"Accept": "text/html"})
    os.makedirs("files", exist_ok=True)
    pathlib.Path("files/page").write_bytes(page)
    here, ports = os.getcwd(), []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(free.getsockname()[1])
    shipped = pathlib.Path(SHIPPED).read_text()
    shipped = shipped.replace("listen 443 ssl http2", f"listen 127.0.0.1:{ports[0]}").replace("127.0.0.1:8000", server.address)
    shipped = shipped.replace("/var/cache/accession", f"{here}/cached")
    shipped = "\n".join(line for line in shipped.splitlines() if "ssl_certificate" not in line)
    costs = []
    for port, inside, path in [
        (ports[0], shipped, "/datasets/SMALL/"),
        (ports[1], f"server {{ listen 127.0.0.1:{ports[1]}; root {here}/files; }}", "/page"),
    ]:
        pathlib.Path("nginx.conf").write_text(NGINX.replace("INSIDE", inside))
        with Server(["nginx", "-p", here, "-c", "nginx.conf"], f"127.0.0.1:{port}") as nginx:
            get(nginx, path, {"Accept": "text/html"})
            before = spent(server.process.pid)
            costs.append(cost(nginx, path, {"Accept": "text/html"}, HOT, each_another=False))
            behind = (spent(server.process.pid) - before) / HOT
            if port == ports[0]:
                bounds.row("the server behind nginx, µs a hot page", f"{behind:.1f}", "", behind, 10)
    bounds.row("nginx, hot page, µs", f"{costs[0]:.1f}", f"a file {costs[1]:.1f}", costs[0] / costs[1], 1.5)


def main():
    programs = [os.path.abspath(program) for program in sys.argv[1:3]]
    directory = tempfile.mkdtemp(prefix="accession-web-")
    os.chmod(directory, 0o755)
    os.chdir(directory)
    try:
        for number, program in enumerate(programs):
            fill(program, f"{number}.db")
        bounds = Bounds()
        with serve(programs[0], "0.db") as server:
            if len(programs) > 1:
                with serve(programs[1], "1.db") as other:
                    beside_another(bounds, server, other)
                    before = [cost(it, "/datasets/LONG/", {"Accept": "text/html"}, 64) / 1_000 for it in (server, other)]
                    bounds.row(f"page of {CHANGES} changes, ms", f"{before[0]:.1f}", f"the other build {before[1]:.1f}", before[0], 10)
            list_beside_pipe(bounds, programs[0], "0.db", server)
            behind_nginx(bounds, server)
        for name in ("LIST", "WIDE"):
            with serve(programs[0], "0.db") as server:
                path = f"/DI:{identifier_of(server, name)}/granules"
                opened = readers(server, path, UNREAD)
                figure = server.memory("VmHWM") / MIB
                bounds.row(f"memory of {UNREAD} unread lists ({name}), MB", f"{figure:.1f}", "", figure, 150)
                opened += readers(server, path, SLOW - UNREAD)
                bounds.row(f"/healthz beside {SLOW} slow readers, ms", "", "", slowest_probe(server, 3), 100)
        stalled_disk(bounds, programs[0], os.path.abspath("0.db"))
    finally:
        os.chdir("/")
        shutil.rmtree(directory)
    sys.exit(bounds.missed)


if __name__ == "__main__":
    main()

"""A registry, and `accession serve` for it, for the clients."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("ACCESSION", ROOT / "target" / "release" / "accession")

# The record of fixtures/citation: everything that a format must escape.
TITLE = 'FOO & Level_2: {100 %} of $x^2$ ~ #1 "quoted" \\TeX ER - - é 値'
DOI = "10.9999/US/FOO_L2.v2<1::A%ID>#x"
DESCRIPTION = "Retrievals of the quantity foo </script>, one granule an orbit; see doi:10.1234/other, as held at 1999-01-01."
CREATORS = [
    "Tilmes, Curt (0000-0002-1825-0097)",
    "山田, 太郎",
    "{Ministry of Sea, Air and Land}",
    "Suharto,",
    "d'Été & Söhne_1",
    "King and Queen, M., Jr.",
]
WHOLE = {
    "title": TITLE,
    "description": DESCRIPTION,
    "publisher": "US Archive: #1 & only",
    "dataset-version": "002",
    "year": "2001",
    "url": "https://example.org/a b?q={x}&r=50%25",
    "archive": "US",
    "licence": "CC-BY-4.0",
}


def orcid(number):
    """An ORCID iD with its check digit (ISO 7064 11,2)."""
    digits = f"{number:015d}"
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    text = digits + ("X" if check == 10 else str(check))
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


class Site:
    """Fills a registry, and serves it until the end of a `with` block."""

    # The options of `serve`, besides the address.
    options = ["--site-name", "US Archive", "--register"]

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="accession-clients-")
        self.registry = pathlib.Path(self.directory.name) / "accession.db"
        self.fill()
        command = [PROGRAM, "--registry", self.registry, "serve", "--listen", "127.0.0.1:0", *self.options]
        self.log = open(pathlib.Path(self.directory.name) / "log", "wb")
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.server.stdout.readline().split()[-1].rstrip("/")
        return self

    def __exit__(self, *_):
        self.server.terminate()
        status = self.server.wait()
        self.log.close()
        log = pathlib.Path(self.log.name).read_text()
        self.directory.cleanup()
        assert status == 0, status
        assert "panicked" not in log, log

    def run(self, *words):
        """Runs a command on the registry, and returns its unchanged output."""
        command = [PROGRAM, "--registry", self.registry, *words]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert ran.returncode == 0, (words[:3], ran.stderr.decode())
        return ran.stdout

    def rows(self, *words):
        return [json.loads(line) for line in self.run("--json", *words).splitlines()]

    def get(self, path, **headers):
        """The status, the headers and the body, without following a redirect."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, headers=names)
        opener = urllib.request.build_opener(NoRedirect)
        try:
            response = opener.open(request)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return response.status, response.headers, response.read()

    def page(self, path):
        status, headers, body = self.get(path, accept="text/html")
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8", (path, status, body)
        return body.decode()

    def fill(self):
        record = [word for name, value in WHOLE.items() for word in (f"--{name}", value)]
        creators = [word for creator in CREATORS for word in ("--creator", creator)]
        self.run("dataset", "create", "US.FOOL2.002", "--doi", DOI, *record, *creators)
        self.run("ingest", "US.FOOL2.002", "--at", "2001-01-02", "--id", "A.1", "--id", "A.2")
        self.run("ingest", "US.FOOL2.002", "--at", "2001-01-03", "--id", "B.1")
        self.run("delete", "US.FOOL2.002", "--at", "2001-02-03", "--id", "A.1")
        self.run("ingest", "THEM", "--create", "--at", "2001-02-01", "--id", "A.1", "--id", "A.2", "--id", "B.1")
        self.run("cite", "US.FOOL2.002@2001-01-05", "--select", "B.*")
        (subset,) = self.rows("show", "US.FOOL2.002")[0]["subsets"]
        self.part = subset["identifier"]
        self.run("ingest", "BARE", "--create", "--at", "2001-01-01", "--id", "x")
        self.run("dataset", "create", "EMPTY", "--title", "Nothing yet")
        authors = [word for number in range(100) for word in ("--creator", f"Family{number}, Given ({orcid(number)})")]
        self.run("dataset", "create", "CROWD", *record, *authors, "--doi", "10.9999/CROWD")
        self.run("ingest", "CROWD", "--at", "2001-01-01", "--id", "crowd")
        # The longest name, which every address of the dataset contains.
        self.long_name = "L" * 200
        self.run("dataset", "create", self.long_name, *record, *authors, "--doi", "10.9999/LONG")
        self.run("ingest", self.long_name, "--at", "2001-01-01T00:00:00.123456Z", "--id", "long")
        self.fill_times()

    def fill_times(self):
        """A history with several changes in a second, in neighbouring seconds, and years apart."""
        dice = random.Random(7)
        times = ["1969-12-31T23:59:59.5Z", "1999-12-31T23:59:59.999999Z", "2000-01-01T00:00:00Z", "2000-01-01T00:00:00.000001Z"]
        for second in range(0, 60, 7):
            micros = sorted(dice.sample(range(1_000_000), dice.randint(1, 4)))
            times += [f"2001-03-03T09:41:{second:02d}.{micro:06d}Z" for micro in micros]
        times += ["2016-12-31T23:59:59Z", "2024-02-29T12:00:00.000001Z", "2024-02-29T12:00:00.999999Z"]
        lines = [f"{time}\t+\tgranule-{number}" for number, time in enumerate(times)]
        file = pathlib.Path(self.directory.name) / "times.tsv"
        file.write_text("\n".join(lines) + "\n")
        self.run("import", "TIMES", file, "--create", "--format", "changes")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None

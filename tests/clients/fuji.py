"""F-UJI, which assesses how FAIR data are, on the pages of `accession serve`.

    git clone https://github.com/pangaea-data-publisher/fuji && pip install ./fuji    # with Python 3.13
    python3 tests/clients/fuji.py ./fuji

$ACCESSION is the program. Prints the score of the pages of a dataset, of its latest set and of a cited subset, and each
metric without full points. Exits with 1 if a score is below the bound.

F-UJI runs like its service, in this process. Its https requests get responses from this file. The archive's pages are
those of `accession serve`, as behind a proxy. doi.org redirects to the page of the dataset, or, for DataCite's formats,
to the metadata that an archive registers. No other host is reached. Vocabularies, licences and repositories come from
the checkout.
"""

import base64
import configparser
import contextlib
import http.client
import io
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

from served import Site

NAME, DOI, PUBLIC = "US.FOOL2.002", "10.9999/us/fool2.v2", "https://registry.example.org"
DATACITE = "application/vnd.datacite.datacite+"
FIELDS = ["--keyword", "foo", "--keyword", "remote sensing", "--free-access", "yes", "--temporal", "2000-02-24/2001-12-31"]
FILES = "".join(f"{2 * digits:0>64}  {granule}\n" for digits, granule in [("a2", "A.2"), ("b1", "B.1")])


class Https(urllib.request.HTTPSHandler):
    """The responses of the internet."""

    server, doi_resolves = None, True

    def https_open(self, request):
        to, accept = urllib.parse.urlsplit(request.full_url), request.get_header("Accept", "")
        if to.hostname == "doi.org":
            page = f"{PUBLIC}/doi/{DOI}" if accept.startswith(DATACITE) else f"{PUBLIC}/datasets/{NAME}/"
            is_known = self.doi_resolves and urllib.parse.unquote(to.path).lower() == f"/{DOI}"
            return answer(request, 302, f"Location: {page}\r\n") if is_known else answer(request, 404, "")
        if request.full_url.startswith(PUBLIC):
            return self.do_open(lambda _, timeout: http.client.HTTPConnection(self.server, timeout=timeout), request)
        raise urllib.error.URLError("not reached")


def answer(request, status, head):
    headers = http.client.parse_headers(io.BytesIO(f"{head}\r\n".encode()))
    response = urllib.response.addinfourl(io.BytesIO(), headers, request.full_url, status)
    response.msg = http.client.responses[status]
    return response


def service(checkout):
    """A client of F-UJI's service, which is set up as in its `__main__`."""
    sys.path.insert(0, str(checkout))
    from fuji_server.app import create_app
    from fuji_server.helper.preprocessor import Preprocessor

    config = configparser.ConfigParser()
    config.read(checkout / "fuji_server" / "config" / "server.ini")
    # If the file were a day old, F-UJI would request the list of repositories again.
    (checkout / "fuji_server" / "data" / "repodois.yaml").touch()
    Preprocessor().set_metric_yaml_path(str(checkout / "fuji_server" / config["SERVICE"]["yaml_directory"]))
    Preprocessor.retrieve_licenses(True)
    Preprocessor.retrieve_datacite_re3repos()
    Preprocessor.retrieve_metadata_standards()
    return create_app(config).test_client()


def assess(client, address):
    """The score in per cent."""
    from fuji_server.config.users import fuji_users
    from fuji_server.helper.request_helper import RequestHelper

    RequestHelper.reset_cache()
    asked = {"object_identifier": address, "test_debug": True, "use_datacite": True, "metric_version": "metrics_v0.8"}
    user = base64.b64encode(":".join(next(iter(fuji_users.items()))).encode()).decode()
    with contextlib.redirect_stdout(io.StringIO()):
        response = client.post("/fuji/api/v1/evaluate", json=asked, headers={"Authorization": f"Basic {user}"})
    assert response.status_code == 200, response.text
    result = response.json()
    score = result["summary"]["score_percent"]["FAIR"]
    print(f"{score:6.2f} %  {address.removeprefix(PUBLIC)}")
    for metric in result["results"]:
        if metric["score"]["earned"] < metric["score"]["total"]:
            print("          {metric_identifier}: {score[earned]} of {score[total]}: {metric_name}".format(**metric))
    return score


def main():
    client = service(pathlib.Path(sys.argv[1]).resolve())
    urllib.request.HTTPSHandler = Https
    Site.options = [*Site.options, "--public-url", PUBLIC]
    with Site() as site:
        Https.server = site.url.removeprefix("http://")
        site.run("dataset", "edit", NAME, "--doi", DOI, "--url", f"{PUBLIC}/datasets/{NAME}/")
        latest = site.rows("history", NAME, "-n", "1")[0]["identifier"]
        files = pathlib.Path(site.directory.name) / "files.sha256"
        files.write_text(FILES)
        is_below = False
        # The bounds if the DOI resolves, and if it does not.
        for what, command, bounds in [
            ("without keywords, access and time", ["show", NAME], {True: 84, False: 84}),
            ("with every field", ["dataset", "edit", NAME, *FIELDS], {True: 92, False: 84}),
            ("with every field and checksums of the files", ["fixity", "add", NAME, files, "--at", "now"], {True: 92, False: 84}),
        ]:
            site.run(*command)
            for Https.doi_resolves, bound in bounds.items():
                print(f"{what}, {'the DOI resolves' if Https.doi_resolves else 'the DOI does not resolve'}:", flush=True)
                for path in [f"/datasets/{NAME}/", f"/DI:{latest}", f"/DI:{site.part}"]:
                    is_below |= assess(client, PUBLIC + path) < bound
    sys.exit(is_below)


if __name__ == "__main__":
    main()

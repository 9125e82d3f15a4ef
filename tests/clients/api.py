"""Schemathesis requests everything that /openapi.json describes. Nothing fails, and no response is undocumented."""

import json
import os
import pathlib
import subprocess
import sys

# The number of cases for each operation and for each way in which Schemathesis generates them.
CASES = int(os.environ.get("CASES", "100"))


def check(site):
    latest = site.rows("history", "US.FOOL2.002", "-n", "1")[0]["identifier"]
    first = site.rows("show", "US.FOOL2.002@2001-01-02")[0]["identifier"]
    known = {
        "name": ["US.FOOL2.002", "TIMES", "BARE", "EMPTY", "US.FOOL2.002@2001-01-05", "TIMES@2001-03-03T09:41:07Z", "BARE@1999-01-01"],
        "identifier": [f"DI:{latest}", f"DI:{first}", f"DI:{site.part}", f"DI:{latest.upper()}"],
        "sides": [f"DI:{first}...DI:{latest}", "US.FOOL2.002@2001-01-05...US.FOOL2.002", "BARE...NONE", "BARE..."],
        "doi": ["10.9999/CROWD", "10.9999/none", "none"],
        "left": ["US.FOOL2.002", f"DI:{first}"],
        "right": ["THEM", "US.FOOL2.002@2001-01-05"],
        "granule": ["A.1", "B.1", "granule-3"],
        "at": ["2001-01-05", "2001-01-03T00:00:00Z", "2001-02-30", "1900-01-01"],
        "after": ["A.1", "BARE", "US.FOOL2.002@2001-01-02T00:00:00Z", "2001-03-03T09:41:07Z"],
        "text": [f"DI:{latest}, as held at 2001-02-05", "{ doi:10.9999/CROWD, 2001-01-05, DI:" + first + " }"],
        "q": ["FOO", latest, "10.9999"],
    }
    here = pathlib.Path(__file__).parent
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "known_values",
        "PYTHONPATH": str(here),
        "KNOWN_VALUES": json.dumps(known),
    }
    program = pathlib.Path(sys.executable).parent / "schemathesis"
    # A rejected valid value or an accepted invalid one is not reported: a schema cannot say which times and names
    # exist.
    unfit = "negative_data_rejection,positive_data_acceptance"
    options = ["--exclude-checks", unfit, "--max-examples", str(CASES), "--seed", "15", "--no-color",
               "--suppress-health-check", "all"]
    command = [str(program), "run", f"{site.url}/openapi.json", *options]
    ran = subprocess.run(command, env=environment, cwd=site.directory.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout[-20_000:]
    summary = [line.strip() for line in ran.stdout.splitlines() if "generated" in line and "passed" in line]
    return "; ".join(summary) or ran.stdout

"""redocly and spectral find no errors in the description of the API.

    npm install @redocly/cli @stoplight/spectral-cli
    PATH="$PWD/node_modules/.bin:$PATH" python3 tests/clients/run.py lint
"""

import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
COMMANDS = [
    ["redocly", "lint", "--config", HERE / "redocly.yaml"],
    ["spectral", "lint", "--ruleset", HERE / "spectral.yaml", "--fail-severity", "error"],
]


def check(site):
    _, _, body = site.get("/openapi.json", accept="application/json")
    with tempfile.TemporaryDirectory() as directory:
        document = pathlib.Path(directory) / "openapi.json"
        document.write_bytes(body)
        environment = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
        for command in COMMANDS:
            ran = subprocess.run([*command, document], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
            assert ran.returncode == 0, ran.stdout
    return f"{len(COMMANDS)} linters find no errors"

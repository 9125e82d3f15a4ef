"""Other software reads and cosigns the output of `accession proof sign` and `publish`.

    apt-get install golang-go golang-golang-x-mod-dev
    pip install tlog-scales metamorphic-log
    cargo build --release
    python3 tests/statement_peers.py

$ACCESSION is the program. Go's golang.org/x/mod/sumdb is a witness and reads tiles, checkpoints and a proof.
tlog-scales reads the tiles. metamorphic-log verifies checkpoints, inclusion and consistency. Not tested: litewitness,
the witness of transparency-dev and Tessera, which neither Debian nor PyPI has.
"""

import base64
import os
import pathlib
import subprocess
import tempfile

import metamorphic_log
from tlog_scales.backend import LocalBackend
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Vkey
from tlog_scales.tiles import leaf_hash

ROOT = pathlib.Path(__file__).parent.parent
PROGRAM = os.environ.get("ACCESSION", ROOT / "target" / "release" / "accession")
LOG = "us.example.org/statements"
# A full tile of statements, and a second one.
DAYS = 300


def main(directory):
    def run(*arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=directory, check=True, capture_output=True, text=True).stdout

    def add(days, name):
        events = "".join(f"2001-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00Z\t+\tG{day}\n" for day in days)
        (directory / name).write_text(events)
        run("import", "D", name, "--create", "--quiet")

    def sign():
        printed = run("proof", "sign", "--key", "us.key", "--policy", "policy")
        assert "; seen by go\n" in printed, printed
        run("publish", "www", "--quiet")
        return (statements / "checkpoint").read_text()

    go = build_go(directory)
    statements = directory / "www" / "statements"
    log = run("proof", "keygen", LOG, "--output", "us.key").strip()
    number = subprocess.run([go, "key", directory / "us.key"], check=True, capture_output=True, text=True).stdout
    assert f"{int(number):08x}" == log.split("+")[1], "the key file is not one that Go's note reads"
    serving = subprocess.Popen([go, "witness", log, "go.example.org"], stdout=subprocess.PIPE, text=True)
    try:
        witness, url = serving.stdout.readline().split()
        (directory / "policy").write_text(f"log {log}\nwitness go {witness} {url}\nquorum go\n")
        add(range(100), "before.tsv")
        before = sign()
        add(range(100, DAYS), "after.tsv")
        after = sign()
    finally:
        serving.terminate()
    run("proof", "create", "D@2001-03-01", "--output", "d.tlog-proof")
    subprocess.run([go, "read", statements, directory / "d.tlog-proof", log, witness], check=True)
    read_tiles(statements, [log, witness])
    verify_checkpoints(statements, before, after, log)


def build_go(directory):
    program = directory / "statement_peers"
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(directory / "cache")}
    subprocess.run(["go", "build", "-o", program, ROOT / "tests" / "statement_peers.go"], check=True, env=environment)
    return program


def read_tiles(statements, vkeys):
    reader = TilesReader(LocalBackend(statements))
    checkpoint = reader.get_checkpoint()
    assert reader.calculate_root_hash() == checkpoint.root_hash
    for vkey in vkeys:
        checkpoint.verify(Vkey.from_string(vkey))
    for index in range(checkpoint.size):
        leaf = leaf_hash(reader.get_entry(index))
        reader.get_inclusion_proof(index, checkpoint.size).check(leaf, checkpoint.root_hash)
    print(f"tlog-scales: {len(vkeys)} signatures, {checkpoint.size} statements")


def verify_checkpoints(statements, before, after, log):
    reader = TilesReader(LocalBackend(statements))
    size = reader.get_checkpoint().size
    old = metamorphic_log.checkpoint_verify(before, [log])
    new = metamorphic_log.checkpoint_verify(after, [log])
    assert (new.origin, new.size) == (LOG, size), new
    path = reader.get_consistency_proof(old.size, new.size).node_hashes
    metamorphic_log.checkpoint_verify_consistency(before, after, [log], path)
    extra, number, *path = (statements.parent.parent / "d.tlog-proof").read_text().split("\n\n")[0].split("\n")[1:]
    leaf = leaf_hash(base64.b64decode(extra.removeprefix("extra ")))
    path = [base64.b64decode(each) for each in path]
    metamorphic_log.checkpoint_verify_inclusion(after, [log], int(number.removeprefix("index ")), leaf, path)
    try:
        metamorphic_log.checkpoint_verify(after.replace(f"\n{size}\n", f"\n{size + 1}\n"), [log])
    except metamorphic_log.VerifyError:
        print(f"metamorphic-log: {old.size} and then {new.size} statements")
    else:
        raise AssertionError("a checkpoint that was altered is verified")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))

"""Compares the program with real histories and responses; prints one line for each set.

    cargo build --release && python3 tests/real_data.py DIRECTORY

DIRECTORY and its subdirectories contain `changes.tsv` (or `.gz`) files, each beside an `expected_di.tsv`
with a line for each change: its time, the number of granules, and the identifier (`-` for the empty set),
according to an independent recomputation. Each file is imported in one command, and every identifier is
compared.

Recorded CMR responses (`*.yaml` cassettes) with the granules of TELLUS_GRAC_L3, in two formats and from
two clients months apart, must all give one identifier. Exit status 1 means that something differs.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).parent.parent / "target/release/accession"
EMPTY = "d41d8cd98f00b204e9800998ecf8427e"
TELLUS_GRAC = "5f218b85d661993c7d2e7212ceb58209"


def accession(directory, *arguments, **options):
    command = [PROGRAM, "--registry", directory / "accession.db", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise SystemExit(f"{arguments}: {result.stderr}")
    return result.stdout


def check_history(changes):
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        begin = time.perf_counter()
        accession(directory, "import", "SET", changes, "--create")
        seconds = time.perf_counter() - begin
        rows = [json.loads(row) for row in accession(directory, "history", "SET", "--json").splitlines()]
        begin = time.perf_counter()
        accession(directory, "verify")
        verified = time.perf_counter() - begin
    told = [(row["granules"], row["identifier"]) for row in rows]
    lines = (changes.parent / "expected_di.tsv").read_text().splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    expected = [(int(cell[1]), EMPTY if cell[2] == "-" else cell[2]) for cell in cells]
    agreeing = sum(ours == theirs for ours, theirs in zip(told, expected))
    is_same = told == expected
    print(
        f"{changes.parent.name}: {agreeing} of {len(expected)} identifiers agree, "
        f"import {seconds:.2f} s, verify {verified:.2f} s{'' if is_same else '  DIFFERS'}"
    )
    return is_same


def bodies(cassette):
    """The bodies of the answers: single-quoted YAML scalars (YAML 1.2 § 7.3.2), and their requests."""
    text = cassette.read_text()
    pattern = r"uri: (\S+)\n\s+response:\n\s+body:\n\s+string:\s*'((?:[^']|'')*)'"
    for uri, body in re.findall(pattern, text):
        folded = re.sub(r"[ \t]*\n[ \t]*", " ", body)
        yield uri, folded.replace("''", "'")


def check_answers(cassettes):
    found = collections.Counter()
    is_same = True
    for cassette in cassettes:
        for uri, body in bodies(cassette):
            if "TELLUS_GRAC_L3" not in body or '"items":[]' in body or '"entry":[]' in body:
                continue
            with tempfile.TemporaryDirectory() as directory:
                directory = pathlib.Path(directory)
                out = accession(
                    directory, "ingest", "SET", "--create", "--from", "-", "--json", input=body
                )
            instance = json.loads(out)
            if instance["granules"] != 163:
                continue
            kind = "umm_json" if "umm_json" in uri else "feed JSON"
            found[kind] += 1
            agrees = instance["identifier"] == TELLUS_GRAC
            is_same = is_same and agrees
            print(
                f"{cassette.name}: {kind}, {instance['granules']} granules, "
                f"{instance['identifier']}{'' if agrees else '  DIFFERS'}"
            )
    if cassettes and len(found) < 2:
        print(f"only {dict(found)} of the two formats were found  DIFFERS")
        return False
    return is_same


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    histories = sorted(path for path in directory.rglob("changes.tsv*"))
    if not histories:
        raise SystemExit(f"{directory} has no changes.tsv")
    results = [check_history(changes) for changes in histories]
    results.append(check_answers(sorted(directory.rglob("*.yaml"))))
    raise SystemExit(0 if all(results) else 1)


main()

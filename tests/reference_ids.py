"""Creates `fixtures/minting/unique_ids.tsv` with the reference code in the Cumulus document.

    python3 tests/reference_ids.py DOCUMENT > fixtures/minting/unique_ids.tsv

DOCUMENT is "Unique Granule ID Generation Strategy" in Markdown. Its Python and Node.js
blocks are extracted, the second without its types, and run on 1,000 random cases. If the two disagree,
nothing is written. There is a line for each case: producer's id, collection, length, unique id.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

CASES = 1000


def block(document, language):
    return re.search(rf"```{language}\n(.*?)\n\s*```", document, re.S).group(1)


def cases():
    numbers = random.Random(20260101)
    alphabet = "ABCXYZabcxyz0189._-:/# éü値"

    def text(alphabet, longest):
        length = numbers.randint(1, longest)
        # No space at either end, since a table could lose it.
        return "x" + "".join(numbers.choice(alphabet) for _ in range(length)) + "x"

    for _ in range(CASES):
        collection = f"{text(alphabet, 12)}___{numbers.choice(['001', '006', '1', 'v2.0', 'NRT'])}"
        # Every collection permits hashes of these lengths.
        yield text(alphabet, 40), collection, numbers.randint(1, 16)


def by_python(document, all_cases):
    names = {}
    exec(block(document, "python"), names)
    return [names["unique_granule_id"](*case) for case in all_cases]


def by_node(document, all_cases):
    with tempfile.TemporaryDirectory() as directory:
        script = pathlib.Path(directory) / "reference.mjs"
        script.write_text(
            re.sub(r"\??: (string|number|boolean)\b", "", block(document, "javascript"))
            + "\nimport fs from 'node:fs';\n"
            + "const cases = JSON.parse(fs.readFileSync(0, 'utf8'));\n"
            + "console.log(JSON.stringify(cases.map((it) => generateUniqueGranuleId(...it))));\n"
        )
        run = subprocess.run(
            ["node", script], input=json.dumps(all_cases), stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(run.stdout)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    document = pathlib.Path(sys.argv[1]).read_text()
    all_cases = list(cases())
    python, node = by_python(document, all_cases), by_node(document, all_cases)
    for case, one, other in zip(all_cases, python, node):
        if one != other:
            raise SystemExit(f"{case}: Python {one}, Node.js {other}")
    for (producer, collection, length), unique in zip(all_cases, python):
        print(producer, collection, length, unique, sep="\t")


main()

"""usaddress and probablepeople with our pycrfsuite in the original's place: the same answers, smaller models, sooner.

    pip install usaddress probablepeople parserator lxml
    pip download --no-deps --no-binary usaddress,probablepeople -d sdists usaddress probablepeople
    python benchmarks/address_parsers.py sdists

Each side runs in a process of its own. First the packages' parse and tag functions on made-up addresses and names,
which must say the same; then parserator's own training on the labelled data of the source archives: CPU seconds, bytes
of the model file (at most half), and the share of right labels on the data itself. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from _bars import Claims

NUMBERS = ["12", "221B", "4000", "17-19", "# 3"]
STREETS = ["N Main St", "Baker Street", "SW 5th Ave.", "Old County Rd", "E. 42nd Blvd", "Avenue of the Pines"]
REST = [
    "Springfield, IL 62704",
    "Apt 4, Portland OR",
    "Suite 100 Austin, TX 78701-1234",
    "PO Box 9, Reno NV 89501",
]
ADDRESSES = [f"{a} {b}, {c}" for a, b, c in itertools.product(NUMBERS, STREETS, REST)]
TITLES = ["", "Dr. ", "Mrs ", "Hon. "]
GIVEN = ["Ada", "J. R.", "Mary-Jane", "Søren", "Bob 'Buddy'"]
FAMILIES = ["Quill", "van der Berg", "O'Neill Jr.", "Smith, PhD", "Ode & Sons LLC", "Blue Heron Trust Co."]
NAMES = [f"{a}{b} {c}" for a, b, c in itertools.product(TITLES, GIVEN, FAMILIES)]
DATA = {
    "usaddress": ("usaddress", "training/labeled.xml", "AddressString"),
    "person": ("probablepeople", "name_data/labeled/person_labeled.xml", "Name"),
    "company": ("probablepeople", "name_data/labeled/company_labeled.xml", "Name"),
}


def answers() -> list[Any]:
    """What the packages say about addresses and names; errors of theirs too, by their kind."""
    import probablepeople
    import usaddress

    calls = [(f, text) for f in (usaddress.parse, usaddress.tag) for text in ADDRESSES]
    calls += [(f, text) for f in (probablepeople.parse, probablepeople.tag) for text in NAMES]
    found = []
    for call, text in calls:
        try:
            found.append(call(text))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def trained(sdists: Path) -> dict[str, Any]:
    """Seconds, bytes and accuracy of parserator's training, by data set."""
    import probablepeople
    import pycrfsuite
    import usaddress
    from parserator import training

    found = {}
    modules = {"usaddress": usaddress, "probablepeople": probablepeople}
    with tempfile.TemporaryDirectory() as folder:
        for name, (package, member, group) in DATA.items():
            (archive,) = sdists.glob(f"{package}-*.tar.gz")
            with tarfile.open(archive) as files:
                inside = next(one for one in files.getnames() if one.endswith(member))
                files.extract(inside, folder, filter="data")
            data, path = (
                list(training.readTrainingData([f"{folder}/{inside}"], group)),
                f"{folder}/{name}.crfsuite",
            )
            began = time.process_time()
            training.trainModel(data, modules[package], path)
            seconds = time.process_time() - began
            tagger = pycrfsuite.Tagger()
            tagger.open(path)
            pairs = [
                (label, given)
                for _, components in data
                for label, (_, given) in zip(
                    tagger.tag(modules[package].tokens2features([token for token, _ in components])),
                    components,
                    strict=True,
                )
            ]
            right = sum(a == b for a, b in pairs) / len(pairs)
            found[name] = {"seconds": seconds, "bytes": Path(path).stat().st_size, "right": right}
    return found


def main(sdists: str) -> int:
    ours, theirs = (
        json.loads(
            subprocess.run([sys.executable, __file__, sdists, who], stdout=subprocess.PIPE, check=True).stdout
        )
        for who in ("ours", "theirs")
    )
    claims = Claims(rival="python-crfsuite")
    n = len(ours["answers"])
    same = sum(a == b for a, b in zip(ours["answers"], theirs["answers"], strict=True))
    claims.add(
        f"{len(ADDRESSES)} addresses, {len(NAMES)} names",
        f"{same} same",
        f"of {n}",
        same / n,
        1.0,
        at_least=True,
    )
    for name in DATA:
        a, b = ours["trained"][name], theirs["trained"][name]
        shown = [f"{one['seconds']:.1f} s {100 * one['right']:.2f}" for one in (a, b)]
        claims.add(f"{name}: training, accuracy", *shown, a["seconds"] / b["seconds"], 1.0)
        sizes = [f"{one['bytes']:,} B" for one in (a, b)]
        claims.add(f"{name}: model file", *sizes, a["bytes"] / b["bytes"], 0.5)
    return claims.exit_code


def child(sdists: str, who: str) -> None:
    """One side: its answers and its training, as JSON."""
    if who == "ours":
        import epigram.compat.pycrfsuite

        epigram.compat.pycrfsuite.replace_original()
    print(json.dumps({"answers": answers(), "trained": trained(Path(sdists))}))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("not run: give the folder of source archives (the first lines of this file say how to get it)")
        sys.exit(0)
    sys.exit(child(*sys.argv[1:]) if len(sys.argv) == 3 else main(sys.argv[1]))  # type: ignore[func-returns-value]

"""Kill commands at random moments, let them go on, and compare: every file is whole, every model has the same bytes.

    python tests/torture/kills.py --kills 1000 --seed 1

Each training is run once in peace, for its CPU time and its bytes. Then it is started again and again with ``--resume``
and killed (SIGKILL, SIGTERM, SIGINT) after a random part of that time, until a run comes to its end. After every kill
the model is the old one, the final one, or, where a user's signal stopped it, one that loads; the checkpoint, if there
is one, can be read. Commands without checkpoints leave no file, and begin anew. ``ime type`` is typed into in a
terminal of its own; ``reproduce`` goes on without an option, and what it had finished stays. Moments are CPU times, so
that a machine with other work sees the same kills.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from epigram.checkpoint import MAGIC, SIZES, Checkpoint
from epigram.datasets import folders
from epigram.datasets.sample import BACKGROUND, WORDS, columns, plain, treebank
from epigram.errors import EpigramError
from epigram.ime.corrections import Journal
from epigram.storage import load

OLD = b"the old model"
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EVERY = "0.02"
MEASURED = re.compile("second|megabytes|memory")
LONGEST = 1200.0  # wall time, on a machine that may have other work


class Broken(Exception):
    """What the campaign looks for."""


def commands(home: Path) -> dict[str, list[str]]:
    """The trainings, each about a second long; their files are written to ``home``."""
    tags, text, lists = home / "tags.txt", home / "text.txt", home / "lists.jsonl"
    kana, trees, words, few = (home / name for name in ("kana.txt", "trees.conllu", "words.tsv", "few.txt"))
    tags.write_text(columns("train", 120))
    text.write_text("".join(" ".join(words) + "\n" for words in plain("train", 150)))
    few.write_text("".join(" ".join(words) + "\n" for words in plain("train", 40)))
    heard = [
        {
            "reference": " ".join(said),
            "candidates": [
                {"text": " ".join([*said[:-1], said[0]]), "score": -1.0 - k % 3},
                {"text": " ".join(said), "score": -1.5},
            ],
        }
        for k, said in enumerate(plain("train", 120))
    ]
    lists.write_text("".join(json.dumps(one) + "\n" for one in heard))
    kana.write_text("".join(f"{line}\n" for line in BACKGROUND))
    words.write_text("".join("\t".join(word.split("/")) + "\n" for word in WORDS))
    tree = "1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    tree += "3\tbarks\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
    trees.write_text(tree * 60)
    documents, bank = home / "documents.txt", home / "bank.conllu"
    labelled = (
        f"__label__{'ab'[k % 2]} {' '.join(words)} {k}\n" for k, words in enumerate(plain("train", 300))
    )
    documents.write_text("".join(labelled))
    bank.write_text(treebank("train", 60))
    classifier = home / "classifier.epigram"
    converter = home / "converter.epigram"
    subprocess.run(
        [*EPIGRAM, "ime", "build", str(kana), "-o", str(converter)], check=True, capture_output=True
    )
    chunker, small = home / "chunker.epigram", home / "small.epigram"
    for trained in (
        ["tag", "train", str(tags), "--template", "chunking", "-o", str(chunker)],
        ["lm", "train", str(few), "--order", "2", "--penalty", "l1", "--keep-text", "-o", str(small)],
        ["classify", "train", str(documents), "-o", str(classifier)],
    ):
        subprocess.run([*EPIGRAM, *trained], check=True, capture_output=True)
    given = ["--strength", "0.3", "--ridge", "0.1", "--depth-weight", "1.2"]
    return {
        "tag train, sgd": ["tag", "train", str(tags)],
        "tag train, owlqn": ["tag", "train", str(tags), "--l1", "0.5", "--l2", "0.1", "--dev", str(tags)],
        "lm train": ["lm", "train", str(text), "--order", "3", "--penalty", "l1"],
        "lm train, mixed": ["lm", "train", str(few), "--order", "2"],
        "lm train, stochastic": [
            "lm",
            "train",
            str(text),
            "--solver",
            "stochastic",
            "--passes",
            "20",
            *given,
        ],
        "lm train --classes": ["lm", "train", str(text), "--classes", "12", "--order", "3", *given],
        "lm train --shards": [
            "lm",
            "train",
            str(text),
            "--order",
            "3",
            "--shards",
            str(home / "words"),
            "--n-shards",
            "3",
            *given,
        ],
        "rerank train": ["rerank", "train", str(lists), "--eps", "0.01", "--theta", "0"],
        "parse train": ["parse", "train", str(trees), "--dev", str(trees)],
        "ime build": ["ime", "build", str(kana), "--lexicon", str(words)],
        "classify train": ["classify", "train", str(documents)],
        "pipeline train": ["pipeline", "train", str(bank), "--folds", "2"],
        "classify update": ["classify", "update", str(classifier), str(documents)],
        "tag update": ["tag", "update", str(chunker), str(tags)],
        "tag rerank": ["tag", "rerank", str(chunker), str(tags), "--folds", "2"],
        "lm update": ["lm", "update", str(small), str(text)],
        "ime adapt": ["ime", "adapt", str(converter), str(kana), "--method", "map-kn+blasso", "--theta", "0"],
    }


EPIGRAM = [sys.executable, "-m", "epigram"]
AT_ONCE = ("pipeline train", "classify update", "tag update", "tag rerank", "lm update")
"""Commands without checkpoints: what is killed leaves nothing, and the next run begins anew."""
ROOT = Path(__file__).parents[2]
REPRODUCE = [sys.executable, "-m", "experiments", "structured-lm", "--quick", "--jobs", "1", "-o"]


class Campaign:
    """Kills until there were enough."""

    def __init__(self, home: Path, kills: int, seed: str, until: float) -> None:
        self.home, self.left, self.rng, self.until = home, kills, random.Random(seed), until
        self.killed: Counter[str] = Counter()
        self.chains: Counter[str] = Counter()
        self.takes: dict[str, float] = {}
        self.with_checkpoint = 0
        self.corrections = 0
        self.finished: dict[str, bytes] = {}
        self.peaceful = 0

    @property
    def is_over(self) -> bool:
        """Whether there were kills enough, or time is over."""
        return self.left <= 0 or time.monotonic() > self.until

    def run(
        self, command: list[str], wait: float | None = None, number: int = 0, family: bool = False
    ) -> tuple[int, bytes]:
        """A command, sent a signal after so much CPU time; its exit code and what it said.

        With ``family`` the signal goes to the processes that it started, too.
        """
        with tempfile.TemporaryFile() as heard, subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=heard, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:  # fmt: skip
            end = time.monotonic() + LONGEST
            while (
                process.poll() is None and time.monotonic() < end and (wait is None or spent(process) < wait)
            ):
                time.sleep(0.01 + self.rng.uniform(0, 0.01))
            if process.poll() is None and wait is not None:
                (os.killpg if family else os.kill)(process.pid, number)
                self.left -= 1
            try:
                process.wait(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Broken(f"no end within {LONGEST:.0f} s: {' '.join(command)}") from None
            heard.seek(0)
            return process.returncode, heard.read()

    def train(self, name: str, words: list[str]) -> None:
        """One training, killed until it comes to its end."""
        whole = self.home / f"{name.replace(' ', '-')}.whole"
        if not whole.exists():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            code, said = self.run([*EPIGRAM, *words, "-o", str(whole)])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.takes[name] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            if code:
                raise Broken(f"{name} ends with {code}: {said.decode()}")
        folder = Path(tempfile.mkdtemp(dir=self.home))
        model = folder / "model.epigram"
        if name not in AT_ONCE:
            model.write_bytes(OLD)
            words = [*words, "--checkpoint", EVERY, "--resume"]
        command = [*EPIGRAM, *words, "-o", str(model)]
        code = -1
        for _ in range(12):
            if self.is_over:
                break
            number = self.rng.choice(SIGNALS)
            code, said = self.run(command, self.rng.uniform(0.2, 1.0) * self.takes[name], number)
            if code == 0:
                break
            self.killed[name] += 1
            self.check(name, model, whole.read_bytes(), number, code, said)
        if code:
            code, said = self.run(command)
        if code or model.read_bytes() != whole.read_bytes():
            raise Broken(
                f"{name} goes on to other bytes (exit code {code}, in {folder}): {said.decode()[-500:]}"
            )
        left = [path.name for path in folder.iterdir() if path != model]
        if left:
            raise Broken(f"{name} leaves {left} behind in {folder}")
        self.chains[name] += 1
        shutil.rmtree(folder)

    def check(self, name: str, model: Path, whole: bytes, number: int, code: int, said: bytes) -> None:
        """Look at all files after a kill."""
        gently = number != signal.SIGKILL
        if name in AT_ONCE:
            # A process that is killed while it saves cannot remove its temporary file; the next run does.
            left = [path.name for path in model.parent.iterdir() if gently or path.name[:9] != ".epigram-"]
            if left not in ([], [model.name]) or (left and not gently and model.read_bytes() != whole):
                raise Broken(
                    f"{name} leaves {left} behind after {number!r} (exit code {code}) in {model.parent}"
                )
        content = model.read_bytes() if model.exists() else OLD
        if content not in (OLD, whole):
            try:
                load(model)
            except Exception as error:
                raise Broken(f"{name}: a model that does not load after {number!r}: {error}") from error
        saved = model.with_name(f"{model.name}.checkpoint")
        if saved.exists():
            unseal(saved)
            self.with_checkpoint += 1
        if gently and code == 130 and b"Traceback" in said:
            raise Broken(f"{name}: {number!r} shows a traceback: {said.decode()[-800:]}")
        if name in AT_ONCE:
            model.unlink(missing_ok=True)

    def type(self, converter: Path) -> None:
        """Typing in a terminal, killed; every correction whose line was shown is in the journal, whole."""
        journal = Path(tempfile.mkdtemp(dir=self.home)) / "journal.jsonl"
        decoder = load(converter).decoder
        for _ in range(6):
            if self.is_over:
                break
            known = journal.read_bytes() if journal.exists() else b""
            self.type_until(self.rng.uniform(0.2, 0.7), converter, journal)
            self.left -= 1
            self.killed["ime type"] += 1
            now = journal.read_bytes() if journal.exists() else b""
            for line in [line for line in now.split(b"\n") if line][:-1]:
                json.loads(line)
            if not now.startswith(known[: known.rfind(b"\n") + 1]):
                raise Broken("ime type: lines of the journal that were there are gone")
            if journal.exists():
                try:
                    Journal.load(decoder, journal)
                except EpigramError as error:
                    raise Broken(f"ime type: the journal cannot be read after a kill: {error}") from error
        self.corrections += journal.read_bytes().count(b"\n") if journal.exists() else 0
        self.chains["ime type"] += 1

    def type_until(self, wait: float, converter: Path, journal: Path) -> None:
        """Type and correct until so much CPU time is over, then send a signal."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [*EPIGRAM, "ime", "type", str(converter), "--user", str(journal)],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        end = time.monotonic() + LONGEST
        while process.poll() is None and spent(process) < wait and time.monotonic() < end:
            if select.select([master], [], [], 0.02)[0]:
                try:
                    os.read(master, 65536)
                    os.write(master, b"hasiwowataru \x1b[B\r")
                except OSError:
                    break
        process.send_signal(self.rng.choice(SIGNALS))
        os.close(master)  # else what it shows last waits for somebody to read it
        process.wait(timeout=LONGEST)

    def reproduce(self) -> None:
        """A paper's experiments on subsets, killed; what was finished is whole and stays, the rest comes out the same.

        A run goes on over the rounds of the campaign until all is finished, and is then compared with one in peace.
        """
        if not (self.home / "peace").exists():
            self.peaceful, said = self.run([*REPRODUCE, str(self.home / "peace")])
            if self.peaceful not in (0, 1):
                raise Broken(f"reproduce ends with {self.peaceful}: {said.decode()[-500:]}")
        for _ in range(3):
            if self.is_over or self.reproduce_until(self.rng.uniform(0.5, 4.0)):
                return
            self.killed["reproduce"] += 1

    def reproduce_until(self, wait: float | None) -> bool:
        """Go on with the experiments, killed after so much CPU time or not at all; whether they came to their end."""
        folder = self.home / "results"
        number, family = self.rng.choice(SIGNALS), self.rng.random() < 0.3
        code, said = self.run([*REPRODUCE, str(folder)], wait, number, family)
        if b"Traceback" in said:
            raise Broken(f"reproduce shows a traceback: {said.decode()[-800:]}")
        kept = {path.name: path.read_bytes() for path in (folder / "finished").glob("*.json")}
        for content in kept.values():
            json.loads(content)
        for name, content in self.finished.items():
            if kept.get(name) != content:
                raise Broken(f"reproduce: {name} was finished and has changed")
        self.finished = kept
        if code != self.peaceful:
            return False
        self.compare(folder, self.home / "peace")
        shutil.rmtree(folder)
        self.finished = {}
        self.chains["reproduce"] += 1
        return True

    def finish(self) -> None:
        """Experiments that are not at their end when the kills are over are followed to it."""
        if (self.home / "results").exists() and not self.reproduce_until(None):
            raise Broken("reproduce, left alone after its kills, does not end as it does in peace")

    def compare(self, folder: Path, peace: Path) -> None:
        """A run that was killed has the files of one in peace; results differ in times only (all of ``prox``)."""
        here, there = (
            {str(path.relative_to(place)) for path in place.rglob("*")} for place in (folder, peace)
        )
        if here != there:
            raise Broken(f"reproduce: these files are only here or only in peace: {sorted(here ^ there)}")
        for path in (peace / "finished").glob("*.json"):
            if "--prox--" in path.name:
                continue
            ours, theirs = (
                json.loads((place / "finished" / path.name).read_bytes()) for place in (folder, peace)
            )
            if timeless(ours["result"]) != timeless(theirs["result"]):
                raise Broken(f"reproduce: {path.name} is not what it is in peace")


def unseal(path: Path) -> None:
    """Read a checkpoint; its checksum says whether it is whole."""
    saved = Checkpoint(path, resume=True)
    content = path.read_bytes()
    start = len(MAGIC) + SIZES.size
    length = SIZES.unpack(content[len(MAGIC) : start])[1]
    saved.subject = json.loads(content[start : start + length])["subject"]
    with saved:
        pass


def timeless(value: Any) -> Any:
    """A result without what was measured in seconds or bytes of memory."""
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if not MEASURED.search(name)}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def spent(process: subprocess.Popen[bytes]) -> float:
    """CPU seconds of a process and those that it started."""
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()
        family = [Path(f"/proc/{one}/stat").read_text() for one in (process.pid, *children)]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    times = [stat.rpartition(")")[2].split()[11:15] for stat in family]
    return sum(int(ticks) for one in times for ticks in one) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run and report; exit code 1 where something broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", action="append", help="this command only; may be repeated")
    given: Any = parser.parse_args()
    began = time.monotonic()
    broken: list[Broken] = []
    home = Path(tempfile.mkdtemp(prefix="epigram-kills-"))
    campaign = Campaign(home, given.kills, given.seed, began + given.seconds)
    trainings = commands(home)
    has_data = any(folder.is_dir() for folder in folders())
    names = given.only or [*trainings, "ime type", *(["reproduce"] if has_data else [])]
    failures: Counter[str] = Counter()
    while names and not campaign.is_over:
        # Kills are shared out evenly; a command that is often faster than its killer has to come to an end some day.
        name = min(names, key=lambda one: campaign.killed[one] + campaign.chains[one] / 5)
        try:
            if name == "ime type":
                campaign.type(home / "converter.epigram")
            elif name == "reproduce":
                campaign.reproduce()
            else:
                campaign.train(name, trainings[name])
        except Broken as error:
            broken.append(error)
            print(f"{name}: {error}", flush=True)
            failures[name] += 1
            names = [one for one in names if failures[one] < 3]
        kills = sum(campaign.killed.values())
        print(f"{kills:,} kills, {time.monotonic() - began:,.0f} s: {name}", file=sys.stderr, flush=True)
    try:
        campaign.finish()
    except Broken as error:
        broken.append(error)
        print(f"reproduce: {error}", flush=True)
    for name in sorted(campaign.killed):
        print(f"{campaign.killed[name]:6,} kills, {campaign.chains[name]:4,} to the end  {name}")
    print(
        f"{sum(campaign.killed.values()):6,} kills in {time.monotonic() - began:,.0f} s, seed {given.seed}, "
        f"{campaign.with_checkpoint:,} with a checkpoint to go on from, {campaign.corrections:,} corrections typed: "
        f"{f'{len(broken)} broken, files in {home}' if broken else 'nothing broke'}"
    )
    if not broken:
        shutil.rmtree(home)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()

"""Compare METEOR with the official program, run as pycocoevalcap 1.2 runs it: its jar, through `-stdio`.

    python -m benchmarks.meteor                       # every job at every size, some minutes
    python -m benchmarks.meteor made-up --sizes 5000

Java is needed, and pycocoevalcap both as the other program and for its tables (requirements-meteor.txt). Both programs
get tokens. `made-up` are the captions of benchmarks.captions, in words that no table has. `flickr8k` are captions of
people, each with four of its own image and one of another image (if QUORUM_SHARED names the data). The official program
is started before the measurement, and has already scored a few thousand captions. `cold` measures two new processes,
from reading the captions to printing the score. Of the official program's memory only Python's is counted, not Java's.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from numpy.typing import ArrayLike

from benchmarks.captions import Captions, made_up
from benchmarks.measuring import Job, main
from quorum.metrics import score
from quorum.metrics.text.tokenizers import tokenizer_named

SIZES = (2_500, 10_000, 40_000)
WARM_UP = 4_000
SHARED_FOLDER = os.environ.get("QUORUM_SHARED")

QUORUM_SCRIPT = """
import json, sys
from quorum.metrics import score
print(score(*json.load(open(sys.argv[1])), ["meteor"], "space").scores["meteor"].corpus)
"""
PEER_SCRIPT = """
import json, sys
from pycocoevalcap.meteor.meteor import Meteor
found, references = json.load(open(sys.argv[1]))
print(Meteor().compute_score(dict(enumerate(references)), {i: [text] for i, text in enumerate(found)})[0])
"""


@cache
def start_program() -> Any:
    """Start the official program, once in each process, and return it."""
    return importlib.import_module("pycocoevalcap.meteor.meteor").Meteor()


def flickr8k(size: int) -> Captions:
    """Return people's captions as candidates, repeated if there are too few."""
    path = Path(str(SHARED_FOLDER)) / "data/flickr8k/Flickr8k.token.txt"
    cut = tokenizer_named("ptb").cut
    images: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, caption = line.split("\t")
        images.setdefault(key.partition("#")[0], []).append(" ".join(cut(caption)))
    sets = list(images.values())
    candidates, references = [], []
    for number in range(size):
        image, own = divmod(number, 5)
        texts, other = sets[image % len(sets)], sets[(image + 1) % len(sets)]
        candidates.append(texts[own])
        references.append([*texts[:own], *texts[own + 1 :], other[own]])
    return Captions(candidates, references)


def meteor(given: Captions) -> ArrayLike:
    return score(given.candidates, given.references, ["meteor"], "space").scores["meteor"].corpus


def official_meteor(given: Captions) -> ArrayLike:
    return float(start_program().compute_score(*given.for_peer)[0])


def _cold_start_seconds(code: str, given: Captions) -> ArrayLike:
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([given.candidates, given.references], file)
        file.flush()
        run = subprocess.run(
            [sys.executable, "-c", code, file.name], capture_output=True, text=True, check=True
        )
    return float(run.stdout)


def cold_meteor(given: Captions) -> ArrayLike:
    return _cold_start_seconds(QUORUM_SCRIPT, given)


def cold_official_meteor(given: Captions) -> ArrayLike:
    return _cold_start_seconds(PEER_SCRIPT, given)


PEER, PACKAGE = "METEOR 1.5", "pycocoevalcap"
UNIT = " x 5"
PEOPLE = (
    Job("flickr8k", SIZES, flickr8k, meteor, official_meteor, PEER, PACKAGE, warm_up=WARM_UP, unit=UNIT),
)
JOBS = (
    Job("made-up", SIZES, made_up, meteor, official_meteor, PEER, PACKAGE, warm_up=WARM_UP, unit=UNIT),
    *(PEOPLE if SHARED_FOLDER else ()),
    Job(
        "cold",
        SIZES[1:],
        made_up,
        cold_meteor,
        cold_official_meteor,
        f"{PEER}, started anew",
        PACKAGE,
        unit=UNIT,
    ),
)

if __name__ == "__main__":
    main(JOBS)

"""Measure whom the detectors of contrib/honest_answers would flag wrongly, on people's captions and people's typing.

    python -m benchmarks.honesty phrasing --data FOLDER                  # some two minutes
    python -m benchmarks.honesty words --data FOLDER                     # the hidden line's words; seconds
    python -m benchmarks.honesty typing --keystrokes FOLDER              # half a minute for 2,300 people

The FOLDER of captions has ``coco-captions``, ``flickr8k``, ``pascal-50s`` and ``abstract-50s`` (docs/formats.md), whose
captions people wrote between 2010 and 2015, before language models. None of the four says who wrote which caption, so
workers are formed by permutation: each image gives five captions, one to each of five positions. The captions at a
position are shuffled, and every 20 of them, on 20 images, are one worker's. So a simulated worker has the phrasings of
twenty people. A real worker repeats their own phrasings, which this detector does not count.

To see how many workers are found, in other runs a fifth of the workers let a program write a share of their answers:
one of 20 sentences (captions of images outside of the study), with one word left out.

The FOLDER of keystrokes has ``*_keystrokes.txt`` of the 136 Million Keystrokes data (Dhakal et al. 2018,
https://userinterfaces.aalto.fi/136Mkeystrokes/, not for commercial use). In it, people copied sentences on keyboards of
computers. People who write their own sentences type more slowly.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from annotation.quality.detectors import make_rule
from annotation.quality.detectors.base import Rule
from annotation.quality.detectors.history import NAN, AnswerFormat, OwnJudgment, WrittenAnswer
from annotation.work.sheet.hidden_line import HIDDEN_WORDS
from contrib.replays.page_replays import replay_detectors
from contrib.replays.submitted_pages import SubmittedPage
from judgments.kinds.caption import fold_text
from quorum.statistics.meta import wilson_interval

ANSWERS = AnswerFormat.from_values(
    (), level="nominal", has_sides=False, is_text=True, records_typing=True, hidden_line=True
)
SEED = 1
PLACES, SIZE, EACH, STUDY = 5, 5, 20, 100  # captions per image, page and worker; images per study
STUDIES = 12
COPIED, PROGRAM = (0.5, 1.0), 20
MAX_BURST_GAP = 2000.0  # ms, as in static/js/writing.js
NO_KEYS = {"SHIFT", "CTRL", "ALT", "CAPS_LOCK", "ARW_LEFT", "ARW_RIGHT", "ARW_UP", "ARW_DOWN", "TAB"}


def captions_of(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return the captions of each data set, by image."""
    captions_by_set: dict[str, defaultdict[str, list[str]]] = {
        name: defaultdict(list) for name in ("MS COCO", "Flickr8k", "PASCAL-50S", "ABSTRACT-50S")
    }
    coco = json.loads((folder / "coco-captions/captions_karpathy_test4.json").read_text("utf-8"))
    for row in coco["annotations"]:
        captions_by_set["MS COCO"][str(row["image_id"])].append(row["caption"])
    for line in (folder / "flickr8k/Flickr8k.token.txt").read_text("utf-8").splitlines():
        image, _, text = line.partition("\t")
        captions_by_set["Flickr8k"][image.partition("#")[0]].append(text)
    for name in ("PASCAL-50S", "ABSTRACT-50S"):
        for line in (folder / name.lower() / "references.jsonl").read_text("utf-8").splitlines():
            one = json.loads(line)
            captions_by_set[name][one["image"]].extend(one["references"])
    return {name: dict(images) for name, images in captions_by_set.items()}


def study_of(
    captions: dict[str, list[str]], *, copied: float, rng: np.random.Generator
) -> tuple[list[SubmittedPage], set[int]]:
    """Return the pages of a simulated study in order, and the workers who copy."""
    names = sorted(captions)
    images = [names[place] for place in rng.permutation(len(names))[:STUDY].tolist()]
    pages: list[SubmittedPage] = []
    texts = {unit: rng.permutation(captions[image])[:PLACES].tolist() for unit, image in enumerate(images)}
    elsewhere = [names[place] for place in rng.permutation(len(names)).tolist() if names[place] not in images]
    program = [one for image in elsewhere for one in captions[image] if len(one.split()) > 8][:PROGRAM]
    workers = len(images) // EACH * PLACES
    copying = set(rng.permutation(workers)[: workers // 5].tolist()) if copied else set()
    for place in range(PLACES):
        order = rng.permutation(len(images)).tolist()
        for start in range(0, len(order), SIZE):
            worker = place * (len(images) // EACH) + start // EACH
            given = []
            for unit in order[start : start + SIZE]:
                text = texts[unit][min(place, len(texts[unit]) - 1)]
                if worker in copying and rng.random() < copied:
                    text = _vary_text(program[int(rng.integers(PROGRAM))], rng)
                given.append(OwnJudgment(start // SIZE, unit, NAN, NAN, written_answer=WrittenAnswer(text)))
            pages.append(SubmittedPage(worker, given))
    shuffled = [pages[at] for at in rng.permutation(len(pages)).tolist()]
    return [_page_at(page, at) for at, page in enumerate(shuffled)], copying


def _page_at(page: SubmittedPage, at: int) -> SubmittedPage:
    given = [
        one._replace(written_answer=one.written_answer._replace(position=at))
        for one in page.judgments
        if one.written_answer is not None
    ]
    return SubmittedPage(page.worker, given)


def _vary_text(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    del words[int(rng.integers(len(words)))]
    return " ".join(words)


def print_phrasing(folder: Path, only: str) -> None:
    """Print the share of simulated workers who are ever flagged, in studies of 100 images and 25 workers."""
    rule = make_rule("phrasing", {})
    print(
        f"{rule!r}, seed {SEED}; {STUDIES} studies of {STUDY} images with {PLACES} captions, {EACH} a worker"
    )
    for name, captions in captions_of(folder).items():
        if only not in name:
            continue
        honest = [_flagged_people(captions, rule, copied=0.0, number=number) for number in range(STUDIES)]
        flagged, workers = sum(len(found) for found, _, _ in honest), sum(of for _, _, of in honest)
        low, high = wilson_interval(flagged, workers)
        print(f"{name}: {flagged} of {workers} honest participants ({low:.1%} to {high:.1%})", end="")
        for copied in COPIED:
            runs = [
                _flagged_people(captions, rule, copied=copied, number=number)
                for number in range(STUDIES // 4)
            ]
            found = sum(len(found & copying) for found, copying, _ in runs)
            wrong = sum(len(found - copying) for found, copying, _ in runs)
            of = sum(len(copying) for _, copying, _ in runs)
            print(f"; a program in {copied:.0%}: {found} of {of} found, {wrong} others", end="")
        print(flush=True)


def _flagged_people(
    captions: dict[str, list[str]], rule: Rule, *, copied: float, number: int
) -> tuple[set[int], set[int], int]:
    rng = np.random.default_rng([SEED, number, round(100 * copied)])
    pages, copying = study_of(captions, copied=copied, rng=rng)
    found = replay_detectors(pages, rules=[rule], answer_format=ANSWERS)
    return set(found), copying, len({page.worker for page in pages})


def print_words(folder: Path) -> None:
    texts = [text for images in captions_of(folder).values() for given in images.values() for text in given]
    there = {word for text in texts for word in fold_text(text).split()}
    print(f"{len(texts):,} captions; of the hidden line's {len(HIDDEN_WORDS)} words, in one:",
          ", ".join(word for word in HIDDEN_WORDS if word in there) or "none")  # fmt: skip


def sentences_of(path: Path) -> Iterator[list[float]]:
    """Yield the times of the keys of each sentence in milliseconds, without keys that do not write."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    with path.open(encoding="utf-8", errors="replace") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["LETTER"] is not None and row["LETTER"] not in NO_KEYS and _is_number(row["PRESS_TIME"]):
                times[row["TEST_SECTION_ID"]].append(float(row["PRESS_TIME"]))
    yield from (sorted(one) for one in times.values())


def _is_number(text: str | None) -> bool:
    return text is not None and text.replace(".", "", 1).isdigit()


def signals_of(times: Sequence[float]) -> dict[str, int]:
    """Return the signals that static/js/writing.js would have counted."""
    gaps = np.diff(np.array(times))
    near = gaps[gaps <= MAX_BURST_GAP]
    found = {"keys": len(times), "bursts": len(times) - len(near), "typing_ms": round(float(near.sum()))}
    if len(near) < 2:
        return found
    low, middle, high = np.quantile(near, [0.25, 0.5, 0.75]).tolist()
    return found | {"gap_ms": round(middle), "gap_spread_ms": round(high - low)}


def print_typing(folder: Path) -> None:
    """Print who is flagged if all sentences are on one page, and how near the sentences come to the limits."""
    from contrib.honest_answers.detectors import keys_per_second, relative_gap_spread

    rule = make_rule("typing", {"share": 0.0001})  # a single sentence is enough here
    people = flagged = 0
    speeds: list[float] = []
    spreads: list[float] = []
    for path in sorted(folder.glob("*_keystrokes.txt")):
        counted = [signals_of(times) for times in sentences_of(path) if len(times) >= 30]
        if len(counted) < 3:
            continue
        people += 1
        speeds += [keys_per_second(one) for one in counted]
        spreads += [spread for one in counted if (spread := relative_gap_spread(one)) is not None]
        given = [
            OwnJudgment(0, unit, NAN, NAN, written_answer=WrittenAnswer("", signals))
            for unit, signals in enumerate(counted)
        ]
        flagged += bool(replay_detectors([SubmittedPage(1, given)], rules=[rule], answer_format=ANSWERS))
    _, high = wilson_interval(flagged, people)
    print(f"{flagged} of {people:,} people with any such sentence among {len(speeds):,} (to {high:.2%})")
    print(f"characters a second: median {np.median(speeds):.1f}, fastest {max(speeds):.1f}")
    print(f"spread of gaps over their median: median {np.median(spreads):.2f}, least {min(spreads):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["phrasing", "words", "typing"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--keystrokes", type=Path)
    parser.add_argument("--only", default="", help="a part of a data set's name")
    chosen = parser.parse_args()
    settings.USE_I18N = False  # English sentences need no apps
    if chosen.what == "typing":
        if chosen.keystrokes is None:
            parser.error("typing needs --keystrokes, the folder of the keystroke files")
        print_typing(chosen.keystrokes)
    else:
        if chosen.what == "words":
            print_words(chosen.data)
        else:
            print_phrasing(chosen.data, chosen.only)


if __name__ == "__main__":
    main()

"""Measure the rules about control items: run ``python -m benchmarks.controls`` (docs/controls.md has its figures).

It measures how often an honest worker's running accuracy falls below the threshold, and how soon a guessing worker's
does; how surely a wrong control item is suspected, and how often a right one; and how much worse damaged captions of
PASCAL-50S are.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import django
import numpy as np

from judgments.drawing.controls.captions import degraded_text
from judgments.drawing.material import Image, Text
from quorum.metrics import bleu_pre_matrix, score

RUNS = 4_000
STUDIES = 300
SEED = 1


def print_accuracy(rng: np.random.Generator) -> None:
    print("chance to be right, after: ever below / below at the end / median control item it is first below")
    for share in (0.95, 0.9, 0.85, 0.8, 0.5):
        for after in (4, 10, 20):
            rights = np.array([rng.random(40) < share for _ in range(RUNS)])
            seen = np.arange(1, 41)
            below = (rights.cumsum(axis=1) / seen < 0.7) & (seen >= after)
            first = below.argmax(axis=1)[below.any(axis=1)] + 1
            last = below[:, -1].mean()
            middle = f"{np.median(first):.0f}" if len(first) else "-"
            print(f"{share} after {after}: {len(first) / RUNS:.3f} / {last:.3f} / {middle}")


def print_suspects(rng: np.random.Generator) -> None:
    """Simulate 40 control items and 20 workers, and print how often items are suspected.

    The stated answer of one item is wrong.
    """
    from annotation.quality.control_item_check import check_control_items

    print("judgments an item, chance to be right: wrong item suspected / any sound item suspected")
    for each in (3, 5, 10):
        for share in (0.95, 0.9, 0.8):
            caught = false = 0
            for _ in range(STUDIES):
                rows = [
                    (item, int(worker), bool(rng.random() < (1 - share if item == 0 else share)))
                    for item in range(40)
                    for worker in rng.permutation(20)[:each]
                ]
                found = check_control_items(rows, threshold=0.7)
                caught += found[0].is_suspect
                false += any(one.is_suspect for item, one in found.items() if item != 0)
            print(f"{each}, {share}: {caught / STUDIES:.2f} / {false / STUDIES:.3f}")


def damage(rng: np.random.Generator, folder: Path) -> None:
    """Print how much worse a damaged caption of each image of PASCAL-50S scores against the other 49 captions."""
    lines = (folder / "pascal-50s" / "references.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    images = [
        Image(row["image"], "dev", tuple(Text(str(n), text) for n, text in enumerate(row["references"])))
        for row in rows
    ]
    for whole in (False, True):
        pairs = [
            (image, image.references[0].text, damaged.text)
            for image in images
            if (damaged := degraded_text(image.references[0], image, images, rng, replace_all=whole))
            is not None
        ]
        others = [[text.text for text in image.references[1:]] for image, _, _ in pairs]
        intact = score([text for _, text, _ in pairs], others, metrics=["cider-d"]).scores["cider-d"].images
        worse = score([text for _, _, text in pairs], others, metrics=["cider-d"]).scores["cider-d"].images
        hits, totals = bleu_pre_matrix([text for _, _, text in pairs], others)
        share = np.diagonal(hits).sum() / totals.sum()
        print(
            f"whole={whole}: {len(pairs)} of {len(images)} damaged; CIDEr-D of the intact one higher in "
            f"{np.mean(intact > worse):.3f} (mean {np.mean(intact):.2f} against {np.mean(worse):.2f}); content words "
            f"that another caption has: {share:.3f}"
        )
        for _, text, damaged_text in pairs[:3]:
            print(f"  {text!r} -> {damaged_text!r}")


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()  # for models that are imported indirectly; no database is read
    rng = np.random.default_rng(SEED)
    print_accuracy(rng)
    print_suspects(rng)
    if os.environ.get("QUORUM_SHARED"):
        damage(rng, Path(os.environ["QUORUM_SHARED"]) / "data")


if __name__ == "__main__":
    main()

"""Made-up datasets as generation sees them, and what designs draw from them."""

from typing import Any

from judgments.design.reading.checking import make_design
from judgments.drawing.material import Batch, Image, Material, Text, UnitSpec
from judgments.kinds import KINDS

CROSSED = {"pairs_from": "crossed"}  # every text of the split with every image
ANIMALS = ("dog", "cat", "horse", "bird", "cow", "sheep", "zebra", "bear", "giraffe", "goat", "fox", "hen")


def made_up(images: int = 20, *, references: int = 5, systems: int = 3, dev: int = 6) -> Material:
    """``images`` images, the last ``dev`` of them in the control split; every caption has a text of its own."""
    return Material(
        name="made-up",
        images=tuple(
            Image(
                name=f"image-{number}",
                split="test" if number < images - dev else "dev",
                references=tuple(
                    Text(f"image-{number}#{index}", f"reference {index} of image {number}")
                    for index in range(references)
                ),
                outputs=tuple(
                    (f"system-{index}", Text(f"c-{number}-{index}", f"system {index} on image {number}"))
                    for index in range(systems)
                ),
            )
            for number in range(images)
        ),
    )


def animals() -> Material:
    """Twelve images; each system proposes one caption that shares its words, and one that does not."""
    return Material(
        "animals",
        tuple(
            Image(
                f"i{n}", "test", (Text(f"i{n}#0", f"{word} jumps fence"),),
                (("a", Text(f"own-{n}", f"{word} river")), ("b", Text(f"far-{n}", f"stone tower {n}"))),
            )
            for n, word in enumerate(ANIMALS)
        ),
    )  # fmt: skip


def batch_of(material: Material, protocol: str = "graded", **values: Any) -> Batch:
    design = make_design({"name": "x", "dataset": "made-up", "protocol": protocol, "seed": 11} | values)
    return KINDS[protocol].for_design(design).draw_batch(design, material)


def units_of(batch: Batch) -> list[UnitSpec]:
    return [unit for hit in batch.hits for unit in hit.units]

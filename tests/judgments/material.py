"""A made-up dataset as generation sees it, for tests of the pure functions."""

from judgments.drawing.material import Image, Material, Text


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

"""A small dataset of drawn scenes: pictures with labelled boxes, captions that speak of them, and a text."""

import io
from typing import Any

from django.core.files.base import ContentFile
from PIL import Image, ImageDraw

from judgments.models import Caption, Dataset, Item

SIZE = (480, 320)
TEXT = (
    "The farm show opened on Monday. “A red barn is what people come for,” said Ms. O’Neil. Her well-known dog sat "
    "under the old oak, and the red barn drew 1,000 visitors. The farm show ends on Sunday."
)
BOXES: list[dict[str, Any]] = [
    {"id": "0", "label": "barn.n.01", "x": 0.05, "y": 0.2, "width": 0.4, "height": 0.6},
    {"id": "1", "label": "dog.n.01", "x": 0.55, "y": 0.6, "width": 0.2, "height": 0.3},
    {"id": "2", "label": "oak_tree.n.01", "x": 0.5, "y": 0.1, "width": 0.4, "height": 0.85},
]
CAPTIONS = ("A dog sits near a barn .", "The animal by a red building under a tree .")


def scene(number: int) -> bytes:
    """The picture: a barn, a dog and a tree as plain shapes."""
    image = Image.new("RGB", SIZE, ("#cfe8ff", "#ffe8cf", "#e0ffd8", "#f3ddff")[number % 4])
    draw = ImageDraw.Draw(image)
    for box, colour in zip(BOXES, ("#a33", "#7a5230", "#3a6b35"), strict=True):
        left, top = box["x"] * SIZE[0], box["y"] * SIZE[1]
        draw.rectangle((left, top, left + box["width"] * SIZE[0], top + box["height"] * SIZE[1]), fill=colour)
    stream = io.BytesIO()
    image.save(stream, "JPEG")
    return stream.getvalue()


def make_scenes(name: str = "scenes", *, images: int = 6, pictures: bool = True) -> Dataset:
    """``images`` scenes with two captions each, the last two of them in the split of control items."""
    dataset = Dataset.objects.create(
        name=name, source_format="jsonl", fingerprint="2" * 64, sharing="installation"
    )
    for number in range(images):
        item = Item(
            dataset=dataset,
            name=f"scene-{number}.jpg",
            position=number,
            split="dev" if number >= images - 2 else "test",
            text=TEXT,
            boxes=[dict(box) for box in BOXES],
        )
        if pictures:
            item.picture.save(item.name, ContentFile(scene(number)), save=False)
        item.save()
        for index, text in enumerate(CAPTIONS):
            Caption.objects.create(
                dataset=dataset,
                item=item,
                key=f"{item.name}#{index}",
                text=text,
                role=Caption.Role.REFERENCE,
                position=index,
            )
    return dataset

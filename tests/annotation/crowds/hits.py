"""HITs of every kind as rows in memory, with pictures at https addresses."""

from typing import Any

from judgments.design.reading import make_design
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Caption, Item, Unit

ADDRESS = "https://pictures.example.org/photo-{number}.jpg?size=640&of=1"
# thirteen words each: as long as captions of COCO and PASCAL-50S are, and a little longer
SAID = (
    "A small brown dog is jumping over a wooden log in the garden {number}",
    "Two children in yellow coats are playing with a red ball beside water {number}",
    "A woman with an umbrella walks along the rainy street past a shop {number}",
)
TEXT = "The farm show opened on Monday. A red barn is what people come for, said Ms. O’Neil."


def make_hit(
    protocol: str, *, units: int = 4, images: int = 2, captions: int = 3, **values: Any
) -> tuple[StudyDesign, HIT, list[Unit]]:
    """A design, a HIT and its units; relevance has ``images`` with ``captions`` each, other kinds ``units``."""
    base = {"name": f"Photos by {protocol}", "dataset": "photos", "protocol": protocol, "seed": 7}
    design = make_design(base | values)
    places = (
        [image for image in range(images) for _ in range(captions)]
        if protocol == "relevance"
        else list(range(units))
    )
    made = [_unit(number, image, protocol) for number, image in enumerate(places, start=1)]
    return design, HIT(key="hit-0007"), made


def _unit(number: int, image: int, protocol: str) -> Unit:
    url = "" if protocol == "template" else ADDRESS.format(number=image)
    item = Item(pk=image + 1, name=f"photo-{image}.jpg", url=url, text=TEXT)
    first, second, reference = (
        Caption(pk=10 * number + place, key=f"c{number}-{place}", text=text.format(number=number))
        for place, text in enumerate(SAID)
    )
    content: dict[str, Any] = {}
    if protocol == "best-worst":
        content = {"options": [{"key": one.key, "text": one.text} for one in (first, second, reference)]}
    if protocol == "keywords":
        content = {"text": TEXT, "collocations": ["farm show", "red barn"]}
    if protocol == "template":
        content = {"fields": {"text": SAID[0].format(number=number)}}
    if protocol == "grounding":
        box = {"id": "0", "label": "dog.n.01", "x": 0.1, "y": 0.2, "width": 0.4, "height": 0.5}
        content = {"boxes": [box]}
    return Unit(
        pk=number,
        key=f"unit-{number}",
        item=item,
        first=first,
        second=second,
        reference=reference,
        content=content,
    )

"""Datasets whose items have a text: documents with summaries, segments with translations."""

from typing import Any

from django.core.files.base import ContentFile

from judgments.models import Caption, Dataset, Item, Output, Study, System
from tests.annotation.casting import COLOURS, make_study, picture_bytes

DOCUMENT = """\
The town council met on Tuesday evening to decide about the old railway bridge. More than two hundred people came, and \
many of them had to stand. Engineers had closed the bridge in spring, after they found cracks in three of its arches.

The mayor said that a repair would cost four million and take two years. A new bridge would be ready sooner, but would \
cost twice as much. Several speakers reminded the council that the bridge is the oldest in the valley.

“We do not need another road,” said a teacher. “We need a way to walk to the other side.” A farmer answered that his \
lorries now drive thirty kilometres more each day, and that the price of his milk has risen because of it.

After three hours the council voted to repair the bridge and to open it to walkers and cyclists alone. Work is \
to begin in autumn. The council will ask the province to pay for half of it; an answer is expected \
before the end of the year."""
GERMAN = "Der Zug nach Hamburg fährt heute nicht von Gleis 4, sondern von Gleis 11 ab."
ARABIC = "ذهب الطفل إلى المدرسة في الصباح، وعاد إلى البيت قبل الظهر لأن المعلمة كانت مريضة."


def make_texts(
    name: str = "documents",
    *,
    text: str = DOCUMENT,
    images: int = 8,
    pictures: bool = False,
    systems: int = 2,
) -> Dataset:
    """``images`` items with a text, three references and a text of each system; the last two are in the split dev."""
    dataset = Dataset.objects.create(
        name=name, source_format="jsonl", fingerprint="0" * 64, sharing="installation"
    )
    makers = [System.objects.create(dataset=dataset, name=f"maker-{number}") for number in range(systems)]
    for number in range(images):
        item = Item(
            dataset=dataset,
            name=f"{name}-{number:02}",
            position=number,
            split="dev" if number >= images - 2 else "test",
            text=f"{text}\n\n({number})" if text else "",
        )
        if pictures:
            item.picture.save(
                f"{item.name}.jpg", ContentFile(picture_bytes(COLOURS[number % len(COLOURS)])), save=False
            )
        item.save()
        for index in range(3):
            Caption.objects.create(
                dataset=dataset,
                item=item,
                key=f"ref-{number}-{index}",
                text=f"The council wants the bridge number {number} repaired, as person {index} puts it.",
                role=Caption.Role.REFERENCE,
                position=index,
            )
        for place, system in enumerate(makers):
            caption = Caption.objects.create(
                dataset=dataset,
                key=f"cand-{number}-{place}",
                text=f"The council decided to repair bridge {number} for walkers and cyclists, in version {place}.",
                role=Caption.Role.CANDIDATE,
            )
            Output.objects.create(system=system, item=item, caption=caption)
    return dataset


def side_by_side(**values: Any) -> Study:
    """Six items with texts of two systems, four of them and two check questions a page, two on a screen."""
    wanted: dict[str, Any] = {"judged": "translation", "units_per_hit": 6, "controls": {"per_hit": 2}}
    wanted["spans"] = {"contrastive": True}
    return make_study(make_texts("sides"), "spans", **(wanted | values))

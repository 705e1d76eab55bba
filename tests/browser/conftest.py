"""One installation for the browser tests: studies of every kind with real pictures, behind a real server."""

from collections.abc import Iterator

import pytest

from tests.installations import Installation, Installations

STUDIES = """
from pathlib import Path
from tempfile import TemporaryDirectory

from judgments.models import Caption, Item, Output, System
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.scenes import make_scenes
from tests.annotation.sourcing import ARABIC, make_texts
from contrib.hit_templates.tests.templating import make_template_study

dataset = make_dataset(images=12)
for protocol in ("triplet", "pairwise", "relevance", "graded"):
    make_study(dataset, protocol, slug=protocol, judgments_per_unit=100)
make_study(dataset, "pairwise", slug="sure", judgments_per_unit=100, answers={"confidence": True})
make_study(dataset, "slider", slug="slider", judgments_per_unit=100)
make_study(dataset, "caption", slug="caption", judgments_per_unit=100, controls={"per_hit": 0})
make_study(
    dataset, name="With consent", slug="consent", judgments_per_unit=100, consent="You may **stop** at any time.",
    instructions="Judge what is described.", contact="lab@example.org", units_per_hit=20,
    sampling={"pairs": {"MM": 10}, "references": 4}, controls={"per_hit": 0},
)
scenes = make_scenes()
for protocol in ("keywords", "grounding"):
    make_study(scenes, protocol, slug=protocol, judgments_per_unit=100, units_per_hit=2, controls={"per_hit": 0})
with TemporaryDirectory() as folder:
    make_template_study(Path(folder), slug="template", units_per_hit=3, judgments_per_unit=100)
    slide = '<p>${text}</p><label>Wärme <input type="range" name="warmth" min="0" max="10"></label>'
    make_template_study(Path(folder), slug="warmth", source=slide, units_per_hit=3, judgments_per_unit=100)
make_study(dataset, name="Short", slug="short", judgments_per_unit=100, units_per_hit=9)
make_study(dataset, "relevance", name="Which of all these captions describe the photograph?", slug="long-name")
make_study(
    dataset, "relevance", name="The paper's size", slug="whole", judgments_per_unit=100, images_per_hit=6,
    captions_per_image=10,
)
arabic = make_dataset("arabic", images=8)
for caption in arabic.captions.all():
    caption.text = f"كلبان يركضان على العشب (photo {caption.pk}) !"
    caption.save()
make_study(arabic, "pairwise", slug="arabic", language="ar", judgments_per_unit=100)
tellers = make_dataset("tellers", images=8)
for number in range(3):
    system = System.objects.create(dataset=tellers, name=f"scene-{number}")
    for item in Item.objects.filter(dataset=tellers):
        text = f"Scene {item.position} as number {number} tells it."
        key = f"scene-{number}-{item.position}"
        caption = Caption.objects.create(dataset=tellers, key=key, text=text, role="candidate")
        Output.objects.create(system=system, item=item, caption=caption)
for protocol, slug in (("best-worst", "best-worst"), ("slider", "tellers-slider")):
    make_study(tellers, protocol, slug=slug, judgments_per_unit=100, controls={"per_hit": 1})
make_study(
    tellers, "best-worst", slug="best-of", judgments_per_unit=100, controls={"per_hit": 0}, units_per_hit=3,
    answers={"worst": False}, sampling={"options": "all"},
)
AGREEMENT = {
    "1": "I disagree with every word of what the text says", "2": "I disagree with most of it",
    "3": "I rather disagree", "4": "I neither agree nor disagree, or cannot say what the text means",
    "5": "I rather agree", "6": "I agree with most of it", "7": "I agree with every word of what the text says",
}
BETTER = {"-3": "much worse than what people write", "3": "much better than what people write"}
for protocol, slug, scale in (
    ("graded", "likert", {"low": 1, "high": 7, "labels": AGREEMENT}),
    ("graded", "better", {"low": -3, "high": 3, "labels": BETTER}),
    ("graded", "tens", {"low": 0, "high": 10}),
    ("graded", "halves", {"low": 1, "high": 5, "step": 0.5, "labels": {"1": "bad", "5": "good"}}),
    ("slider", "tenths", {"low": 0, "high": 1, "step": 0.1, "labels": {"0": "never", "1": "always"}}),
):
    make_study(
        tellers, protocol, slug=slug, scale=scale, judgments_per_unit=100, controls={"per_hit": 0}, units_per_hit=3
    )
make_study(
    make_texts(), "slider", slug="summaries", judged="summary", source={"show": True, "language": "en"},
    judgments_per_unit=100,
)
make_study(
    make_texts("sentences", text="Der Rat will die Brücke reparieren lassen."), "spans", slug="spans",
    judged="translation", source={"show": True, "language": "de"}, judgments_per_unit=100, units_per_hit=3,
    controls={"per_hit": 0},
)
make_study(
    make_texts("segments", text=ARABIC, pictures=True), "graded", slug="segments", judged="translation",
    source={"show": True, "language": "ar"}, judgments_per_unit=100,
)
"""


@pytest.fixture(scope="session")
def site(installations: Installations) -> Iterator[Installation]:
    """A running installation; people in it are told apart by their names."""
    with installations.fresh("sqlite", after=STUDIES) as installation:
        installation.start_server()
        yield installation


@pytest.fixture(scope="module")
def empty_installation(installations: Installations) -> Iterator[Installation]:
    """An installation without studies, with a server and a background worker."""
    with installations.fresh("sqlite") as installation:
        installation.start_server()
        installation.start_worker()
        yield installation


@pytest.fixture
def own_installation(installations: Installations) -> Iterator[Installation]:
    """An installation of one walk's own: answers are drawn by row ids, which must not depend on walks before it."""
    with installations.fresh("sqlite") as installation:
        installation.start_server()
        installation.start_worker()
        yield installation

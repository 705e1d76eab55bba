"""Own files to an open study and its verdict, by a new researcher in a browser, for each of seven kinds of study."""

import sys
from dataclasses import dataclass

import pytest
from playwright.sync_api import FilePayload, Page, expect

from judgments.design.study_design import PURPOSES
from tests.browser.researching import Counted, make_researcher, opens, pictures, sign_in_by_hand
from tests.installations import Installation

SYSTEMS = ("keen", "fair", "poor")  # the best first
QUALITIES = {"keen": 4, "fair": 2.5, "poor": 1}  # of a text with the word; people's is 5
CROWD = """
import numpy as np
from contrib.rehearsals.simulation.truths import rehearsal_of
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.models import Study
from tests.annotation.voting import joined, work

study, rng = Study.objects.get(slug={slug!r}), np.random.default_rng(1)
rehearsal, given = rehearsal_of(study), {{}}

def quality(text):
    return next((much for word, much in {qualities!r}.items() if word in text.split()), 5)

def careful(unit, worker):
    about = worker.pk, unit.content.get(ORIGINAL_UNIT, unit.key)
    if about in given:  # an item that comes again is answered as before
        return given[about]
    known = unit.expected is not None
    texts = [quality(caption.text) for caption in (unit.first, unit.second) if caption]
    options = [quality(option["text"]) for option in unit.content.get("options", ())]
    if known:
        truth = unit.expected
    elif options:
        truth = dict(best=options.index(max(options)) + 1, worst=options.index(min(options)) + 1)
    else:
        truth = rehearsal.draw_truth(unit, texts, rng)
    given[about] = rehearsal.draw_answer(unit, truth, right=known or bool(rng.random() < 0.95), rng=rng)
    return given[about]

for number in range(sum(study.hits.values_list("required", flat=True))):
    work(study, joined(study, f"person-{{number}}-{{study.pk}}"), careful, most=1)
"""
KNOW_SYSTEMS, KNOW_METRICS, KNOW_LABELS = (PURPOSES[name].title for name in ("systems", "metrics", "labels"))


@dataclass(frozen=True)
class Walk:
    """What the researcher wants to know, and the card below it; rows of the table; how the results begin.

    unready: points of the checklist that are not. Where one is doubtful, the researcher confirms it by a further click.
    """

    answer: str
    card: str
    rows: int = 40
    texts: bool = False
    verdict: str = "The winner is keen"
    unready: tuple[str, ...] = ()
    clicks: int = 10


WALKS = {
    "triplet": Walk(KNOW_METRICS, "Triplets", verdict="No metric is ahead"),
    "pairwise": Walk(KNOW_SYSTEMS, "Pairwise", rows=60, unready=("Power",)),
    "relevance": Walk(KNOW_LABELS, "Relevance", verdict="Items with a consensus: 360 of 360."),
    "slider": Walk(KNOW_SYSTEMS, "Slider", unready=("Power",)),
    "best-worst": Walk(KNOW_SYSTEMS, "Best-worst", rows=80),
    "spans": Walk(KNOW_SYSTEMS, "Error span annotation", texts=True),
    "own texts": Walk(KNOW_SYSTEMS, "Pairwise", rows=60, texts=True, unready=("Power",)),
}


def own_table(walk: Walk) -> FilePayload:
    """A row for each picture or source text: what people wrote, and what three systems did."""
    first = "source" if walk.texts else "image"
    rows = [";".join([first, "reference 1", "reference 2", "reference 3", *SYSTEMS])]
    for number in range(walk.rows):
        about = f"horse{number} beside garden{number} under tree{number}"
        name = f"Das Pferd{number} steht im Garten ." if walk.texts else f"{number}.jpg"
        people = [f"Person {person} sees {about} ." for person in range(3)]
        rows.append(";".join([name, *people, *(f"One {system} view of {about} ." for system in SYSTEMS)]))
    return FilePayload(name="own.csv", mimeType="text/csv", buffer="\n".join(rows).encode())


def opens_a_study(me: Counted, walk: Walk) -> tuple[str, list[str]]:
    """Return the link, and the points of the checklist that were not ready."""
    page = me.page
    me.follow("Import a dataset")
    own = [own_table(walk)]
    me.choose_files("Files", own if walk.texts else [*own, pictures(str(n) for n in range(walk.rows))])
    me.press("Check files")
    me.press("Import")
    me.follow("Design a study with this dataset")
    me.click(page.get_by_role("region", name=walk.answer).get_by_role("link", name=walk.card))
    me.press("Save and rehearse")
    expect(page.locator(".q-point", has_text="The consensus of simulated participants found")).to_be_visible()
    me.press("Fill in the texts")
    expect(page.get_by_text("Participants agree to your consent text before they begin.")).to_be_visible()
    me.press("Generate pages of work")
    expect(page.get_by_role("button", name="Open to participants")).to_be_visible()
    unready = [
        point.locator("h4").inner_text()
        for point in page.locator(".q-point").all()
        if point.locator(".q-readiness").inner_text() != "ready"
    ]
    opens(me)
    return page.locator("#link").inner_text(), unready


@pytest.mark.long
@pytest.mark.parametrize("name", WALKS)
def test_own_files_lead_to_a_verdict(
    page: Page, own_installation: Installation, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    walk, account = WALKS[name], name.replace(" ", "-")
    make_researcher(own_installation, account)
    me = Counted(page)
    sign_in_by_hand(me, own_installation, account)
    link, unready = opens_a_study(me, walk)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name:10} | {me.clicks} clicks | {me.fields} fields | {', '.join(unready) or 'all ready'} "
        )
    assert (me.clicks, me.fields, unready) == (walk.clicks, 3, ["Agreement expected", *walk.unready])
    slug = link.rstrip("/").rpartition("/")[2]
    own_installation.python(CROWD.format(slug=slug, qualities=QUALITIES))
    page.get_by_role("link", name="results", exact=True).click()
    page.get_by_role("button", name="Compute now").first.click()
    expect(page.locator(".q-page .q-card").first).to_contain_text(walk.verdict)

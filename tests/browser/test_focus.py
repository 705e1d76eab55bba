"""Every page walked by Tab, wide and on a phone, as axe does not: nothing that has the focus is hidden, a link leads past
what all pages have, few steps lead to a form, and what can be pressed is large enough."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.researching import RUNS_OVER, make_researcher, sign_in
from tests.browser.working import join
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.access.roles import give_role
from tests.annotation.casting import make_dataset, make_study
from tests.evaluation.test_study_page import pairwise
from tests.studies import sketch

rosa = User.objects.get(username="rosa")
pets = pairwise().study
aggregate_study(study=pets)
evaluate_study(study=pets, metrics=["bleu-1", "rouge-l"])
live = make_study(make_dataset("live", images=12), "relevance", slug="live", images_per_hit=3, captions_per_image=6)
for study in (pets, live):
    give_role(study=study, user=rosa, role="owner", by=rosa)
print(pets.pk, live.pk)
"""
MOST_STOPS = 12  # of Tab to the first field of a form
MOST_WALKED = 400
# What has the focus: its name, whether it is a field, and how many of nine points in it something else covers.
FOCUSED = """() => {
    let at = document.activeElement;
    if (!at || at === document.body || at.tagName === "IFRAME") return null;
    const first = at.dataset.walked === undefined;
    at.dataset.walked = "";
    // a field that is not drawn is its label
    const box = [at, at.closest("label"), at.labels?.[0]].map((one) => one?.getBoundingClientRect())
        .find((one) => one && one.width > 2 && one.height > 2) ?? at.getBoundingClientRect();
    const shares = [.1, .5, .9].flatMap((x) => [.1, .5, .9].map((y) => [box.x + x * box.width, box.y + y * box.height]));
    const seen = shares.filter(([x, y]) => {
        const top = document.elementFromPoint(x, y);
        return top && (at.contains(top) || top.contains(at) || [...at.labels ?? []].some((label) => label.contains(top)));
    }).length;
    const name = `${at.tagName} ${(at.getAttribute("aria-label") ?? at.name ?? "")} ${at.textContent.trim().slice(0, 30)}`;
    return {first, seen, name, field: at.matches("main :is(input:not([type=hidden]), select, textarea)")};
}"""
# What can be pressed and is smaller than 24 by 24 pixels, but for links within a sentence and for what has as much room
# around it (WCAG 2.2, success criterion 2.5.8).
SMALL = """() => {
    const boxOf = (one) => {
        const boxes = [one, ...one.labels ?? []].map((part) => part.getBoundingClientRect()).filter((box) => box.width > 2);
        if (!boxes.length) return null;
        const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
        const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
        return {left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2};
    };
    const inSentence = (one) => getComputedStyle(one).display === "inline"
        && [...one.parentElement.childNodes].some((node) => node.nodeType === 3 && /\\p{L}{2}/u.test(node.textContent));
    const targets = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
        .filter((one) => !one.disabled && !one.matches(".sr, .skip, .q-skip, [aria-hidden=true]")
            && one.checkVisibility({visibilityProperty: true, opacityProperty: true}))
        .map((one) => [one, boxOf(one)]).filter(([, box]) => box);
    const isSmall = (box) => box.right - box.left < 23.5 || box.bottom - box.top < 23.5;
    return targets.filter(([one, box]) => isSmall(box) && !inSentence(one) && targets.some(([other, near]) => {
        if (other === one || other.contains(one) || one.contains(other)) return false;
        if (isSmall(near)) return Math.hypot(near.x - box.x, near.y - box.y) < 24;
        const [x, y] = [Math.max(near.left - box.x, 0, box.x - near.right), Math.max(near.top - box.y, 0, box.y - near.bottom)];
        return Math.hypot(x, y) < 12;
    })).map(([one, box]) => `${one.outerHTML.slice(0, 90)}: ${box.right - box.left} x ${box.bottom - box.top}`);
}"""


class Office(Installation):
    """The installation, and the addresses of its studies."""

    pets = live = ""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Office]:
    """A study with findings and an open one of one researcher, and a server."""
    with installations.fresh("sqlite") as made:
        make_researcher(made, "rosa")
        pks = made.python(CAST).split()[-2:]
        made.start_server()
        found = Office(made.folder, made.env, made.url, made.processes)
        found.pets, found.live = (f"{made.url}/admin/judgments/study/{pk}" for pk in pks)
        yield found


def walk(page: Page) -> tuple[list[str], int]:
    """What is hidden while it has the focus, and how many times Tab is pressed to the first field, the link past what all
    pages have taken; 0 without a field."""
    hidden, stops, steps = [], 0, 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.skip, .q-skip')"), page.url
    page.keyboard.press("Enter")
    for steps in range(2, MOST_WALKED):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None:
            continue
        if not at["first"]:
            break
        if at["seen"] < 5:
            hidden.append(f"{at['name']}: {at['seen']} of 9")
        if at["field"] and not stops:
            stops = steps
    return hidden, stops


def problems(page: Page) -> list[str]:
    """All that is wrong with the page that is shown, wide, under a zoom of 200 % and on a phone."""
    found = []
    page.wait_for_load_state()
    for width, height in ((1440, 900), (720, 450), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        found += [f"{width}: runs over: {one}" for one in page.evaluate(RUNS_OVER)]
        found += [f"{width}: small: {one}" for one in page.evaluate(SMALL)]
        if width == 720:
            continue
        page.reload()
        hidden, stops = walk(page)
        found += [f"{width}: hidden: {one}" for one in hidden]
        if stops > MOST_STOPS:
            found.append(f"{width}: {stops} stops to the first field")
    return found

"""Pages walked by Tab, as axe does not: nothing that has the focus is hidden, a link leads past what all pages have,
few steps lead to a form, and what can be pressed is large enough."""

import re
from collections.abc import Iterator
from urllib.parse import urldefrag

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.researching import RUNS_OVER, make_researcher, sign_in
from tests.browser.working import join
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.roles import give_role
from tests.annotation.casting import make_dataset, make_study
from tests.evaluation.test_study_page import pairwise

rosa = User.objects.get(username="rosa")
pets = pairwise().study
aggregate_study(study=pets)
evaluate_study(study=pets, metrics=["bleu-1", "rouge-l"])
live = make_study(make_dataset("live", images=12), "relevance", slug="live", images_per_hit=3, captions_per_image=6)
for study in (pets, live):
    give_role(study=study, user=rosa, role="owner", by=rosa)
print(pets.pk, live.pk)
"""
PICTURES = re.compile(r"/pictures/")
MOST_STOPS = 12  # of Tab to the first field of a form
MOST_WALKED = 400
# What has the focus: its name, whether it is a field of a form, and whether most of nine points in it are covered.
FOCUSED = """() => {
    let at = document.activeElement;
    if (!at || at === document.body || at.tagName === "IFRAME") return null;
    const first = at.dataset.walked === undefined;
    at.dataset.walked = "";
    // a field that is not drawn is its label, a link that is broken its longest line
    const longest = (one) => [...one?.getClientRects() ?? []].sort((first, second) => second.width - first.width)[0];
    const box = [at, at.closest("label"), at.labels?.[0]].map(longest)
        .find((one) => one && one.width > 2 && one.height > 2) ?? at.getBoundingClientRect();
    // of what is taller than half of the window a part is enough
    const tall = box.height > innerHeight / 2;
    const [top, bottom] = tall ? [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)] : [box.top, box.bottom];
    const shares = [.1, .5, .9];
    const seen = shares.flatMap((x) => shares.map((y) => [x, y])).filter(([x, y]) => {
        const above = document.elementFromPoint(box.x + x * box.width, top + y * (bottom - top));
        return above && [at, ...at.labels ?? []].some((one) => one.contains(above));
    }).length;
    const name = `${at.tagName} ${at.getAttribute("aria-label") ?? at.name ?? ""} ${at.innerText.slice(0, 29)}`;
    const field = at.matches("main :is(input:not([type=hidden]), select, textarea)");
    return {first, hidden: seen < (tall ? 1 : 5), name, field};
}"""
# What can be pressed and is smaller than 24 by 24 pixels, but for links within a sentence and for what has as much room
# around it (WCAG 2.2, success criterion 2.5.8).
SMALL = """() => {
    const boxOf = (one) => {
        const boxes = [one, ...one.labels ?? []].map((part) => part.getBoundingClientRect())
            .filter((box) => box.width > 2);
        if (!boxes.length) return null;
        const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])));
        const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])));
        return {left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2};
    };
    const inSentence = (one) => getComputedStyle(one).display === "inline"
        && [...one.parentElement.childNodes].some((node) => node.nodeType === 3 && /\\p{L}{2}/u.test(node.textContent));
    const pressed = "a[href], button, input:not([type=hidden]), select, textarea, summary";
    const targets = [...document.querySelectorAll(pressed)].filter((one) => !one.disabled
        && !one.matches(".sr, .skip, .q-skip, [aria-hidden=true]")
        && one.checkVisibility({visibilityProperty: true, opacityProperty: true}))
        .map((one) => [one, boxOf(one)]).filter(([, box]) => box);
    const isSmall = (box) => box.right - box.left < 23.5 || box.bottom - box.top < 23.5;
    return targets.filter(([one, box]) => isSmall(box) && !inSentence(one) && targets.some(([other, near]) => {
        if (other === one || other.contains(one) || one.contains(other)) return false;
        if (isSmall(near)) return Math.hypot(near.x - box.x, near.y - box.y) < 24;
        const x = Math.max(near.left - box.x, 0, box.x - near.right);
        return Math.hypot(x, Math.max(near.top - box.y, 0, box.y - near.bottom)) < 12;
    })).map(([one, box]) => `${one.outerHTML.slice(0, 90)}: ${box.right - box.left} x ${box.bottom - box.top}`);
}"""
# Menus that open or close with the width of the window do so after it changed, some of them slowly.
SETTLED = """async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const ending = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime < Infinity);
    await Promise.all(ending.map((one) => one.finished.catch(() => null)));
}"""
# What scrolls by itself, the page in the frame too.
SCROLLS = """() => {
    const inside = document.querySelector("[data-preview]").contentDocument;
    return [...document.querySelectorAll(".q-desk *"), inside.documentElement]
        .filter((one) => one.scrollHeight > one.clientHeight + 1 && one.checkVisibility()
            && (one === inside.documentElement || /auto|scroll/.test(getComputedStyle(one).overflowY)))
        .map((one) => one.outerHTML.slice(0, 90));
}"""


class Office(Installation):
    """The installation, and the addresses of its studies."""

    pets = live = ""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Office]:
    """A study with findings and an open one of one researcher, and a server."""
    with installations.fresh("sqlite") as installation:
        make_researcher(installation, "rosa")
        pks = installation.python(CAST).split()[-2:]
        installation.start_server()
        office = Office(installation.folder, installation.env, installation.url, installation.processes)
        office.pets, office.live = (f"{installation.url}/admin/judgments/study/{pk}" for pk in pks)
        yield office


def walk(page: Page) -> tuple[list[str], int]:
    """What is hidden while it has the focus, and how many times a key is pressed to the first field; 0 without one.

    The way begins with the link past what all pages have.
    """
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
        if at["hidden"]:
            hidden.append(at["name"])
        if at["field"] and not stops:
            stops = steps
    return hidden, stops


def problems(page: Page) -> list[str]:
    """All that is wrong with the page that is shown, wide, under a zoom of 200 % and on a phone."""
    problems, address = [], urldefrag(page.url).url
    page.wait_for_load_state()
    for width, height in ((1440, 900), (720, 450), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(SETTLED)
        problems += [f"{width}: runs over: {one}" for one in page.evaluate(RUNS_OVER)]
        problems += [f"{width}: small: {one}" for one in page.evaluate(SMALL)]
        if width == 720:
            continue
        # anew, without the fragment of the link that was followed: a reload may begin at what it names
        page.goto("about:blank")
        page.goto(address)
        hidden, stops = walk(page)
        problems += [f"{width}: hidden: {one}" for one in hidden]
        if stops > MOST_STOPS:
            problems.append(f"{width}: {stops} stops to the first field")
    return problems


@pytest.mark.long
def test_pages_of_staff_are_walked_by_tab(page: Page, office: Office) -> None:
    sign_in(page, office, "rosa")
    admin = f"{office.url}/admin/judgments"
    for address in (
        f"{admin}/study/",
        f"{admin}/study/add/?preset=hodosh-2013-relevance&dataset=live",
        f"{admin}/dataset/",
        f"{admin}/dataset/add/",
        f"{office.live}/launch/",
        f"{office.live}/controls/",
        f"{office.pets}/results/",
    ):
        page.goto(address)
        assert problems(page) == [], address


@pytest.mark.long
def test_pictures_that_load_late_move_nothing(page: Page, office: Office) -> None:
    """Else what has the focus, or is read, moves away as soon as pictures further up arrive."""
    sign_in(page, office, "rosa")
    page.set_viewport_size({"width": 390, "height": 844})
    held: list[Route] = []
    page.route(PICTURES, lambda route: held.append(route))
    page.goto(f"{office.live}/controls/", wait_until="domcontentloaded")
    expect(page.locator("img[loading=lazy]").first).to_be_attached()
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    before = page.evaluate("document.documentElement.scrollHeight")
    for route in held:
        route.continue_()
    page.unroute(PICTURES)
    page.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth)")
    assert page.evaluate("document.documentElement.scrollHeight") == before


def test_pages_of_participants_are_walked_by_tab(page: Page, office: Office) -> None:
    page.goto(f"{office.url}/s/live/")
    assert problems(page) == []
    join(page, office, "live", "tabea")
    assert problems(page) == []


@pytest.mark.long
def test_the_design_page_scrolls_as_a_whole_and_shows_its_button_and_the_answers(
    page: Page, office: Office
) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.url}/admin/judgments/study/add/?preset=vedantam-2015-pairwise&dataset=live")
    answer = page.frame_locator("[data-preview]").locator("[data-step]:visible .choice").last
    expect(answer).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Save and launch")).to_be_in_viewport(ratio=1)
    assert page.evaluate(SCROLLS) == []
    settings = page.locator("[data-summary]")
    page.get_by_text("All settings").click()
    page.get_by_label("Participants for each item").fill("7")
    expect(settings.get_by_text("Participants for each item", exact=True).locator("+ dd")).to_have_text("7")
    page.get_by_label("Participants for each item").fill("0")
    error = page.locator('[data-field="judgments_per_unit"] .q-error')
    expect(error).to_be_visible()
    page.get_by_text("Advanced").nth(3).click()
    page.get_by_label("Check questions on each page").fill("60")
    expect(page.locator('[data-field="controls-per_hit"] .q-error')).to_contain_text(
        "“Check questions on each page” is 60, but the number of items on a page of work is"
    )
    expect(page.get_by_label("Participants for each item")).to_have_value("0")

"""A researcher in a browser: their account, a small dataset to upload, and how each page is looked at."""

import io
import json
import zipfile
from collections.abc import Iterable

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.annotation.casting import picture_bytes
from tests.browser.axe import SERIOUS, problems
from tests.browser.working import TOKEN
from tests.installations import Installation

PASSWORD = "a-long-phrase-1"
RESEARCHER = """
from django.contrib.auth.models import Group, User
person = User.objects.create_user({name!r}, '{name}@example.org', password={password!r}, is_staff=True)
person.groups.add(Group.objects.get(name="Researchers"))
"""
# what each image shows; people like what the metrics do not where it is a zebra
ANIMALS = ("zebra", "horse", "cow", "sheep", "goat", "hen", "duck", "dog")
# what stands beyond the window's edge though nothing around it scrolls; [] where the page fits
RUNS_OVER = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.outerHTML.slice(0, 120)).slice(-5)"""
# drawings that are not as wide as the card around them; the report's narrow ones are as large in letters, not in width
LOOSE = """() => [...document.querySelectorAll(".q-figure svg:not(.narrow)")]
    .filter((one) => Math.abs(one.getBoundingClientRect().width - one.closest(".q-figure").clientWidth) > 1)
    .map((one) => one.outerHTML.slice(0, 120))"""
GOOD, POOR = "in the garden", "of some sort"


def make_researcher(office: Installation, name: str) -> None:
    """An account of the group Researchers, with no other rights."""
    office.python(RESEARCHER.format(name=name, password=PASSWORD))


class Counted:
    """A person's page whose clicks and fields are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self.fields = page, 0, 0

    def click(self, what: Locator) -> None:
        self.page.wait_for_load_state()  # a click while a page is still being laid out may hit nothing
        what.click()
        self.clicks += 1

    def press(self, name: str, within: Page | Locator | None = None) -> None:
        """Click a button."""
        self.click((within or self.page).get_by_role("button", name=name, exact=True))

    def follow(self, name: str, within: Page | Locator | None = None) -> None:
        """Click a link."""
        self.click((within or self.page).get_by_role("link", name=name, exact=True).first)

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)
        self.fields += 1

    def choose_files(self, label: str, files: list[FilePayload]) -> None:
        self.page.get_by_label(label, exact=True).set_input_files(files)
        self.fields += 1


def sign_in(page: Page, office: Installation, name: str = "designer") -> None:
    """Send the admin's own form, without looking at it: the path of the research is walked through it."""
    address, request = f"{office.url}/admin/login/", page.context.request
    token = TOKEN.search(request.get(address).text())
    assert token is not None
    fields = {"csrfmiddlewaretoken": token[1], "username": name, "password": PASSWORD, "next": "/admin/"}
    assert request.post(address, form=fields, max_redirects=0).status == 302


def sign_in_by_hand(researcher: Counted, office: Installation, name: str) -> None:
    researcher.page.goto(f"{office.url}/admin/")
    researcher.fill("Username", name)
    researcher.fill("Password", PASSWORD)
    researcher.click(researcher.page.get_by_role("button", name="Log in"))


def fits(page: Page) -> None:
    """Wide and on a phone nothing runs over the window."""
    page.wait_for_load_state()
    size = page.viewport_size
    assert size is not None
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate(RUNS_OVER) == [], (page.url, width)
    page.set_viewport_size(size)


def looked_at(page: Page) -> None:
    """The same, and axe finds nothing serious on the phone. It takes seconds: one test looks at a page so."""
    fits(page)
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 320, "height": 844})
    within = ".q-page" if page.locator(".q-page").count() else None
    assert problems(page, within=within, impacts=SERIOUS) == [], page.url
    page.set_viewport_size(size)


def lines(rows: list[dict[str, str]], name: str) -> FilePayload:
    """JSON lines as a browser uploads them."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return FilePayload(name=name, mimeType="application/jsonl", buffer=text.encode())


def spreadsheet() -> FilePayload:
    """A row for each image: two sentences by people, and what two systems say."""
    rows = ["image;reference 1;reference 2;gardener;vague"]
    for animal in ANIMALS:
        said = [f"A {animal} stands in the garden .", f"A {animal} stands beside a tree ."]
        rows.append(";".join([f"{animal}.jpg", *said, f"A {animal} {GOOD} .", f"A {animal} {POOR} ."]))
    return FilePayload(name="meadow.csv", mimeType="text/csv", buffer="\n".join(rows).encode())


def pictures(names: Iterable[str] = ANIMALS) -> FilePayload:
    """A zip with a small picture of each image."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.jpg", picture_bytes())
    return FilePayload(name="pictures.zip", mimeType="application/zip", buffer=packed.getvalue())


def opens(me: Counted) -> None:
    """Open the study; a small one is doubtful, which the researcher confirms."""
    expect(me.page.get_by_role("button", name="Open to participants")).to_be_visible()
    confirmed = me.page.get_by_label("Open nevertheless")
    if confirmed.count():
        me.click(confirmed)
    me.press("Open to participants")

"""Take the screenshots of the README and the documentation: ``python -m scripts.pictures``, or ``... --check``.

The screenshots show the demo in the data folder (DATA_DIR, or else `var`). `make run` must have prepared this folder,
and it must contain nothing else. The script adds a study with a worker who is flagged for review. It needs an installed
browser, which it finds as `make test` does.

docs/pictures/pages.json has the text and a digest of the style of each page at the time of its picture. ``--check``
lists the pictures whose pages have changed since then, and fails if there are any.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from PIL import Image
from playwright.sync_api import FloatRect, sync_playwright

from scripts.checks import CHROMIUM_NAMES
from scripts.environment import print_line

if TYPE_CHECKING:
    from judgments.models import Study

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PAGES = PICTURES / "pages.json"
FINISHED_STUDY, OPEN_STUDY, WATCHED_STUDY = "demo-triplet-simulated", "demo-triplet", "demo-watched"
WIDTH, HEIGHT, MARGIN = 1280, 1100, 16
# Without this style, the bar at the bottom of the window would cover the middle of a long page.
FIX_SAVE_BAR = (
    "document.querySelectorAll('.q-desk-save').forEach((bar) => { bar.style.position = 'static'; })"
)
# A function that returns the style of each element in the picture. Texts are compared separately, by lines. Versions of
# Chromium differ in the radius of radio buttons that they draw themselves.
STYLE_SCRIPT = """(element) => [element, ...element.querySelectorAll("*")].map((one) => {
    const style = getComputedStyle(one);
    const radius = one.type === "radio" && style.appearance !== "none" ? "" : style.borderRadius;
    return [one.tagName, one.getAttribute("class"), style.color, style.backgroundColor, style.fontSize, style.padding,
        style.display, radius].join(" ");
}).join("\\n")"""
# Numbers are not compared. Figures may differ in the last digit, and dates and names with seeds differ.
NUMBER = re.compile(r"(?<![\w-])\d[\d.,]*")
COLOURS = 96  # number of colours in a picture; enough for text and plots, with a fifth of the file size


class _Picture(NamedTuple):
    """A picture to take: the name of its file, the address, and the part of the page.

    The part is the element that ``selector`` matches, or its top ``height`` pixels.
    """

    name: str
    path: str
    selector: str = "#content"
    height: int = HEIGHT


class SilentRequestHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class _TakenPicture(NamedTuple):
    """A picture that was taken: its bytes, the lines of text on the page, and a digest of the page's style."""

    name: str
    image: bytes
    lines: list[str]
    style_digest: str

    def page_entry(self) -> dict[str, Any]:
        """Return the entry about the page in pages.json."""
        return {"lines": self.lines, "look": self.style_digest}


def main(arguments: Sequence[str]) -> int:
    pictures = take_pictures()
    pages = {picture.name: picture.page_entry() for picture in pictures}
    if "--check" in arguments:
        return _report_stale_pictures(pages)
    for picture in pictures:
        with Image.open(io.BytesIO(picture.image)) as image:
            image.convert("RGB").quantize(COLOURS).save(PICTURES / f"{picture.name}.png", optimize=True)
    PAGES.write_text(json.dumps(pages, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _report_stale_pictures(pages: dict[str, dict[str, Any]]) -> int:
    """Print the pictures whose pages have changed, with the changed lines. Return whether there are any."""
    stored_pages = json.loads(PAGES.read_text(encoding="utf-8"))
    stale_names = [name for name in {**stored_pages, **pages} if stored_pages.get(name) != pages.get(name)]
    for name in stale_names:
        lines_before = set(stored_pages.get(name, {}).get("lines", ()))
        lines_now = set(pages.get(name, {}).get("lines", ()))
        print_line(f"{name}.png is of an earlier page; run python -m scripts.pictures (docs/pictures).")
        for line in sorted(lines_before - lines_now):
            print_line(f"  - {line}")
        for line in sorted(lines_now - lines_before):
            print_line(f"  + {line}")
    return bool(stale_names)


def take_pictures() -> list[_TakenPicture]:
    """Serve the demo in this process, and take all pictures as the administrator."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from config.wsgi import application
    from judgments.admin.addresses import preview_address
    from judgments.studies.studies import find_study
    from judgments.studies.study_page import study_page_address

    finished_study, open_study = find_study(FINISHED_STUDY), find_study(OPEN_STUDY)
    new_study = reverse("admin:judgments_study_add")
    results = study_page_address(finished_study, "results")
    pictures = [
        _Picture("findings", results, height=1140),
        _Picture("results-agreement", results, ".q-card:has(> h3:text-is('Do people agree?'))"),
        _Picture("results-metrics", results, ".q-card:has(> h3:text-is('Which metric agrees with people?'))"),
        _Picture("design-start", f"{new_study}?dataset=demo", height=900),
        _Picture("design-form", f"{new_study}?dataset=demo&preset=vedantam-2015-pairwise"),
        _Picture("review", study_page_address(watched_study(), "review"), height=720),
        _Picture("work-triplet", preview_address(open_study), "main", height=640),
    ]
    client = Client()
    client.force_login(User.objects.filter(is_superuser=True)[0])
    with make_server("127.0.0.1", 0, application, handler_class=SilentRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        taken_pictures = list(_take_each(pictures, address, client.cookies["sessionid"].value))
        server.shutdown()
    client.logout()
    return taken_pictures


def watched_study() -> Study:
    """Return a copy of the demo's open study with a detector, and with answers of a simulated crowd with spammers."""
    from django.core.management import call_command

    from judgments.design.reading.checking import make_design
    from judgments.design.reading.study_files import toml_values
    from judgments.models import Study
    from judgments.studies.generation.hits import generate_hits
    from judgments.studies.studies import create_study

    study = Study.objects.filter(slug=WATCHED_STUDY).first()
    if study is None:
        text = (ROOT / "demo" / "studies" / "triplet.toml").read_text(encoding="utf-8")
        values = toml_values(text, source="triplet.toml") | {
            "name": "Which sentence is more similar?",
            "slug": WATCHED_STUDY,
            "units_per_hit": 20,
            "rules": [{"rule": "side-bias", "action": "pause"}],
        }
        study = create_study(design=make_design(values))
        generate_hits(study=study)
        call_command(
            "rehearse",
            WATCHED_STUDY,
            workers=8,
            spammers=0.3,
            seed=3,
            sorts="one-sided",
            stdout=io.StringIO(),
        )
        study.refresh_from_db()
    return study


def _take_each(pictures: Sequence[_Picture], address: str, session: str) -> Iterator[_TakenPicture]:
    """Take the pictures with Chromium at a server's address. ``session`` is the cookie of a session."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
        page = context.new_page()
        for picture in pictures:
            page.goto(address + picture.path, wait_until="networkidle")
            page.evaluate(FIX_SAVE_BAR)
            element = page.locator(picture.selector).first
            box = element.bounding_box()
            assert box is not None, picture
            left, top = max(box["x"] - MARGIN, 0), max(box["y"] - MARGIN, 0)
            height = min(box["height"] + 2 * MARGIN, picture.height)
            clip = FloatRect(x=left, y=top, width=min(box["width"] + 2 * MARGIN, WIDTH - left), height=height)
            lines = [" ".join(NUMBER.sub("0", line).split()) for line in element.inner_text().splitlines()]
            style_digest = hashlib.sha256(element.evaluate(STYLE_SCRIPT).encode()).hexdigest()[:16]
            image = page.screenshot(clip=clip, full_page=True)
            yield _TakenPicture(picture.name, image, list(filter(None, lines)), style_digest)
        browser.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

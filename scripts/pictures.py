"""Take the README's picture of the findings anew: ``python -m scripts.pictures``.

It shows the demo of the data folder (DATA_DIR, else `var`), which `make run` has prepared, to a browser that must be
installed (`make test` looks for one).
"""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from PIL import Image
from playwright.sync_api import FloatRect, sync_playwright

from scripts.checks import CHROMIUM_NAMES

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
STUDY, PAGE = "demo-triplet-simulated", "results"
WIDTH, HEIGHT, MARGIN = 1280, 1100, 16
COLOURS = 96  # enough for text and plots, at a fifth of the bytes


class Silent(WSGIRequestHandler):
    """A server that keeps quiet about requests."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from config.wsgi import application
    from judgments.studies.studies import find_study
    from judgments.studies.study_page import page_address

    path = page_address(find_study(STUDY), PAGE)
    visitor = Client()
    visitor.force_login(User.objects.filter(is_superuser=True)[0])
    with make_server("127.0.0.1", 0, application, handler_class=Silent) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        taken = _screenshot(address, path, visitor.cookies["sessionid"].value)
        server.shutdown()
    visitor.logout()
    with Image.open(io.BytesIO(taken)) as image:
        image.convert("RGB").quantize(COLOURS).save(PICTURES / "findings.png", optimize=True)


def _screenshot(address: str, path: str, session: str) -> bytes:
    chromium = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
        page = context.new_page()
        page.goto(address + path, wait_until="networkidle")
        box = page.locator("#content").bounding_box()
        assert box is not None
        left, top = box["x"] - MARGIN, box["y"] - MARGIN
        clip = FloatRect(x=left, y=top, width=box["width"] + 2 * MARGIN, height=HEIGHT - top)
        taken = page.screenshot(clip=clip)
        browser.close()
    return taken


if __name__ == "__main__":
    main()

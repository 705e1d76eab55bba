"""Measure the page of work: keys, milliseconds, bytes and requests, for a person, a browser and the server.

    python -m benchmarks.work_page
    python -m benchmarks.work_page --reading 2.5 --hits 5

The program starts a new installation on SQLite with gunicorn on 127.0.0.1, joins as a worker in a headless
Chromium, and answers whole HITs by keyboard without pauses. It prints the tables of docs/benchmarks.md:

* keys per HIT are counted as they are pressed; a HIT's seconds are the page's own plus ``--reading`` for each item;
* "from key to paint" is the time from the key event until the frame after the next item was drawn;
* the server's time is the browser's time from the end of a request to the first byte of its reply;
* the figures of a cold start are those that Lighthouse reports, by the same browser interfaces: once as it is, and once
  with its phone profile (processor four times slower, 1.6 Mbit/s, 150 ms round-trip time).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

if TYPE_CHECKING:
    from tests.installations import Installation

STUDIES = """
from tests.annotation.casting import make_dataset, make_study

dataset = make_dataset(images=40)
make_study(dataset, slug="triplet", judgments_per_unit=1000, units_per_hit=20,
           sampling={"pairs": {"MM": 30}, "references": 5})
make_study(dataset, "relevance", slug="relevance", judgments_per_unit=1000, images_per_hit=6, captions_per_image=10)
"""
# four photographs of the demo in one, for detail at a small size; as large, and as noisy, as a camera's
PHOTOGRAPHS = """
import io
from pathlib import Path

import numpy as np
from django.core.files.base import ContentFile
from PIL import Image

from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from tests.annotation.casting import make_dataset, make_study

dataset = make_dataset("photographs", images=14, pictures=False)
generator = np.random.default_rng(39)
sizes = []
paths = sorted(Path("demo/photos").glob("*.jpg"))
for number, item in enumerate(dataset.items.all()):
    photo = Image.new("RGB", (4000, 3000))
    for quarter in range(4):
        part = Image.open(paths[(4 * number + quarter) % len(paths)]).convert("RGB")
        photo.paste(part.resize((2000, 1500), Image.Resampling.LANCZOS), (2000 * (quarter % 2), 1500 * (quarter // 2)))
    pixels = np.asarray(photo)
    noise = generator.normal(0, 6, pixels.shape[:2])[..., None]
    stream = io.BytesIO()
    Image.fromarray(np.clip(pixels + noise, 0, 255).astype("uint8")).save(stream, "JPEG", quality=90)
    sizes.append(len(stream.getvalue()))
    item.picture.save("photo.jpg", ContentFile(stream.getvalue()))
make_study(dataset, "graded", slug="photographs", judgments_per_unit=1000, units_per_hit=12)
print(f"{sum(sizes) / len(sizes) / 1e6:.1f} MB a photograph")
"""
SCALE = """
import time

from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from judgments.models import Item
from judgments.datasets.scaling import SIZES, scaled_path

begun = time.perf_counter()
run_job(enqueue(kind="scale_pictures", args={"dataset": "photographs"}).pk)
took = (time.perf_counter() - begun) / Item.objects.exclude(scaled={}).count()
for index, _ in enumerate(SIZES):
    bytes_ = [scaled_path(str(item.picture), item.scaled["widths"][index]).stat().st_size / 1000
              for item in Item.objects.exclude(scaled={})]
    print(f"kB of size {index}: mean {sum(bytes_) / len(bytes_):.0f}, {min(bytes_):.0f} to {max(bytes_):.0f}")
print(f"{took:.2f} s a photograph")
"""
SIZE: ViewportSize = {"width": 1280, "height": 800}
PHONE_SIZE: ViewportSize = {"width": 390, "height": 844}
VITALS_SCRIPT = """
window.paints = [];
addEventListener("keydown", (event) => {
  const pressed = performance.now();
  requestAnimationFrame(() => setTimeout(() => paints.push([event.key, performance.now() - pressed])));
}, true);
"""
VITALS = """() => new Promise((told) => {
  const seen = { fcp: 0, lcp: 0, cls: 0, tbt: 0 };
  const watch = (type, act) =>
    new PerformanceObserver((list) => list.getEntries().forEach(act)).observe({ type, buffered: true });
  watch("paint", (one) => { if (one.name === "first-contentful-paint") seen.fcp = one.startTime; });
  watch("largest-contentful-paint", (one) => { seen.lcp = one.startTime; });
  watch("layout-shift", (one) => { seen.cls += one.value; });
  watch("longtask", (one) => { seen.tbt += Math.max(0, one.duration - 50); });
  setTimeout(() => told(seen), 500);
})"""
PHONE = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}


def join(context: BrowserContext, site: Installation, slug: str) -> Page:
    """Join the study as a worker, and return a page on which the work is not open yet."""
    page = context.new_page()
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").wait_for()
    return page


def keys_of(slug: str, step: int) -> str:
    """Return the keys that a practised person presses for an item.

    For a triplet, they choose a side. For two captions, they mark both or none, and continue.
    """
    if slug == "triplet":
        return "12"[step % 2]
    return "n\n" if step % 3 == 2 else "14\n"


def work_through(page: Page, slug: str) -> tuple[int, int]:
    """Answer the page of work and submit it. Return the number of keys that this took, and the number of items."""
    from tests.browser.working import count_of  # imported late: it loads Django, which main sets up

    steps = count_of(page)
    keys = "".join(keys_of(slug, step) for step in range(steps)) + ("\n" if slug == "triplet" else "")
    with page.expect_response("**/ahead/") as ahead:
        for key in keys[:-1]:
            page.keyboard.press("Enter" if key == "\n" else key)
    ahead.value.finished()
    before = page.locator("[data-work]").get_attribute("data-assignment")
    page.evaluate(
        """() => { window.swapped = 0; const begun = performance.now();
        document.addEventListener("quorum:swapped", () => requestAnimationFrame(() => setTimeout(() => {
          window.swapped = performance.now() - begun; })), { once: true }); }"""
    )
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-assignment="{before}"]')).to_have_count(0)
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    return len(keys), steps


def spread(values: Sequence[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.0f} ({ordered[int(0.95 * (len(ordered) - 1))]:.0f})"


def by_keyboard(
    browser: Browser, site: Installation, hits: int, reading: dict[str, float]
) -> dict[str, list[float]]:
    """Print a row for each study, and return the server's milliseconds by kind of request."""
    print(
        "| HIT | items | keys | an item | key to paint, ms | submit to next HIT, ms | reading, s an item | s a HIT |"
    )
    print("|---|---|---|---|---|---|---|---|")
    server: dict[str, list[float]] = {}
    for slug in ("triplet", "relevance"):
        context = browser.new_context(viewport=SIZE)
        context.add_init_script(VITALS_SCRIPT)
        page = join(context, site, slug)
        page.goto(f"{site.url}/s/{slug}/work/")
        counts, swaps = [], []
        for _ in range(hits):
            counts.append(work_through(page, slug))
            swaps.append(page.evaluate("window.swapped"))
        paints = [took for _, took in page.evaluate("window.paints")]
        keys, items = counts[0]
        own = keys * statistics.median(paints) / 1000 + statistics.median(swaps) / 1000
        print(
            f"| {slug} | {items} | {keys} | {keys / items:.2f} | {spread(paints)} | {spread(swaps)} "
            f"| {reading[slug]:g} | {items * reading[slug] + own:.0f} (the page's own: {own:.1f}) |"
        )
        for kind, took in page.evaluate(
            "performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'fetch')"
            ".map((one) => [one.name.split('/').at(-2), one.responseStart - one.requestStart])"
        ):
            server.setdefault(kind, []).append(took)
        server.setdefault(f"answers of {slug}", []).append(
            float(hits * items * (10 if slug == "relevance" else 1))
        )
        context.close()
    return server


def print_server_times(server: dict[str, list[float]]) -> None:
    answers = sum(sum(values) for kind, values in server.items() if kind.startswith("answers"))
    calls = {kind: values for kind, values in server.items() if not kind.startswith("answers")}
    print("\n| request | how many | ms, median (95 %) |")
    print("|---|---|---|")
    for kind, values in sorted(calls.items()):
        print(f"| {kind} | {len(values)} | {spread(values)} |")
    total = sum(sum(values) for values in calls.values())
    print(f"| all, per answer | {answers:.0f} answers | {total / answers:.2f} |")


def measure_cold_start(browser: Browser, site: Installation, slugs: Sequence[str]) -> None:
    from tests.browser.working import fetched

    print("\n| page, profile | requests, own | kB, own | pictures, kB | FCP, ms | LCP, ms | CLS | TBT, ms |")
    print("|---|---|---|---|---|---|---|---|")
    for slug in slugs:
        joined = browser.new_context()
        join(joined, site, slug)
        cookies: Any = joined.cookies()
        for profile in ("desktop", "phone"):
            wide = profile == "desktop"
            context = browser.new_context(
                viewport=SIZE if wide else PHONE_SIZE, device_scale_factor=1 if wide else 2
            )
            context.add_cookies(cookies)
            page = context.new_page()
            if not wide:
                session = context.new_cdp_session(page)
                session.send("Network.enable")
                session.send("Network.emulateNetworkConditions", PHONE)
                session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
            address = f"{site.url}/s/{slug}/work/"
            urls, size = fetched(
                page, lambda page=page, address=address: page.goto(address, wait_until="networkidle")
            )
            pictures = page.evaluate(
                "performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'img')"
                ".reduce((sum, one) => sum + one.transferSize, 0)"
            )
            own = [url for url in urls if "/pictures/" not in url]
            seen = page.evaluate(VITALS)
            print(
                f"| {slug}, {profile} | {len(own)} | {(size - pictures) / 1000:.1f} | {pictures / 1000:.1f} "
                f"| {seen['fcp']:.0f} | {seen['lcp']:.0f} | {seen['cls']:.3f} | {seen['tbt']:.0f} |"
            )
            context.close()
        joined.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the page of work.")
    parser.add_argument(
        "--hits", type=int, default=5, help="HITs of each kind (default 5); 0: photographs alone"
    )
    parser.add_argument(
        "--reading", type=float, default=0.0, help="seconds to read an item (default: the studies')"
    )
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests import services
    from tests.installations import Installations
    from tests.plugin import CHROMIUM_FLAGS

    reading = {"triplet": options.reading or 3.5, "relevance": options.reading or 12.0}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, sync_playwright() as playwright:
        maker = Installations(Path(folder), None)
        with maker.fresh("sqlite") as site:
            site.python(STUDIES)
            print(site.python(PHOTOGRAPHS))
            print(site.python(SCALE))
            site.start_server()
            browser = playwright.chromium.launch(
                executable_path=services.chromium_path(), headless=True, args=CHROMIUM_FLAGS
            )
            if options.hits:
                print_server_times(by_keyboard(browser, site, options.hits, reading))
            measure_cold_start(
                browser,
                site,
                ("photographs",) if not options.hits else ("triplet", "relevance", "photographs"),
            )
            browser.close()
        maker.close()


if __name__ == "__main__":
    main()

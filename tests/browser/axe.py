"""What axe finds on a page; the one place that speaks to a package without types."""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SERIOUS = frozenset({"serious", "critical"})
IMPACTS = SERIOUS | {"minor", "moderate"}
LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (320, "dark"))
TRANSITIONS_END = """() => Promise.all(
    document.getAnimations()
        .filter((animation) => animation instanceof CSSTransition)
        .map((transition) => transition.finished.catch(() => null))
)"""
VIOLATIONS = """(within) => axe.run(within ?? document, {resultTypes: ["violations"]})
    .then((results) => results.violations)"""
SMALL = """[...document.querySelectorAll(
    "button, a, select, label.option, label.choice, label.switch, summary"
)].filter((one) => one.checkVisibility() && !one.matches(".sr, .skip, p:not(.act) a, .note a"))
    .map((one) => [one.textContent.trim().slice(0, 40), one.getBoundingClientRect()])
    .filter(([, box]) => box.height < 44 || box.width < 44)
    .map(([words, box]) => `${words}: ${box.width} x ${box.height}`)"""


def problems(page: Page, *, within: str | None = None, impacts: frozenset[str] = IMPACTS) -> list[str]:
    """Each rule of axe's that the page breaks, as one line: the rule, how bad it is, the first elements.

    Args:
        page: is waited for first, with its transitions: colours halfway between two schemes are nobody's fault.
        within: a selector; the whole page without one.
        impacts: those that count; of any impact by default.
    """
    page.wait_for_load_state()
    page.evaluate(TRANSITIONS_END)
    if not page.evaluate("'axe' in window"):  # a page looked at twice reads the half megabyte once
        page.evaluate(Axe().axe_script)
    found = page.evaluate(VIOLATIONS, within)
    return [
        f"{one['id']} ({one['impact']}): {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in impacts
    ]


def problems_in_both_looks(page: Page, *, within: str | None = None) -> list[str]:
    """The same on a wide screen in light colours and on a phone's in dark ones, and what is wider than its screen."""
    found = []
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        found += problems(page, within=within)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"wider than {width} pixels")
    return found


def small_targets(page: Page) -> list[str]:
    """What can be pressed and is smaller than 44 by 44 pixels; links within sentences apart."""
    found: list[str] = page.evaluate(SMALL)
    return found

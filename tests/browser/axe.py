"""What axe finds on a page; the one place that speaks to a package without types."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SERIOUS = frozenset({"serious", "critical"})
IMPACTS = SERIOUS | {"minor", "moderate"}
TRANSITIONS_END = """() => Promise.all(
    document.getAnimations()
        .filter((animation) => animation instanceof CSSTransition)
        .map((transition) => transition.finished.catch(() => null))
)"""


def problems(page: Page, *, within: str | None = None, impacts: frozenset[str] = IMPACTS) -> list[str]:
    """Each rule of axe's that the page breaks, as one line: the rule, how bad it is, the first elements.

    Args:
        page: is waited for first, with its transitions: colours halfway between two schemes are nobody's fault.
        within: a selector; the whole page without one.
        impacts: those that count; of any impact by default.
    """
    page.wait_for_load_state()
    page.evaluate(TRANSITIONS_END)
    found = Axe().run(page, context=within).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in impacts
    ]

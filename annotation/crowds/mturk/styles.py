"""Find the rules of a style sheet that a page needs, so that a page with inline styles stays short."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r'class="([^"]*)"')
TAG = re.compile(r"<([a-z][a-z0-9]*)")
# parts of a selector that are about other elements or have no names: `:is(...)`, `:has(...)`, `[name="value"]`
SELECTOR_ARGUMENTS = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
NEEDED_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
NEEDED_TAG = re.compile(r"(?:^|[\s>+~,])([a-z][a-z0-9]*)")
ROOT_TAGS = frozenset({"html", "body"})


def styles_for(page: str, sheet: str) -> str:
    """Return the rules of ``sheet`` that may match an element of ``page`` (HTML with double quotes).

    No string in the sheet may contain a brace or a semicolon.
    """
    classes = {name for value in CLASS.findall(page) for name in value.split()}
    tags = ROOT_TAGS | set(TAG.findall(page))
    return "".join(_used_rules(COMMENT.sub("", sheet), classes, tags))


def _used_rules(sheet: str, classes: Collection[str], tags: Collection[str]) -> Iterator[str]:
    for head, body in _rules(sheet):
        if head.startswith("@media"):
            inner = "".join(_used_rules(body, classes, tags))
            if inner:
                yield f"{head}{{{inner}}}"
            continue
        wanted = [selector for selector in _split_selectors(head) if _may_match(selector, classes, tags)]
        if wanted:
            yield f"{','.join(wanted)}{{{_minify_style(body)}}}"


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the selector (or @media) and the content of the braces of each outermost rule."""
    depth, start, opened = 0, 0, 0
    for index, sign in enumerate(sheet):
        if sign == "{":
            depth += 1
            if depth == 1:
                opened = index
        elif sign == "}":
            depth -= 1
            if not depth:
                yield " ".join(sheet[start:opened].split()), sheet[opened + 1 : index]
                start = index + 1


def _split_selectors(selectors: str) -> list[str]:
    parts, depth = [""], 0
    for sign in selectors:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [selector.strip() for selector in parts]


def _may_match(selector: str, classes: Collection[str], tags: Collection[str]) -> bool:
    outer_selector = SELECTOR_ARGUMENTS.sub("", selector)
    return all(name in classes for name in NEEDED_CLASS.findall(outer_selector)) and all(
        name in tags for name in NEEDED_TAG.findall(outer_selector)
    )


def _minify_style(declarations: str) -> str:
    parts = (part.strip() for part in declarations.split(";"))
    return ";".join(re.sub(r"^([\w-]+)\s*:\s*", r"\1:", " ".join(part.split())) for part in parts if part)

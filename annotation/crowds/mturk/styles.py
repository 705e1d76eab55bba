"""Find the rules of a style sheet that a page needs, so that a page with inline styles stays short."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r'class="([^"]*)"')
TAG = re.compile(r"<([a-z][a-z0-9]*)")
# parts of a selector that are about other elements, as `:has(...)`, or name neither class nor tag, as `[name="value"]`
SELECTOR_ARGUMENTS = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
NAMED_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
NAMED_TAG = re.compile(r"(?:^|[\s>+~,])([a-z][a-z0-9]*)")
ROOT_TAGS = frozenset({"html", "body"})


def styles_for(page: str, sheet: str) -> str:
    """Return the rules of ``sheet`` that may match an element of ``page`` (HTML with double quotes).

    No string in the sheet may contain a brace or a semicolon.
    """
    classes = {name for value in CLASS.findall(page) for name in value.split()}
    tags = ROOT_TAGS | set(TAG.findall(page))
    return "".join(_used_rules(COMMENT.sub("", sheet), classes, tags))


def _used_rules(sheet: str, classes: Collection[str], tags: Collection[str]) -> Iterator[str]:
    for prelude, content in _outermost_rules(sheet):
        if prelude.startswith("@media"):
            inner = "".join(_used_rules(content, classes, tags))
            if inner:
                yield f"{prelude}{{{inner}}}"
            continue
        selectors = [text for text in _split_selectors(prelude) if _may_match(text, classes, tags)]
        if selectors:
            yield f"{','.join(selectors)}{{{_minify_style(content)}}}"


def _outermost_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the prelude (selectors, or @media) and the content of the braces of each outermost rule."""
    depth, start, brace_index = 0, 0, 0
    for index, character in enumerate(sheet):
        if character == "{":
            depth += 1
            if depth == 1:
                brace_index = index
        elif character == "}":
            depth -= 1
            if not depth:
                yield " ".join(sheet[start:brace_index].split()), sheet[brace_index + 1 : index]
                start = index + 1


def _split_selectors(selectors: str) -> list[str]:
    """Split a list of selectors at its commas, except those in parentheses, as in `:is(a, b)`."""
    parts, depth = [""], 0
    for character in selectors:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [selector.strip() for selector in parts]


def _may_match(selector: str, classes: Collection[str], tags: Collection[str]) -> bool:
    """Return whether the page has all classes and tags that the selector names outside of arguments."""
    outer_selector = SELECTOR_ARGUMENTS.sub("", selector)
    return all(name in classes for name in NAMED_CLASS.findall(outer_selector)) and all(
        name in tags for name in NAMED_TAG.findall(outer_selector)
    )


def _minify_style(declarations: str) -> str:
    """Return the declarations without needless blanks: `color: red; margin: 0` becomes `color:red;margin:0`."""
    parts = (part.strip() for part in declarations.split(";"))
    return ";".join(re.sub(r"^([\w-]+)\s*:\s*", r"\1:", " ".join(part.split())) for part in parts if part)

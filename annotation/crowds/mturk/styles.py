"""Find the rules of a style sheet (CSS) that a page needs, so that a page with inline styles stays short.

A rule such as ``.q-note, p.said { color: red; }`` has a prelude (the list of selectors) and declarations in braces. A
rule is needed if the page has all classes and tags that one of its selectors names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# classes and tags of elements in HTML
CLASS = re.compile(r'class="([^"]*)"')
TAG = re.compile(r"<([a-z][a-z0-9]*)")
# parts of a selector in parentheses, such as `:has(b)`, which may be about other elements, or in brackets, such as
# `[name="value"]`, which name neither a class nor a tag
SELECTOR_ARGUMENTS = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
# classes and tags in a selector
NAMED_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
NAMED_TAG = re.compile(r"(?:^|[\s>+~,])([a-z][a-z0-9]*)")
ROOT_TAGS = frozenset({"html", "body"})


def styles_for(page: str, sheet: str) -> str:
    """Return the rules of ``sheet`` that may match an element of ``page``.

    Args:
        page: HTML whose attributes are in double quotes.
        sheet: CSS in which no string contains a brace or a semicolon.
    """
    classes = set(" ".join(CLASS.findall(page)).split())
    tags = ROOT_TAGS | set(TAG.findall(page))
    return "".join(_used_rules(COMMENT.sub("", sheet), classes, tags))


def _used_rules(sheet: str, classes: Collection[str], tags: Collection[str]) -> Iterator[str]:
    """Yield the rules that may match elements with these classes and tags, each with the matching selectors only."""
    for prelude, content in _outermost_rules(sheet):
        if prelude.startswith("@media"):
            inner_rules = "".join(_used_rules(content, classes, tags))
            if inner_rules:
                yield f"{prelude}{{{inner_rules}}}"
            continue
        selectors = [text for text in _split_selectors(prelude) if _may_match(text, classes, tags)]
        if selectors:
            yield f"{','.join(selectors)}{{{_minify_style(content)}}}"


def _outermost_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the prelude (selectors or "@media ...") and the content of the braces of each rule outside of braces."""
    depth = 0  # number of open braces
    start = brace_index = 0  # where the current rule begins, and its first brace
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
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [selector.strip() for selector in parts]


def _may_match(selector: str, classes: Collection[str], tags: Collection[str]) -> bool:
    """Return whether the page has all classes and tags that the selector names outside of arguments."""
    outer_selector = SELECTOR_ARGUMENTS.sub("", selector)
    has_classes = all(name in classes for name in NAMED_CLASS.findall(outer_selector))
    has_tags = all(name in tags for name in NAMED_TAG.findall(outer_selector))
    return has_classes and has_tags


def _minify_style(declarations: str) -> str:
    """Return the declarations without needless blanks: `color: red; margin: 0` becomes `color:red;margin:0`."""
    short_declarations = []
    for declaration in declarations.split(";"):
        text = " ".join(declaration.split())
        if text:
            short_declarations.append(re.sub(r"^([\w-]+)\s*:\s*", r"\1:", text))
    return ";".join(short_declarations)

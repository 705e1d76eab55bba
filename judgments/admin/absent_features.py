"""Leave out of the documentation what it says about features that are off.

A page speaks of a feature where it has a link to the feature's README. If the feature is off, the link is left out of
a list of links, in parentheses the parentheses, in a table the row, and elsewhere the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Container

LINK = r"\[[^]]*\]\([^)]*\)"
# the end of a link to a feature's README: the groups are the folders to the documentation's, the feature and the anchor
FEATURE_LINK = re.compile(r"\]\(((?:\.\./)*)\.\./contrib/(\w+)/README\.md(#[^)]*)?\)")
MEMBER = rf"(?:{LINK}|`[^`]*`)"
LIST = re.compile(rf"{MEMBER}(?:(?:, | and | or ){MEMBER})+")
PARENTHESES = re.compile(r"(?<!\])\s?\((?:[^()]|\([^()]*\))*\)")
ITEM_MARKER = r"\s*(?:-|\d+\.) "
# the line breaks before and after an empty line, and before a table row, a list item or a heading
END_OF_BLOCK = re.compile(rf"\n(?=\n|\||{ITEM_MARKER}|#)|(?<=\n)\n")
EMPTY_SECTION = re.compile(r"^(##+) .*\n+(?=(?!\1#)#|\Z)", re.MULTILINE)
END_OF_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!et al\.)\s+")


def without_absent_features(markdown: str, active_features: Container[str]) -> str:
    """Return a page's Markdown without what it says about features that are not active."""

    def is_absent(text: str) -> bool:
        return any(link[2] not in active_features for link in FEATURE_LINK.finditer(text))

    def has_only_absent(text: str) -> bool:
        links = re.findall(LINK, text)
        return bool(links) and all(map(is_absent, links))

    def shorten_list(match: re.Match[str]) -> str:
        members = [member for member in re.findall(MEMBER, match[0]) if not is_absent(member)]
        if not members or not is_absent(match[0]):
            return match[0]
        conjunction = next((word for word in (" and ", " or ") if word in re.sub(MEMBER, "", match[0])), ", ")
        return conjunction.join([", ".join(members[:-1]), members[-1]] if members[1:] else members)

    def shorten_text(text: str, *, is_item: bool = False) -> str:
        text = PARENTHESES.sub(lambda match: "" if has_only_absent(match[0]) else match[0], text)
        sentences = END_OF_SENTENCE.split(text)
        if is_item and is_absent(sentences[0]):  # the others are about the item that it introduces
            return ""
        return " ".join(sentence for sentence in sentences if not is_absent(sentence))

    def shorten(block: str) -> str | None:
        """Return a block without what it says about inactive features; None if nothing is left."""
        block = LIST.sub(shorten_list, block)
        if block.startswith("|"):
            cells = block.split("|")
            first_linked = next((cell for cell in cells if re.search(LINK, cell)), "")
            return None if has_only_absent(first_linked) else "|".join(map(shorten_text, cells))
        marker = "".join(re.findall(f"^{ITEM_MARKER}", block))
        text = shorten_text(block.removeprefix(marker), is_item=bool(marker))
        return marker + text if text else None

    blocks = [shorten(block) if is_absent(block) else block for block in END_OF_BLOCK.split(markdown)]
    page = "\n".join(block for block in blocks if block is not None)
    while EMPTY_SECTION.search(page):  # a section is empty, too, once its only subsection is left out
        page = EMPTY_SECTION.sub("", page)
    return page

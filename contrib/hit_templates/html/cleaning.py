"""Clean templates and filled pages: keep only elements and attributes of the lists of allowed ones."""

from __future__ import annotations

import nh3

from contrib.hit_templates.html.crowd_elements import ELEMENT_BUILDERS

# Elements that are shown unchanged.
ALLOWED_ELEMENTS = {
    "a", "abbr", "audio", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "label", "legend", "li", "mark", "ol", "optgroup", "option", "p",
    "pre", "q", "rp", "rt", "ruby", "s", "samp", "select", "small", "source", "span", "strike", "strong", "sub",
    "summary", "sup", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "time", "tr", "track", "tt", "u",
    "ul", "var", "video", "wbr",
}  # fmt: skip
# Elements that structure a whole page. Templates may have them, but a filled page has plain boxes in their place,
# because it is part of Quorum's page.
LANDMARKS = {"address", "article", "aside", "center", "footer", "header", "hgroup", "main", "nav", "section"}
# Elements that are removed with their content.
REMOVED_ELEMENTS = {
    "applet", "base", "canvas", "embed", "frame", "frameset", "iframe", "link", "math", "meta", "noembed", "noframes",
    "noscript", "object", "param", "portal", "script", "style", "svg", "template", "title", "button",
}  # fmt: skip
# The attributes that are kept, by element; "*" is every element.
ATTRIBUTES = {
    "*": {"id", "title", "lang", "dir", "aria-label", "aria-labelledby", "aria-describedby"},
    "a": {"href"},
    "audio": {"src", "controls"},
    "video": {"src", "controls", "poster"},
    "source": {"src", "type"},
    "img": {"src", "alt", "width", "height"},
    "input": {
        "type", "name", "value", "checked", "required", "min", "max", "step", "maxlength", "placeholder",
        "data-within",  # the tolerance of a number (TOLERANCE_ATTRIBUTE)
    },
    "textarea": {"name", "required", "maxlength", "placeholder", "rows"},
    "select": {"name", "required", "multiple"},
    "option": {"value", "selected", "label"},
    "optgroup": {"label"},
    "label": {"for"},
    "ol": {"start", "type", "reversed"},
    "li": {"value"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "headers", "scope"},
    "details": {"open"},
    "time": {"datetime"},
    "bdo": {"dir"},
    "crowd-button": {"form-action"},
    "crowd-checkbox": {"name", "value", "checked", "required"},
    "crowd-radio-button": {"name", "value", "checked", "required"},
    "crowd-radio-group": {"name", "required"},
    "crowd-input": {"name", "value", "label", "type", "required", "placeholder", "max-length", "min", "max", "step",
                    "data-within"},
    "crowd-text-area": {"name", "value", "label", "required", "placeholder", "max-length", "rows"},
    "crowd-slider": {"name", "value", "min", "max", "step", "required", "label", "data-within"},
    "crowd-classifier": {"name", "categories", "header"},
    "crowd-classifier-multi-select": {"name", "categories", "header"},
    "crowd-image-classifier": {"name", "categories", "header", "src"},
    "crowd-image-classifier-multi-select": {"name", "categories", "header", "src"},
    "crowd-instructions": {"link-text"},
    "full-instructions": {"header"},
    "crowd-tab": {"header"},
    "crowd-card": {"heading", "image"},
}  # fmt: skip
# The attributes that are kept in filled pages. These contain plain HTML elements in place of Amazon's, and have some
# attributes that Quorum sets.
FILLED_PAGE_ATTRIBUTES = {
    **{
        tag: names
        for tag, names in ATTRIBUTES.items()
        if not tag.startswith("crowd-") and tag != "full-instructions"
    },
    "*": ATTRIBUTES["*"] | {"class"},
    "a": {"href", "target", "rel"},
    "img": {"src", "alt", "width", "height", "loading", "decoding"},
    "input": ATTRIBUTES["input"] | {"inputmode", "autocomplete"},
    "textarea": ATTRIBUTES["textarea"] | {"autocomplete"},
    "output": {"for"},
}


def clean_page(source: str) -> str:
    """Remove all HTML that could run code, load a frame, submit to another address or add style."""
    return nh3.clean(
        source,
        tags=ALLOWED_ELEMENTS | LANDMARKS | ELEMENT_BUILDERS.keys(),  # the keys are Amazon's own elements
        attributes=ATTRIBUTES,
        clean_content_tags=REMOVED_ELEMENTS,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def clean_filled_page(page: str) -> str:
    """Clean a page that is filled with cells. The template was cleaned, so this is a second line of defence."""
    return nh3.clean(
        page,
        tags=ALLOWED_ELEMENTS | {"output"},
        attributes=FILLED_PAGE_ATTRIBUTES,
        clean_content_tags=REMOVED_ELEMENTS,
        generic_attribute_prefixes={"data-"},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )

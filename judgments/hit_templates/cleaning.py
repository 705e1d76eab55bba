"""Which HTML of a template is kept. What is not named here is not kept, whatever a browser would make of it.

The cleaning is nh3's, which parses as browsers do. Styles and classes go: the page has one look, light and dark, and
nothing that stands in a step can cover what is around it.
"""

from __future__ import annotations

import nh3

# shown as they are
PLAIN = {
    "a", "abbr", "audio", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "label", "legend", "li", "mark", "ol", "optgroup", "option", "p",
    "pre", "q", "rp", "rt", "ruby", "s", "samp", "select", "small", "source", "span", "strike", "strong", "sub",
    "summary", "sup", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "time", "tr", "track", "tt", "u",
    "ul", "var", "video", "wbr",
}  # fmt: skip
# parts of a page that are ours: of the template's own they are boxes without a meaning
BOXES = {"address", "article", "aside", "center", "footer", "header", "hgroup", "main", "nav", "section"}
# Amazon's elements that are turned into plain ones, see crowd_elements.py
CROWD = {
    "crowd-alert", "crowd-button", "crowd-card", "crowd-checkbox", "crowd-classifier",
    "crowd-classifier-multi-select", "crowd-form", "crowd-image-classifier",
    "crowd-image-classifier-multi-select", "crowd-input", "crowd-instructions", "crowd-modal", "crowd-radio-button",
    "crowd-radio-group", "crowd-slider", "crowd-tab", "crowd-tabs", "crowd-text-area", "classification-target",
    "short-instructions", "full-instructions", "short-summary", "detailed-instructions", "positive-example",
    "negative-example", "short-description",
}  # fmt: skip
# go with everything in them
DROPPED = {
    "applet", "base", "canvas", "embed", "frame", "frameset", "iframe", "link", "math", "meta", "noembed", "noframes",
    "noscript", "object", "param", "portal", "script", "style", "svg", "template", "title", "button",
}  # fmt: skip
ATTRIBUTES = {
    "*": {"id", "title", "lang", "dir", "aria-label", "aria-labelledby", "aria-describedby"},
    "a": {"href"},
    "audio": {"src", "controls"},
    "video": {"src", "controls", "poster"},
    "source": {"src", "type"},
    "img": {"src", "alt", "width", "height"},
    "input": {
        "type", "name", "value", "checked", "required", "min", "max", "step", "maxlength", "placeholder",
        "data-within",
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
# what a filled page may hold; the second look at it, after the cells were put in
SHOWN = {
    **{
        tag: names
        for tag, names in ATTRIBUTES.items()
        if not tag.startswith("crowd-") and tag not in ("full-instructions",)
    },
    "*": ATTRIBUTES["*"] | {"class"},
    "a": {"href", "target", "rel"},
    "img": {"src", "alt", "width", "height", "loading", "decoding"},
    "input": ATTRIBUTES["input"] | {"inputmode", "autocomplete"},
    "textarea": ATTRIBUTES["textarea"] | {"autocomplete"},
    "output": {"for"},
}


def cleaned(source: str) -> str:
    """A template's HTML with nothing in it that could run, load a frame, send a form elsewhere or style."""
    return nh3.clean(
        source,
        tags=PLAIN | BOXES | CROWD,
        attributes=ATTRIBUTES,
        clean_content_tags=DROPPED,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def cleaned_again(page: str) -> str:
    """A filled page, held against what such a page may hold at most."""
    return nh3.clean(
        page,
        tags=PLAIN | {"output"},
        attributes=SHOWN,
        clean_content_tags=DROPPED,
        generic_attribute_prefixes={"data-"},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )

"""Show the documentation as pages of the admin, and find the documentation of a page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import markdown
from django.conf import settings
from django.contrib import admin
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from judgments.admin.absent_features import without_absent_features

TUTORIAL, GLOSSARY = "tutorial.md", "glossary.md"
# a link to another page of the documentation, not to another site or to an anchor of the same page: the groups are its
# path, its anchor and its label
LINK = re.compile(r'<a href="(?!https?:|mailto:|#)([^"#]*)(#[^"]*)?">(.*?)</a>', re.S)
# a picture's tag up to its address, the address, and the quotation mark after it
PICTURE = re.compile(r'(<img [^>]*?src=")([^"]+)(")')


@cache
def documents() -> dict[str, Path]:
    """Return the path of each documentation page and picture, by its name on the documentation's site."""
    folder = settings.BASE_DIR / "docs"
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".md", ".png", ".svg")
    }
    for name in settings.FEATURES:
        folder = settings.BASE_DIR / "contrib" / name
        if (folder / "README.md").exists():
            paths[f"contrib/{name}.md"] = folder / "README.md"
        paths |= {f"contrib/{path.name}": path for path in folder.glob("*.png")}
    return paths


def heading_anchor(heading: str, separator: str) -> str:
    """Return the anchor of a heading as GitHub makes it, which links between pages use."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


@cache
def document_html(name: str) -> SafeString:
    """Return a documentation page as HTML, with links and pictures at their addresses in the admin."""
    path = documents()[name]
    reader = markdown.Markdown(
        extensions=["tables", "fenced_code", "sane_lists", "toc"],
        extension_configs={"toc": {"baselevel": 2, "slugify": heading_anchor}},
    )
    name_by_path = {document_path: document_name for document_name, document_path in documents().items()}

    def admin_address(target: str) -> str:
        """Return the address of a page or picture by its relative path; "" if the documentation lacks it."""
        target_name = name_by_path.get((path.parent / target).resolve())
        return reverse("documentation", args=[target_name]) if target_name else ""

    def replace_link(match: re.Match[str]) -> str:
        target, anchor, label = match.groups(default="")
        address = admin_address(target)
        return f'<a href="{address}{anchor}">{label}</a>' if address else label

    def replace_picture(match: re.Match[str]) -> str:
        tag_start, target, quotation_mark = match.groups()
        return f"{tag_start}{admin_address(target)}{quotation_mark}"

    text = without_absent_features(path.read_text(encoding="utf-8"), settings.FEATURES)
    html = LINK.sub(replace_link, reader.convert(text))
    html = PICTURE.sub(replace_picture, html)
    return mark_safe(html)  # noqa: S308  # of the project's own files


def show_document(request: HttpRequest, name: str) -> HttpResponseBase:
    path = documents().get(name)
    if path is None:
        raise Http404
    if path.suffix != ".md":
        return FileResponse(path.open("rb"))
    context = admin.site.each_context(request) | {
        "title": gettext("Help"),
        "document": document_html(name),
        "name": name,
        "pages": [
            (TUTORIAL, gettext("Tutorial")),
            (GLOSSARY, gettext("Glossary")),
            ("index.md", gettext("All pages")),
        ],
    }
    return TemplateResponse(request, "judgments/document.html", context)


def with_help(view: Any, help: str) -> Any:
    """Set the documentation page of a view, which `help_page` reads, and return the view."""
    view.help = help
    return view


def page_of_feature(view: Any) -> str:
    """Return the documentation page of the feature that defines a view or class; "" if it is part of the platform."""
    feature = re.match(r"contrib\.(\w+)", view.__module__)
    return f"contrib/{feature[1]}.md" if feature else ""


def help_page(request: HttpRequest) -> str:
    """Return the documentation page about a request's view, its feature or its model, or else the tutorial."""
    match = request.resolver_match
    if match is None:
        return TUTORIAL
    if page := getattr(match.func, "help", "") or page_of_feature(match.func):
        return page
    for model, model_admin in admin.site._registry.items():
        if (match.url_name or "").startswith(f"{model._meta.app_label}_{model._meta.model_name}_"):
            page = getattr(model_admin, "help", "") or page_of_feature(type(model_admin))
    return page or TUTORIAL


def help_address(request: HttpRequest) -> str:
    """Return the address of the documentation page about a request's view, with its anchor."""
    name, mark, anchor = help_page(request).partition("#")
    return reverse("documentation", args=[name]) + mark + anchor

"""Find the texts that label the controls of a template's page."""

from __future__ import annotations

from contrib.hit_templates.html.elements import Element, inner_text


class ControlLabels:
    """The labels of the controls of a page, and the legends of the field sets around them."""

    def __init__(self, page: list[Element | str]) -> None:
        self._label_by_id: dict[str, str] = {}
        # The text of the label element around a control, and the legend of the field set around it, by the identity of
        # the control's element.
        self._outer_label: dict[int, str] = {}
        self._legend: dict[int, str] = {}
        self._read_labels(page, outer_label="", legend="")

    def _read_labels(self, nodes: list[Element | str], outer_label: str, legend: str) -> None:
        for node in nodes:
            if not isinstance(node, Element):
                continue
            inner_label, inner_legend = outer_label, legend
            if node.tag == "label":
                inner_label = inner_text(node)
                if node.attributes.get("for"):
                    self._label_by_id.setdefault(node.attributes["for"], inner_label)
            elif node.tag == "fieldset":
                children = [child for child in node.children if isinstance(child, Element)]
                legend_element = next((child for child in children if child.tag == "legend"), None)
                inner_legend = inner_text(legend_element) if legend_element is not None else legend
            elif node.tag in ("input", "select", "textarea"):
                self._outer_label[id(node)] = outer_label
                self._legend[id(node)] = legend
            self._read_labels(node.children, inner_label, inner_legend)

    def label_of(self, control: Element) -> str:
        attributes = control.attributes
        return (
            self._outer_label.get(id(control), "")
            or self._label_by_id.get(attributes.get("id", ""), "")
            or attributes.get("aria-label", "")
            or attributes.get("title", "")
        )

    def legend_of(self, control: Element) -> str:
        return self._legend.get(id(control), "")

"""Content selection: does a description name the objects that people name? (WG15)"""

from evaluation.metrics.content.selection import (
    CALLS,
    ContentFigure,
    ContentScore,
    content_selection,
    content_upper_bound,
)

__all__ = ["CALLS", "ContentFigure", "ContentScore", "content_selection", "content_upper_bound"]

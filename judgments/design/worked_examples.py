"""Worked examples of our own for the presets; the papers print none that could be shown as they stand.

V15 gives workers "no explicit concept" of similarity (section 3), so its triplets have no example: one would be such
a concept.
"""

from __future__ import annotations

from typing import Any

_DOG = "A photograph of a brown dog that jumps over a low fence in a garden."
_HORSE = "A photograph of a man in a blue shirt who rides a horse across a field."
_CHILDREN = "A photograph of two children who build a sandcastle at the sea, with blue buckets beside them."

GRADED: list[dict[str, Any]] = [
    {
        "scene": _DOG,
        "shown": ["A dog is jumping over a fence."],
        "answer": "4, describes the image without any errors",
        "why": "All it says can be seen. It need not mention the garden or the colour.",
    },
    {
        "scene": _DOG,
        "shown": ["A black dog is jumping over a fence in a garden."],
        "answer": "3, describes the image with minor errors",
        "why": "What happens is right; only the colour of the dog is not.",
    },
    {
        "scene": _DOG,
        "shown": ["A dog is sleeping on the grass."],
        "answer": "2, is somewhat related to the image",
        "why": "There is a dog and a garden, but it does something else.",
    },
    {
        "scene": _DOG,
        "shown": ["Two women are drinking coffee in the street."],
        "answer": "1, is unrelated to the image",
        "why": "Nothing of it can be seen.",
    },
]

RELEVANCE: list[dict[str, Any]] = [
    {
        "scene": _CHILDREN,
        "shown": [
            "Two children are playing in the sand.",
            "Children build a sandcastle with red buckets.",
            "A dog runs along the beach.",
        ],
        "answer": "Tick the first and the second.",
        "why": "The first is right. The second has a minor error, the colour of the buckets, and still describes the "
        "picture. The third happens at a beach too, but is about something else.",
    },
]

PAIRWISE: list[dict[str, Any]] = [
    {
        "scene": _HORSE,
        "shown": ["A man is riding a horse.", "A man in a blue shirt feeds a horse in a barn."],
        "answer": "B",
        "why": "B is short, and all of it is right. C says more, but the man does something else, somewhere else.",
    },
]

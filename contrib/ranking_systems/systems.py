"""The names of the systems and of the picture kernels."""

NEIGHBOUR, JOINED = "nn", "borda"
# Systems use an arbitrary caption of each training image (1) or all of them (5). With idf, words are weighted by
# their rarity. Similar words match by their distribution (dist), by alignment (align), or by both with weights
# (sem).
TEXT_KERNELS = (
    "bow1",
    "bow5",
    "bow5-idf",
    "tagrank",
    "tri5",
    "tri5-idf",
    "tri5-dist",
    "tri5-align",
    "tri5sem",
)
SYSTEMS = (NEIGHBOUR, *TEXT_KERNELS, JOINED)
IMAGE_KERNELS = ("pyramid", "histogram")
IMAGE_POWERS = (2, 3)

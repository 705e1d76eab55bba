"""Names of the systems and of the picture kernels."""

NEIGHBOUR, JOINED = "nn", "borda"
# With an arbitrary caption of each training image (1) or all of them (5); idf: words weigh by their rarity. Words that
# are alike match by their distribution, by alignment, or, weighed, by both.
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

"""The names of the ranking systems and of the picture kernels, which can be read without loading them."""

NEIGHBOUR = "nn"  # ranks by the nearest training item
JOINED = "borda"  # joins the rankings of the other systems
# Systems by kernel canonical correlation analysis (KCCA), named by text kernel: bags of words (bow), ranks of words
# (tagrank) or trigrams (tri). They use an arbitrary caption of each training image (1) or all (5). With idf, rare words
# weigh more. Similar words match by distribution (dist), by alignment (align), or the larger of both, with idf (sem).
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
IMAGE_POWERS = (2, 3)  # powers to which the similarity of pictures can be raised

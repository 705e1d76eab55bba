"""Bounds of every metric on a dataset, from people's captions (WG16)."""

# WG16 section 3: smoothed sentence BLEU, F of the ROUGE script, METEOR, CIDEr of unstemmed words, CIDEr-D without the
# factor 10.
WG16_METRICS = (
    *(f"bleu-{order}|smoothing:nist" for order in range(1, 5)),
    *("rouge-1", "rouge-l-155", "rouge-w", "rouge-su4", "meteor", "cider-nostem", "cider-d|scale:1"),
)
# Punctuation dropped, lower case, hyphenated words split.
WG16_TOKENIZER = "h13"

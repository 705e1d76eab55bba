"""Captions as words: tokenizers, stemmers, stop words, and words as numbers."""

from evaluation.metrics.text.words import TOKENIZERS, Tokenizer, tokenizer_named

__all__ = ["TOKENIZERS", "Tokenizer", "tokenizer_named"]

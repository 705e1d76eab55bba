"""Adoption: captions that workers wrote in a study become part of its dataset."""

"""Publish releases at Zenodo and the Hugging Face Hub."""

"""Archives: a release goes to Zenodo or the Hugging Face Hub."""

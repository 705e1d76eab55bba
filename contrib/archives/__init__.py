"""Archives: send a release to Zenodo or the Hugging Face Hub."""

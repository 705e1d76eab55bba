"""Give releases to Zenodo and to the Hugging Face Hub."""

"""Systems that rank captions for an image, or images for a caption. People judge their rankings."""

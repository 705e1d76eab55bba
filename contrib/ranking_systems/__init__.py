"""Systems that rank captions for an image, or images for a caption, whose rankings people judge."""

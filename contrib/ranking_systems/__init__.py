"""Systems that rank captions for an image, and images for a caption, to be judged by people."""

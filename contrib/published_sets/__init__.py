"""Published sets as their authors released them: MS COCO, Flickr8k, PASCAL-50S and ABSTRACT-50S."""

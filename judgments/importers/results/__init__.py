"""Result files of annotation platforms, read as rows with MTurk's columns."""

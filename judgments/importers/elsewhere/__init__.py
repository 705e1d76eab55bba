"""Read results of other annotation platforms as rows with MTurk's columns."""

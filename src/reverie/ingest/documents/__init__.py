"""Documents: how each format is read into units of text whose places are known."""

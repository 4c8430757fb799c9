"""Finding: signals, fusion, and the public search."""

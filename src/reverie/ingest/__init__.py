"""From the outside to records: readers of files, and the importer."""

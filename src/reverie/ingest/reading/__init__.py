"""Reading: every file is read in a process of its own, which is held to limits and believed nothing."""

"""Entity resolution: whether two names, or two nodes, are of one person or thing."""

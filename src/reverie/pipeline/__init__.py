"""What follows each change: slots, the worker that runs them, rebuild and check-up."""

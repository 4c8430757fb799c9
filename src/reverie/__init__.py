"""Reverie: a personal memory that runs on its owner's machine."""

import os

# The products of a search are small, and threads of BLAS only wait for one another: the
# processor time of a search was three times as much. It reads this when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"

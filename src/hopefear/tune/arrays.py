"""Arrays of a checkpoint: an .npz file in, its arrays out, or one line on what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.errors import InputError, in_line
from hopefear.files import PathLike


def load_arrays(path: PathLike, what: str) -> dict[str, NDArray[Any]]:
    """All arrays of a file, by their names; `what` it should be, for messages."""
    try:
        with np.load(path, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
    except OSError:
        raise
    except Exception as error:  # zip, zlib, struct and numpy raise a dozen kinds
        raise InputError(
            f"{path}: not {what} ({in_line(error) or type(error).__name__}); start again without "
            "--resume"
        ) from None

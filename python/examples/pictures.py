"""For the other examples: the sample picture of the repository, and pictures side by side as a file. Needs Pillow."""

import sys
from pathlib import Path

import numpy as np

SAMPLE = Path(__file__).parents[2] / "samples" / "harbour.png"


def sample():
    """The sample picture, (304, 456, 3) of uint8; None, where it or Pillow is missing."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return np.asarray(Image.open(SAMPLE).convert("RGB")) if SAMPLE.exists() else None


def wanted():
    """The file after ``--picture``, if that was said."""
    return sys.argv[sys.argv.index("--picture") + 1] if "--picture" in sys.argv else None


def side_by_side(path, *pictures):
    """Writes pictures of (H, W) or (H, W, 3), floats of 0 to 1 or bytes, beside each other."""
    from PIL import Image

    columns = []
    for picture in pictures:
        x = np.asarray(picture)
        if x.dtype != np.uint8:
            x = np.round(np.clip(x, 0, 1) * 255).astype(np.uint8)
        columns += [np.full((x.shape[0], 4, 3), 255, np.uint8), np.broadcast_to(x.reshape(*x.shape[:2], -1), (*x.shape[:2], 3))]
    Image.fromarray(np.concatenate(columns[1:], axis=1)).save(path, quality=88)

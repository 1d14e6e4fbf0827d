"""Clean pictures on the 0..255 scale and the noise added to them."""

import numpy as np

SUFFIXES = {".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".webp"}


def default(color):
    """scikit-image's own pictures: camera in grey, astronaut in colour."""
    import skimage.data

    name = "astronaut" if color else "camera"
    return name, getattr(skimage.data, name)().astype(np.float64)


def load(path, color):
    """Reads a picture as float64 HxW, or HxWx3 with `color`, on 0..255."""
    import skimage.io

    raw = np.asarray(skimage.io.imread(path))
    if raw.dtype == np.uint8:
        picture = raw.astype(np.float64)
    elif raw.dtype == np.uint16:
        picture = raw.astype(np.float64) * (255.0 / 65535.0)
    elif np.issubdtype(raw.dtype, np.floating):
        picture = raw.astype(np.float64) * (255.0 if raw.max() <= 1.0 else 1.0)
    else:
        raise ValueError(f"{path}: samples of type {raw.dtype} are not supported")
    if picture.ndim == 3 and picture.shape[2] in (2, 4):
        picture = picture[..., :-1]  # drop alpha
    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[..., 0]
    if picture.ndim == 3 and picture.shape[2] == 3:
        return picture if color else picture @ np.array([0.2125, 0.7154, 0.0721])
    if picture.ndim != 2:
        raise ValueError(f"{path}: shape {raw.shape} is not a grey or RGB picture")
    if color:
        raise ValueError(f"{path}: is a grey picture\nhint: leave out --color")
    return picture


def list_folder(folder, limit):
    """The pictures of a folder in the order of their names."""
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
    return paths[:limit]


def centre(picture, size=256):
    """The central part of at most size x size pixels."""
    top = max(0, (picture.shape[0] - size) // 2)
    left = max(0, (picture.shape[1] - size) // 2)
    return picture[top : top + size, left : left + size]


def add_noise(clean, sigma, seed):
    """White Gaussian noise in floating point, neither rounded nor clipped."""
    noise = np.random.default_rng(seed).standard_normal(clean.shape)
    return (clean + sigma * noise).astype(np.float32)

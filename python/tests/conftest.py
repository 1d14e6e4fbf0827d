"""Pictures that the tests draw themselves."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def clean():
    """Edges, a ramp and a fine weave; 8 bits as floats of 0 to 1."""
    y, x = np.mgrid[0:80, 0:96]
    picture = 0.2 + 0.4 * x / 96
    picture[20:60, 30:70] += 0.3 * (((x + y) // 8) % 2)[20:60, 30:70]
    return picture.astype(np.float32)


@pytest.fixture(scope="session")
def noisy(clean):
    return clean + np.random.default_rng(1).normal(0, 0.1, clean.shape).astype(np.float32)


@pytest.fixture(scope="session")
def rgb(clean):
    """Height, width, channels."""
    planes = np.stack([clean, clean[::-1], 0.8 - 0.5 * clean], axis=-1)
    return (planes + np.random.default_rng(2).normal(0, 0.1, planes.shape)).astype(np.float32)

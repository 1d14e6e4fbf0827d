"""Bad arguments: an exception that names them."""

import numpy as np
import pytest

import quell

X = np.random.default_rng(0).normal(0.5, 0.1, (40, 48)).astype(np.float32)
RGB = np.random.default_rng(0).normal(0.5, 0.1, (40, 48, 3)).astype(np.float32)


def with_nan():
    x = X.copy()
    x[3, 5] = np.nan
    return x


def read_only():
    out = np.empty_like(X)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("x", "options", "error", "text"),
    [
        (X > 0.5, {}, TypeError, "x: bool"),
        (X * 1j, {}, TypeError, "x: complex"),
        (X.astype(object), {}, TypeError, "x: an array of object"),
        (np.array([["a", "b"]]), {}, TypeError, "x: an array of <U1"),
        (X.astype("datetime64[s]"), {}, TypeError, "x: "),
        (np.ma.masked_array(X), {}, TypeError, "x: a masked array"),
        ("photo.png", {}, TypeError, "x: "),
        (None, {}, TypeError, "x: "),
        (X[0], {}, ValueError, "x: an array of shape (48,)"),
        (np.float32(3), {}, ValueError, "x: an array of shape ()"),
        (X[:0], {}, ValueError, "x: an array of shape (0, 48) is empty"),
        (with_nan(), {}, ValueError, "x: plane 0, column 5, row 3 is NaN"),
        (X * np.inf, {}, ValueError, "x: plane 0"),
        (X, {"channel_axis": -1}, ValueError, "channel_axis = -1"),
        (RGB, {"channel_axis": 3}, ValueError, "channel_axis = 3"),
        (RGB, {"channel_axis": 1.0}, TypeError, "channel_axis = 1.0"),
        (X, {"sigma": 0}, ValueError, "sigma = 0"),
        (X, {"sigma": -1}, ValueError, "sigma = -1"),
        (X, {"sigma": np.nan}, ValueError, "sigma = nan"),
        (X, {"sigma": "much"}, TypeError, "sigma: "),
        (X, {"sigma": [0.1, 0.2]}, ValueError, "sigma: has shape (2,)"),
        (RGB, {"sigma": [0.1, 0.2], "channel_axis": -1}, ValueError, "sigma: has shape (2,)"),
        (RGB[None], {"sigma": [0.1] * 3, "channel_axis": -1}, ValueError, "sigma: has shape (3,)"),
        (X, {"white": 0}, ValueError, "white = 0"),
        (X, {"white": np.nan}, ValueError, "white = nan"),
        (X.astype(np.int64), {}, ValueError, "white: must be given for int64"),
        (X, {"profile": "best-ever"}, ValueError, "profile = 'best-ever'"),
        (X, {"method": "median"}, ValueError, "method = 'median'"),
        (X, {"device": "gpu"}, ValueError, "device = gpu"),
        (X, {"device": "cuda:99"}, quell.DeviceError, "cuda:99"),
        (X, {"threads": 0}, ValueError, "threads = 0"),
        (X, {"threads": 1.5}, ValueError, "threads = 1.5"),
        (X, {"progress": 3}, TypeError, "progress: "),
        (X, {"strength": -1}, ValueError, "strength = -1"),
        (X, {"grain": 2}, ValueError, "grain = 2"),
        (X, {"hard_step": 99}, ValueError, "hard.step = 99"),
        (X, {"hard_stop": 3}, TypeError, "hard_stop: method bm3d has no such parameter"),
        (X, {"out": [1, 2]}, TypeError, "out: must be a NumPy array"),
        (X, {"out": np.empty((3, 3), np.float32)}, ValueError, "out: is float32 (3, 3)"),
        (X, {"out": np.empty(X.shape, np.float64)}, ValueError, "out: is float64"),
        (X, {"out": read_only()}, ValueError, "out: is read-only"),
        (X, {"noise_psd": np.ones((3, 3))}, ValueError, "3 x 3"),
        (X, {"noise_psd": "measured"}, ValueError, "noise_psd = 'measured'"),
        (X, {"noise_cov": np.eye(2), "method": "nlm"}, ValueError, "noise_cov: has shape (2, 2)"),
        (X, {"noise_psd": "auto", "method": "isoline"}, NotImplementedError, "isoline"),
    ],
)
def test_bad_arguments_are_named(x, options, error, text):
    options = {"sigma": 0.1, **options}
    with pytest.raises(error) as caught:
        quell.denoise(x, options.pop("sigma"), **options)
    assert text in str(caught.value), caught.value


def test_a_result_that_overlaps_its_picture_is_refused():
    x = np.zeros((41, 48), np.float32)
    with pytest.raises(ValueError, match="out: overlaps x"):
        quell.bm3d(x[:-1], 0.1, out=x[1:])
    # Beside each other in wider rows.
    both = np.zeros((40, 96), np.float32)
    quell.bm3d(both[:, :48], 0.1, out=both[:, 48:])


def test_a_failed_call_leaves_the_next_one_alone():
    with pytest.raises(ValueError, match="x: "):
        quell.bm3d(with_nan(), 0.1)
    assert np.isfinite(quell.bm3d(X, 0.1)).all()


def test_errors_are_a_family():
    assert issubclass(quell.DeviceMemoryError, quell.DeviceError)
    assert issubclass(quell.DeviceError, quell.QuellError) and issubclass(quell.QuellError, RuntimeError)

"""Noise: estimated, described, and used."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quell

RNG = np.random.default_rng(3)


@given(sigma=st.floats(0.01, 0.3), unit=st.sampled_from([1.0, 255.0, 4095.0]))
@settings(max_examples=20, deadline=None)
def test_estimates_are_in_the_units_of_the_array(sigma, unit):
    x = (np.random.default_rng(0).normal(0.5, sigma, (128, 128)) * unit).astype(np.float32)
    assert quell.estimate_sigma(x) == pytest.approx(sigma * unit, rel=0.1)
    assert quell.estimate_noise(x, white=unit, estimator="ponomarenko").sigma == pytest.approx(sigma * unit, rel=0.1)


def test_channels_are_estimated_one_by_one_or_in_the_mean():
    x = np.stack([RNG.normal(100, s, (96, 96)) for s in (2, 8)], axis=-1)
    one, two = quell.estimate_sigma(x, channel_axis=-1)
    assert one == pytest.approx(2, rel=0.2) and two == pytest.approx(8, rel=0.2)
    assert quell.estimate_sigma(x, True, channel_axis=-1) == pytest.approx((one + two) / 2)


def test_a_region_tells_the_noise():
    x = RNG.normal(0.5, 0.05, (128, 128)).astype(np.float32)
    x[:, 64:] += 0.3 * RNG.random((128, 64))
    assert quell.estimate_noise(x, region=(0, 0, 60, 120)).sigma == pytest.approx(0.05, rel=0.1)


def test_models_are_written_and_read():
    models = [
        quell.noise_model(sigma=12, white=255),
        quell.noise_model(sigma=[0.1, 0.2, 0.3], white=1),
        quell.noise_model("poisson", gain=0.5, white=4095),
        quell.noise_model("poisson-gauss", gain=0.5, floor=20, white=65535),
        quell.noise_model("points", points=[(0, 0.01), (1, 0.1)], white=1),
    ]
    for model in models:
        assert quell.NoiseModel.from_toml(model.to_toml(), model.white) == model
        assert pickle.loads(pickle.dumps(model)) == model
        assert model.with_white(255).sigma == pytest.approx(model.sigma * 255 / model.white, rel=1e-5)
    assert repr(models[0]) == "<NoiseModel: sigma 12 (white is 255)>"
    assert repr(models[1]).startswith("<NoiseModel: luma 0.216, chroma 0.2236 and 0.")
    assert models[3].deviation(1000) == pytest.approx(520**0.5, rel=1e-4)
    assert models[4].deviation(0.5) == pytest.approx(0.055, rel=1e-4)


def test_photon_noise_is_filtered_as_such():
    y, x = np.mgrid[0:96, 0:128]
    clean = (20 + 200 * x / 128 + 20 * (y // 16 % 2)).astype(np.float32)
    noisy = RNG.poisson(clean).astype(np.uint16)
    model = quell.noise_model("poisson", gain=1, white=1023)
    known = quell.bm3d(noisy, model, white=1023)
    plain = quell.bm3d(noisy, float(np.sqrt(clean.mean())), white=1023)
    assert quell.psnr(clean, known, white=255) > quell.psnr(clean, plain, white=255)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kind": "gauss", "white": 1}, "sigma: must be given"),
        ({"kind": "poisson", "white": 1}, "gain: must be given"),
        ({"kind": "poisson-gauss", "gain": 1, "white": 1}, "floor: must be given"),
        ({"kind": "salt", "white": 1}, "kind = 'salt'"),
        ({"sigma": -3, "white": 1}, "sigma = -"),
        ({"sigma": [1, 2], "white": 1}, "sigma: has shape (2,)"),
        ({"kind": "points", "points": [(0, 1)], "white": 1}, "points = 1"),
    ],
)
def test_models_that_make_no_sense_are_refused(options, text):
    with pytest.raises(ValueError) as caught:
        quell.noise_model(**options)
    assert text in str(caught.value)


def test_wrong_files_are_refused():
    with pytest.raises(ValueError, match="sigma or"):
        quell.NoiseModel.from_toml("")


def test_several_pictures_are_not_estimated_at_once():
    with pytest.raises(ValueError, match="several pictures"):
        quell.estimate_noise(np.zeros((3, 20, 20), np.float32))
    with pytest.raises(ValueError, match="estimator = psychic"):
        quell.estimate_noise(np.zeros((20, 20), np.float32), estimator="psychic")


def test_metrics_agree_with_their_definitions():
    a, b = RNG.random((2, 3, 40, 50))
    mse = np.mean((a - b) ** 2)
    assert quell.psnr(a, b) == pytest.approx(10 * np.log10(1 / mse), rel=1e-5)
    assert quell.psnr(a, b, channel_axis=0, white=2) == pytest.approx(10 * np.log10(4 / mse), rel=1e-5)
    assert quell.psnr(a, a) == np.inf and quell.ssim(a, a) == 1 and quell.ssim(a, b) < 0.2
    with pytest.raises(ValueError, match="x: has shape"):
        quell.psnr(a, b[0])

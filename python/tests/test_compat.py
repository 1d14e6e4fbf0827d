"""The drop-in for PyPI's bm3d: what it takes and gives, and, where that package is installed, how close the two are."""

import os

import numpy as np
import pytest

import quell.compat.bm3d as ours

slow = pytest.mark.skipif("QUELL_SLOW" not in os.environ, reason="takes minutes; set QUELL_SLOW to run it")

PROFILES = ["np", "vn", "vn_old", "high", "lc", "deb"]


@pytest.fixture(scope="module")
def scene():
    """Surfaces, edges and a weave."""
    y, x = np.mgrid[0:128, 0:128]
    picture = 0.3 + 0.3 * x / 128 + 0.1 * np.sin(y / 9)
    picture[(x - 70) ** 2 + (y - 60) ** 2 < 40**2] += 0.25
    picture[90:120, 10:60] += 0.15 * (((x + 2 * y) // 5) % 2)[90:120, 10:60]
    return picture


def add(picture, sigma, seed=0):
    return picture + np.random.default_rng(seed).normal(0, sigma, picture.shape)


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_removes_noise(profile, scene):
    noisy = add(scene, 0.1)
    clean = ours.bm3d(noisy, 0.1, profile)
    assert clean.dtype == np.float64 and clean.shape == scene.shape
    assert psnr(scene, clean) > psnr(scene, noisy) + 7


def test_pass_1_alone_is_less(scene):
    noisy = add(scene, 0.1)
    basic = ours.bm3d(noisy, 0.1, stage_arg=ours.BM3DStages.HARD_THRESHOLDING)
    assert psnr(scene, noisy) + 5 < psnr(scene, basic) < psnr(scene, ours.bm3d(noisy, 0.1))


def test_a_pilot_takes_the_place_of_pass_1(scene):
    noisy = add(scene, 0.1)
    basic = ours.bm3d(noisy, 0.1, stage_arg=ours.BM3DStages.HARD_THRESHOLDING)
    both = ours.bm3d(noisy, 0.1)
    assert np.abs(ours.bm3d(noisy, 0.1, stage_arg=basic) - both).max() < 1e-4
    # The better the pilot, the better the result.
    best = ours.bm3d(noisy, 0.1, stage_arg=scene)
    assert psnr(scene, best) > psnr(scene, both) + 3
    several, pilots = np.stack([noisy, add(scene, 0.1, 1)], axis=-1), np.stack([scene, scene], axis=-1)
    result = ours.bm3d(several, 0.1, stage_arg=pilots)
    assert result.shape == several.shape and np.abs(result[..., 0] - best).max() < 1e-3
    noisy, spectrum = striped(scene)
    known = ours.bm3d(noisy, spectrum, stage_arg=scene)
    assert psnr(scene, known) > psnr(scene, ours.bm3d(noisy, spectrum)) + 1


def blurred(scene, kernel, sigma):
    padded = np.zeros(scene.shape)
    padded[: kernel.shape[0], : kernel.shape[1]] = kernel
    padded = np.roll(padded, (-(kernel.shape[0] // 2), -(kernel.shape[1] // 2)), (0, 1))
    return add(np.real(np.fft.ifft2(np.fft.fft2(scene) * np.fft.fft2(padded))), sigma)


# One on one side: where its middle is counts.
CORNER = np.outer([0.1, 0.2, 0.4, 0.2, 0.1], [0, 0.1, 0.5, 0.4])


@pytest.mark.parametrize("kernel", [np.ones((9, 9)) / 81, CORNER], ids=["box", "one-sided"])
@pytest.mark.parametrize("profile", ["np", "deb"])
def test_blur_and_noise_go(kernel, profile, scene):
    z = blurred(scene, kernel, 0.01)
    clean = ours.bm3d_deblurring(z, 0.01, kernel, profile)
    assert clean.shape == scene.shape and clean.dtype == np.float64
    assert psnr(scene, clean) > psnr(scene, z) + (3 if kernel is CORNER else 3.4)
    assert psnr(scene, clean) > psnr(scene, ours.bm3d(z, 0.01)) + 2


def test_deblurring_knows_units_spectra_and_channels(scene):
    kernel = np.ones((5, 5)) / 25
    z = blurred(scene, kernel, 0.02)
    clean = ours.bm3d_deblurring(z, 0.02, kernel)
    assert np.abs(ours.bm3d_deblurring(z * 255, 0.02 * 255, kernel) / 255 - clean).max() < 1e-3
    white = np.full(scene.shape, 0.02**2 * scene.size)
    assert np.abs(ours.bm3d_deblurring(z, white, kernel) - clean).max() < 1e-6
    both = ours.bm3d_deblurring(np.stack([z, z[::-1]], -1), [0.02, 0.02], kernel)
    assert both.shape == (*scene.shape, 2) and np.abs(both[..., 0] - clean).max() < 1e-6


def test_units_and_offsets_do_not_matter(scene):
    noisy = add(scene, 0.1)
    wanted = ours.bm3d(noisy, 0.1)
    for unit, offset in ((255, 0), (1e-3, 0), (1, 40), (1000, -200)):
        assert np.abs((ours.bm3d(noisy * unit + offset, 0.1 * unit) - offset) / unit - wanted).max() < 2e-3


def test_any_number_of_channels_is_grouped_by_the_first(scene):
    noisy = np.stack([add(scene, 0.1, seed) for seed in range(4)], axis=-1)
    clean = ours.bm3d(noisy, [0.1, 0.1, 0.1, 0.1])
    assert clean.shape == noisy.shape
    assert np.abs(clean[..., 0] - ours.bm3d(noisy[..., 0], 0.1)).max() < 1e-3
    assert all(psnr(scene, clean[..., c]) > 30 for c in range(4))
    # A first channel with edges of its own helps the others more than noise does.
    blind = np.concatenate([add(np.zeros_like(scene), 0.1, 9)[..., None], noisy[..., 1:2]], axis=-1)
    assert psnr(scene, ours.bm3d(blind, 0.1)[..., 1]) < psnr(scene, clean[..., 1])
    one = ours.bm3d(noisy[..., :1], 0.1)
    assert one.shape == scene.shape


def test_every_channel_has_its_noise(scene):
    noisy = np.stack([add(scene, 0.05, 1), add(scene, 0.15, 2)], axis=-1)
    right, wrong = ours.bm3d(noisy, [0.05, 0.15]), ours.bm3d(noisy, [0.15, 0.05])
    assert all(psnr(scene, right[..., c]) > psnr(scene, wrong[..., c]) + 1 for c in range(2))


@pytest.mark.parametrize("space", ["opp", "YCbCr"])
def test_colours_are_filtered_together(space, scene):
    clean = np.stack([scene, 0.8 * scene, 1 - scene], axis=-1)
    noisy = add(clean, 0.1)
    result = ours.bm3d_rgb(noisy, 0.1, colorspace=space)
    assert result.shape == clean.shape and psnr(clean, result) > psnr(clean, noisy) + 10


def striped(scene):
    """Noise that is the same along short pieces of rows, and its spectrum."""
    kernel = np.ones((1, 9)) / 3
    spectrum = np.abs(np.fft.fft2(kernel, scene.shape)) ** 2
    white = np.fft.fft2(np.random.default_rng(5).normal(0, 0.1, scene.shape))
    noise = np.real(np.fft.ifft2(white * np.fft.fft2(kernel, scene.shape)))
    return scene + noise, spectrum * 0.1**2 * scene.size


def test_a_power_spectrum_counts(scene):
    noisy, spectrum = striped(scene)
    known, taken_for_white = ours.bm3d(noisy, spectrum), ours.bm3d(noisy, 0.1)
    assert psnr(scene, known) > psnr(scene, taken_for_white) + 1
    both = ours.bm3d(np.stack([noisy, noisy], axis=-1), np.stack([spectrum, spectrum], axis=-1))
    assert psnr(scene, both[..., 1]) > psnr(scene, taken_for_white) + 1
    assert ours.bm3d_rgb(np.stack([noisy] * 3, axis=-1), spectrum).shape == (*scene.shape, 3)


def test_fields_of_a_profile_count(scene):
    noisy = add(scene, 0.1)
    plain = ours.bm3d(noisy, 0.1)
    for field, value in [("filter_strength", 1.3), ("step_ht", 5), ("lambda_thr3d", 4), ("mu2", 2), ("bs_wiener", 6),
                         ("search_window_ht", 15), ("nf", 0), ("transform_2d_ht_name", "dct"), ("beta", 0)]:
        profile = ours.BM3DProfile()
        setattr(profile, field, value)
        assert not np.array_equal(ours.bm3d(noisy, 0.1, profile), plain), field


def test_nothing_to_do_is_done():
    flat = np.full((32, 32), 0.3)
    assert np.array_equal(ours.bm3d(flat, 0.1), flat)
    noisy = add(flat, 0.1)
    assert np.array_equal(ours.bm3d(noisy, 0), noisy)


def changed(**fields):
    profile = ours.BM3DProfile()
    for name, value in fields.items():
        setattr(profile, name, value)
    return profile


Z = np.random.default_rng(0).normal(0.5, 0.1, (32, 32))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"profile": "refilter"}, "denoise_residual"),
        ({"profile": changed(sharpen_alpha=1.3)}, "sharpen_alpha"),
        ({"profile": changed(transform_2d_ht_name="db4")}, "db4"),
        ({"blockmatches": (True, True)}, "blockmatches"),
        ({"blockmatches": (np.zeros(3), False)}, "blockmatches"),
        ({"sigma_psd": np.stack([np.ones_like(Z), np.eye(32)], -1), "z": np.stack([Z, Z], -1)}, "shape"),
        ({"sigma_psd": np.eye(32), "profile": changed(gamma=2)}, "gamma"),
    ],
)
def test_what_is_not_computed_is_said(arguments, says):
    with pytest.raises(NotImplementedError, match=says):
        ours.bm3d(**{"z": Z, "sigma_psd": 0.1, **arguments})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"psf": np.ones(9) / 9}, "psf"),
        ({"psf": np.ones((33, 3))}, "psf"),
        ({"psf": np.zeros((3, 3))}, "psf"),
        ({"psf": np.full((3, 3), np.nan)}, "psf"),
        ({"sigma_psd": 0}, "sigma_psd"),
        ({"sigma_psd": [0.1, 0.2]}, "sigma_psd"),
        ({"z": np.ones((32, 32))}, "sigma_psd"),
        ({"z": Z[0]}, "z"),
    ],
)
def test_deblurring_that_cannot_be_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        ours.bm3d_deblurring(**{"z": Z, "sigma_psd": 0.1, "psf": np.ones((3, 3)) / 9, **arguments})


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (ValueError, {"z": Z[0]}),
        (ValueError, {"z": Z[None, None]}),
        (ValueError, {"z": Z + 0j}),
        (ValueError, {"z": Z[:6, :6]}),
        (ValueError, {"z": np.where(Z > 0.7, np.nan, Z)}),
        (ValueError, {"sigma_psd": -1}),
        (ValueError, {"sigma_psd": [0.1, 0.2]}),
        (ValueError, {"sigma_psd": np.ones((16, 16))}),
        (TypeError, {"profile": "best"}),
        (TypeError, {"profile": None}),
        (ValueError, {"stage_arg": Z[:20]}),
        (ValueError, {"stage_arg": np.stack([Z, Z], -1)}),
        (ValueError, {"stage_arg": np.where(Z > 0.7, np.nan, Z)}),
        (ValueError, {"stage_arg": ours.BM3DStages.WIENER_FILTERING}),
        (TypeError, {"stage_arg": "all"}),
    ],
)
def test_bad_arguments_are_refused(kind, arguments):
    with pytest.raises(kind):
        ours.bm3d(**{"z": Z, "sigma_psd": 0.1, **arguments})


def test_colour_needs_three_channels():
    for z in (Z, Z[..., None], np.stack([Z] * 4, -1)):
        with pytest.raises(ValueError, match="three"):
            ours.bm3d_rgb(z, 0.1)
    with pytest.raises(ValueError, match="colorspace"):
        ours.bm3d_rgb(np.stack([Z] * 3, -1), 0.1, colorspace="xyz")


@pytest.fixture(scope="module")
def theirs():
    # The package calls a function that NumPy 2.4 no longer has.
    if not hasattr(np, "trapz"):
        np.trapz = np.trapezoid
    return pytest.importorskip("bm3d")


def test_names_signatures_and_fields_are_theirs(theirs):
    import inspect

    for name in ("bm3d", "bm3d_rgb", "bm3d_deblurring"):
        mine, other = (inspect.signature(getattr(m, name)).parameters for m in (ours, theirs))
        assert list(mine) == list(other)
        for parameter in mine:
            same = str(mine[parameter].default) == str(other[parameter].default)
            assert same or isinstance(mine[parameter].default, ours.BM3DStages)
    names = [name for name in dir(theirs) if name.startswith("BM3DProfile")]
    assert sorted(names) == sorted(name for name in dir(ours) if name.startswith("BM3DProfile"))
    for name in names:
        other = getattr(theirs, name)()
        fields = [f for f in dir(other) if not f.startswith("_") and not callable(getattr(other, f))]
        assert {f: getattr(getattr(ours, name)(), f) for f in fields} == {f: getattr(other, f) for f in fields}
    assert {s.name: s.value for s in ours.BM3DStages} == {s.name: s.value for s in theirs.BM3DStages}


@pytest.mark.parametrize("arguments", [{"z": Z[0]}, {"z": Z[None, None]}, {"z": Z + 0j}, {"z": Z[:6, :6]},
                                       {"profile": "best"}, {"profile": None}, {"stage_arg": Z[:20]}])
def test_what_they_refuse_is_refused_alike(arguments, theirs):
    arguments = {"z": Z, "sigma_psd": 0.1, **arguments}
    with pytest.raises((TypeError, ValueError)) as other:
        theirs.bm3d(**arguments)
    with pytest.raises(other.type):
        ours.bm3d(**arguments)


def behind(theirs, scene, profile, cases):
    """How far we are behind them in dB, on average: single noisy pictures differ by a tenth either way."""
    named = getattr(theirs, type(ours.named(profile)).__name__)()
    differences = []
    for sigma, seed in cases:
        noisy = add(scene, sigma, seed)
        mine, other = ours.bm3d(noisy, sigma, profile), theirs.bm3d(noisy, sigma, named)
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        differences.append(psnr(scene, other) - psnr(scene, mine))
    return np.mean(differences)


def test_quality_is_theirs(theirs, scene):
    assert behind(theirs, scene, "np", [(0.05, 0), (0.1, 0), (0.2, 0)]) < 0.05


def test_pilots_count_as_theirs_do(theirs, scene):
    behind = []
    for seed in range(3):
        noisy = add(scene, 0.1, seed)
        # Of one that both get. (With the truth itself they are 0.6 dB ahead: their pass 2 believes it more.)
        pilot = ours.bm3d(noisy, 0.1, "lc", stage_arg=ours.BM3DStages.HARD_THRESHOLDING)
        mine, other = (m.bm3d(noisy, 0.1, stage_arg=pilot) for m in (ours, theirs))
        behind.append(psnr(scene, other) - psnr(scene, mine))
    assert np.mean(behind) < 0.1


def test_deblurring_is_as_good_as_theirs(theirs, scene):
    y, x = np.mgrid[-7:8, -7:8]
    behind = []
    for kernel in (1 / (1 + x**2 + y**2), np.exp(-(x**2 + y**2) / 5), np.ones((9, 9))):
        kernel = kernel / kernel.sum()
        z = blurred(scene, kernel, 0.01)
        # As it is, theirs takes pictures with an axis for one channel only.
        mine, other = (m.bm3d_deblurring(z[..., None], 0.01, kernel) for m in (ours, theirs))
        assert mine.shape == other.shape
        behind.append(psnr(scene, other) - psnr(scene, mine))
    assert np.mean(behind) < 0.05 and max(behind) < 0.3


@slow
@pytest.mark.parametrize("profile", PROFILES)
def test_quality_is_theirs_with_every_profile(profile, theirs, scene):
    assert behind(theirs, scene, profile, [(sigma, seed) for sigma in (0.05, 0.1, 0.2) for seed in (1, 2)]) < 0.15


@slow
def test_quality_is_theirs_in_colour_and_with_a_spectrum(theirs, scene):
    clean = np.stack([scene, 0.8 * scene, 1 - scene], axis=-1)
    noisy = add(clean, 0.1)
    for space in ("opp", "YCbCr"):
        mine, other = (m.bm3d_rgb(noisy, 0.1, colorspace=space) for m in (ours, theirs))
        assert psnr(clean, mine) > psnr(clean, other) - 0.05, space
    several = np.stack([add(scene, 0.1, 1), add(scene, 0.1, 2)], axis=-1)
    mine, other = (m.bm3d(several, 0.1) for m in (ours, theirs))
    assert psnr(scene[..., None], mine) > psnr(scene[..., None], other) - 0.05
    # They have tables of parameters for correlated noise; ours are a formula.
    noisy, spectrum = striped(scene)
    assert psnr(scene, ours.bm3d(noisy, spectrum)) > psnr(scene, theirs.bm3d(noisy, spectrum)) - 0.35

"""What comes out of the filters."""

import numpy as np
import pytest

import quell

FILTERS = [quell.bm3d, quell.ridge, quell.nlm, quell.isoline]


@pytest.mark.parametrize("filter", FILTERS)
def test_every_method_removes_noise(filter, clean, noisy):
    result = filter(noisy, 0.1)
    assert result.dtype == np.float32 and result.shape == noisy.shape
    assert quell.psnr(clean, result) > quell.psnr(clean, noisy) + 5


@pytest.mark.parametrize("filter", FILTERS)
def test_colour_is_filtered_wherever_its_axis_is(filter, rgb):
    last = filter(rgb, 0.1, channel_axis=-1, profile="fast")
    first = filter(np.moveaxis(rgb, -1, 0), 0.1, channel_axis=0, profile="fast")
    middle = filter(np.moveaxis(rgb, -1, 1), 0.1, channel_axis=1, profile="fast")
    assert np.array_equal(last, np.moveaxis(first, 0, -1)) and np.array_equal(last, np.moveaxis(middle, 1, -1))
    alone = filter(rgb[..., 0], 0.1, profile="fast")
    assert not np.array_equal(last[..., 0], alone) or filter is quell.isoline


TYPES = ["u1", "i1", "u2", "i2", ">u2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_comes_back_as_itself(dtype, noisy):
    dtype = np.dtype(dtype)
    white = 1.0 if dtype.kind == "f" else 100.0
    x = (np.clip(noisy, 0, 1) * white).astype(dtype)
    result = quell.bm3d(x, 0.1 * white, white=white, profile="fast")
    assert result.dtype == dtype and result.shape == x.shape
    wanted = quell.bm3d(x.astype(np.float32), 0.1 * white, white=white, profile="fast")
    slack = 0.51 if dtype.kind in "ui" else 2e-3
    assert np.abs(result.astype(np.float64) - np.clip(wanted, 0, None)).max() <= slack


def test_integers_are_rounded_and_clipped():
    x = np.random.default_rng(0).integers(245, 256, (64, 64)).astype(np.uint8)
    assert quell.bm3d(x, 20, profile="fast").max() <= 255
    x = np.full((32, 32), -32768, np.int16)
    assert (quell.bm3d(x, 100, white=32767, profile="fast") == -32768).all()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::2, ::2],
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x.T,
        lambda x: x[5:60, 7:90],
        lambda x: np.asfortranarray(x),
        lambda x: np.broadcast_to(x[:1], x.shape),
    ],
)
def test_views_give_what_copies_give(view, noisy):
    x = view(noisy)
    assert np.array_equal(quell.bm3d(x, 0.1, profile="fast"), quell.bm3d(x.copy(), 0.1, profile="fast"))


def test_misaligned_arrays_are_copied(noisy):
    raw = np.zeros(noisy.nbytes + 1, np.uint8)
    x = raw[1:].view(np.float32).reshape(noisy.shape)
    x[...] = noisy
    assert not x.flags.aligned
    assert np.array_equal(quell.bm3d(x, 0.1, profile="fast"), quell.bm3d(noisy, 0.1, profile="fast"))


def test_memory_maps_are_read_and_not_written(tmp_path, noisy):
    np.save(tmp_path / "x.npy", noisy)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    result = quell.bm3d(x, 0.1, profile="fast")
    assert type(result) is np.ndarray and np.array_equal(result, quell.bm3d(noisy, 0.1, profile="fast"))


def test_pictures_of_a_batch_are_filtered_on_their_own(noisy, rgb):
    batch = np.stack([noisy, noisy[::-1], noisy[:, ::-1]])
    result = quell.bm3d(batch, 0.1, profile="fast")
    for one, alone in zip(result, batch, strict=True):
        assert np.array_equal(one, quell.bm3d(alone, 0.1, profile="fast"))
    nchw = np.moveaxis(np.stack([rgb, rgb[::-1]]), -1, 1)
    result = quell.bm3d(nchw, 0.1, profile="fast", channel_axis=1)
    assert np.array_equal(result[1], quell.bm3d(nchw[1], 0.1, profile="fast", channel_axis=0))


def test_sigma_may_be_one_for_every_picture(noisy):
    batch = np.stack([noisy, noisy])
    weak, strong = quell.bm3d(batch, [0.05, 0.2], profile="fast")
    assert np.array_equal(weak, quell.bm3d(noisy, 0.05, profile="fast"))
    assert np.array_equal(strong, quell.bm3d(noisy, 0.2, profile="fast"))
    nested = quell.bm3d(batch[None], [[0.05, 0.2]], profile="fast")
    assert np.array_equal(nested[0, 1], strong)


def test_sigma_may_be_one_for_every_channel(rgb):
    same = quell.bm3d(rgb, [0.1, 0.1, 0.1], channel_axis=-1, profile="fast")
    assert np.array_equal(same, quell.bm3d(rgb, 0.1, channel_axis=-1, profile="fast"))
    other = quell.bm3d(rgb, [0.02, 0.1, 0.3], channel_axis=-1, profile="fast")
    assert not np.array_equal(same, other)
    both = quell.bm3d(np.stack([rgb, rgb]), [[0.1] * 3, [0.02, 0.1, 0.3]], channel_axis=-1, profile="fast")
    assert np.array_equal(both[0], same) and np.array_equal(both[1], other)


def test_other_numbers_of_channels_are_grey_pictures(noisy):
    x = np.stack([noisy, noisy[::-1]], axis=-1)
    result = quell.bm3d(x, [0.1, 0.2], channel_axis=-1, profile="fast")
    assert np.array_equal(result[..., 1], quell.bm3d(noisy[::-1], 0.2, profile="fast"))


def test_noise_is_estimated_if_it_is_not_given(clean, noisy):
    assert quell.psnr(clean, quell.bm3d(noisy)) > quell.psnr(clean, noisy) + 5
    flat = np.full((64, 64), 0.5, np.float32)
    assert np.array_equal(quell.bm3d(flat), flat)


def test_units_do_not_matter(noisy):
    small = quell.bm3d(noisy, 0.1, profile="fast")
    large = quell.bm3d(noisy * 1000, 100, white=1000, profile="fast")
    assert np.abs(small - large / 1000).max() < 1e-4


def test_floats_that_are_bytes_are_warned_of(noisy):
    with pytest.warns(UserWarning, match="white=255"):
        quell.bm3d(noisy * 200, 25.0, profile="fast")


def test_the_result_goes_where_it_is_wanted(noisy):
    wanted = quell.bm3d(noisy, 0.1, profile="fast")
    out = np.empty_like(noisy)
    assert quell.bm3d(noisy, 0.1, profile="fast", out=out) is out and np.array_equal(out, wanted)
    x = noisy.copy()
    assert quell.bm3d(x, 0.1, profile="fast", out=x) is x and np.array_equal(x, wanted)
    column = np.empty((*noisy.shape, 2), np.float32)
    quell.bm3d(noisy, 0.1, profile="fast", out=column[..., 1])
    assert np.array_equal(column[..., 1], wanted)
    for dtype in (np.float64, np.dtype(">u2")):
        x = (np.clip(noisy, 0, 1) * 255).astype(dtype)
        out = np.empty_like(x)
        assert quell.bm3d(x, 25, white=255, profile="fast", out=out) is out
        assert np.array_equal(out, quell.bm3d(x, 25, white=255, profile="fast"))


def test_threads_change_nothing(noisy):
    assert np.array_equal(quell.bm3d(noisy, 0.1, threads=1), quell.bm3d(noisy, 0.1, threads=3))


def test_what_is_mixed_in_counts(rgb):
    plain = quell.bm3d(rgb, 0.1, channel_axis=-1, profile="fast")
    for options in ({"strength": 2}, {"luma": 0.5}, {"chroma": 2}, {"detail": 0.5}, {"grain": 0.5}, {"hard_step": 4}, {"lambda_": 4}):
        assert not np.array_equal(quell.bm3d(rgb, 0.1, channel_axis=-1, profile="fast", **options), plain), options


def test_correlated_noise_is_known(noisy):
    height, width = noisy.shape
    white = np.full(noisy.shape, height * width * 0.1**2)
    known = quell.bm3d(noisy, noise_psd=white, profile="fast")
    assert np.abs(known - quell.bm3d(noisy, 0.1, profile="fast")).max() < 0.02
    low = np.zeros(noisy.shape)
    low[:, :4] = height * width * 0.01
    assert not np.array_equal(known, quell.bm3d(noisy, noise_psd=low, profile="fast"))
    assert quell.nlm(noisy, 0.1, noise_psd="auto", profile="fast").shape == noisy.shape


def test_several_threads_get_the_same(noisy):
    from concurrent.futures import ThreadPoolExecutor

    denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1)
    wanted = denoiser(noisy)
    with ThreadPoolExecutor(8) as threads:
        assert all(np.array_equal(r, wanted) for r in threads.map(denoiser, [noisy] * 24))

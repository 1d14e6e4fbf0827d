"""Arrays of JAX and torch on the processor, where these are installed: in as they are, and out as what they were."""

import numpy as np
import pytest

import quell


@pytest.fixture(params=["jax", "torch"])
def library(request):
    """How an array of the library is made, and what its type is."""
    if request.param == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_platforms", "cpu")
        return jax.numpy.asarray, jax.Array
    torch = pytest.importorskip("torch")
    return torch.from_numpy, torch.Tensor


@pytest.mark.parametrize("method", ["bm3d", "nlm", "isoline"])
def test_arrays_come_back_as_what_they_were(library, method, noisy):
    make, kind = library
    result = quell.denoise(make(noisy.copy()), 0.1, method=method, profile="fast", device="cpu")
    assert isinstance(result, kind)
    assert np.array_equal(np.asarray(result), quell.denoise(noisy, 0.1, method=method, profile="fast", device="cpu"))


def test_batches_have_a_sigma_for_each(library, rgb):
    make, kind = library
    stack = np.stack([rgb, rgb[::-1]]).transpose(0, 3, 1, 2).copy()
    levels = np.array([0.05, 0.15], np.float32)
    result = quell.bm3d(make(stack), make(levels), channel_axis=1, profile="fast", device="cpu")
    assert isinstance(result, kind)
    assert np.array_equal(np.asarray(result), quell.bm3d(stack, levels, channel_axis=1, profile="fast", device="cpu"))


def test_types_and_views(library, noisy):
    make, kind = library
    for x in ((noisy * 200).clip(0, 255).astype(np.uint8), noisy.astype(np.float16)):
        given = make(x)[4:60, ::2]
        result = quell.bm3d(given, 20 if x.dtype == np.uint8 else 0.1, profile="fast", device="cpu")
        assert isinstance(result, kind) and np.asarray(result).dtype == x.dtype and result.shape == (56, 48)


def test_around_the_filters(library, noisy, clean):
    make, _ = library
    assert quell.estimate_sigma(make(noisy.copy())) == quell.estimate_sigma(noisy)
    assert quell.psnr(make(clean.copy()), make(noisy.copy())) == quell.psnr(clean, noisy)
    denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1, undo_clipping=False, device="cpu")
    assert np.array_equal(np.asarray(denoiser.refine(make(noisy.copy()), make(clean.copy()))), denoiser.refine(noisy, clean))


def test_a_tensor_with_a_gradient_is_refused_by_torch(noisy):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(noisy.copy()).requires_grad_()
    with pytest.raises((BufferError, RuntimeError), match="(?i)grad"):
        quell.bm3d(x, 0.1)
    assert quell.bm3d(x.detach(), 0.1, profile="fast", device="cpu").shape == x.shape


def test_out_is_numpys(library, noisy):
    make, _ = library
    out = np.empty_like(noisy)
    assert quell.bm3d(make(noisy.copy()), 0.1, profile="fast", device="cpu", out=out) is out
    with pytest.raises(TypeError, match="out"):
        quell.bm3d(noisy, 0.1, out=make(noisy.copy()))

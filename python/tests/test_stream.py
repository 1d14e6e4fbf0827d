"""Video."""

import numpy as np
import pytest

import quell

RNG = np.random.default_rng(4)


def clip(shape, frames=5, white=255, dtype=np.uint8):
    noisy = RNG.normal(0.5, 0.05, (frames, *shape)) * white
    return np.clip(noisy, 0, white).astype(dtype)


@pytest.mark.parametrize("method", ["bm3d", "nlm", "isoline", "classic"])
@pytest.mark.parametrize("shape", [(40, 48), (40, 48, 3)])
def test_as_many_frames_come_out_as_go_in(method, shape):
    noisy = clip(shape)
    stream = quell.Denoiser(method, sigma=12.75).stream()
    clean = list(stream.frames(noisy))
    assert len(clean) == 5 and all(f.shape == shape and f.dtype == np.uint8 for f in clean)
    assert np.std(clean[2].astype(float)) < 0.7 * np.std(noisy[2].astype(float))


@pytest.mark.parametrize(("cw", "ch"), [(24, 20), (24, 40), (48, 40)])
def test_chroma_keeps_its_size(cw, ch):
    frames = [(clip((40, 48))[0], clip((ch, cw))[0], clip((ch, cw))[0]) for _ in range(3)]
    clean = list(quell.Denoiser("nlm", "fast", sigma=12.75, past=1, future=0).stream().frames(frames))
    assert [tuple(p.shape for p in f) for f in clean] == [((40, 48), (ch, cw), (ch, cw))] * 3


def test_frames_come_as_late_as_the_method_looks_ahead():
    stream = quell.Denoiser("nlm", "fast", sigma=12.75, past=2, future=2).stream()
    due = [stream.push(frame) is not None for frame in clip((32, 32))]
    assert due == [False, False, True, True, True] and stream.latency == 2
    assert len(stream.flush()) == 2 and stream.flush() == []


def test_ten_bits_and_floats_have_their_white():
    for options, dtype, white in (({"bits": 10}, np.uint16, 1023), ({}, np.float32, 1.0)):
        stream = quell.Denoiser("bm3d", "fast", sigma=0.05 * white).stream(**options)
        clean = list(stream.frames(clip((32, 40), 3, white, dtype)))
        assert clean[0].dtype == dtype and clean[0].max() <= 1.2 * white
        assert stream.sigma == pytest.approx([0.05 * white], rel=1e-5)


def test_noise_is_estimated_from_the_frames():
    stream = quell.Denoiser("nlm", "fast").stream()
    list(stream.frames(clip((96, 96))))
    assert stream.sigma[0] == pytest.approx(12.75, rel=0.2)


@pytest.mark.parametrize(
    ("frame", "error", "text"),
    [
        (np.zeros((8, 8), np.float64), TypeError, "frame: samples are float64"),
        (np.zeros((8, 8, 4), np.uint8), ValueError, "frame: shape (8, 8, 4)"),
        (np.zeros((0, 8), np.uint8), ValueError, "frame: is empty"),
        ((np.zeros((8, 8), np.uint8),) * 2, ValueError, "frame: planes"),
        ((np.zeros((8, 8), np.uint8), np.zeros((3, 3), np.uint8), np.zeros((3, 3), np.uint8)), ValueError, "4:2:0"),
    ],
)
def test_wrong_frames_are_named(frame, error, text):
    with pytest.raises(error) as caught:
        quell.Denoiser("nlm", "fast", sigma=5).stream().push(frame)
    assert text in str(caught.value)


def test_a_frame_of_another_size_is_refused():
    stream = quell.Denoiser("nlm", "fast", sigma=5).stream()
    stream.push(np.zeros((16, 16), np.uint8))
    with pytest.raises(ValueError, match="16 x 16"):
        stream.push(np.zeros((16, 17), np.uint8))
    with pytest.raises(ValueError, match="frame: is RGB"):
        stream.push(np.zeros((16, 16, 3), np.uint8))

"""Denoisers that are kept."""

import multiprocessing
import pickle

import numpy as np
import pytest

import quell


def test_what_was_said_once_counts_until_something_else_is_said(noisy, rgb):
    denoiser = quell.Denoiser("nlm", "fast", sigma=0.1)
    assert np.array_equal(denoiser(noisy), quell.nlm(noisy, 0.1, profile="fast"))
    assert np.array_equal(denoiser(noisy, 0.2), quell.nlm(noisy, 0.2, profile="fast"))
    assert np.array_equal(denoiser(noisy, None), quell.nlm(noisy, profile="fast"))
    colour = quell.Denoiser("nlm", "fast", sigma=0.1, channel_axis=-1)
    assert np.array_equal(colour(rgb), quell.nlm(rgb, 0.1, profile="fast", channel_axis=-1))


def test_it_can_be_pickled(noisy):
    for sigma in (0.1, None, quell.noise_model("poisson", gain=0.02, white=1)):
        denoiser = quell.Denoiser("bm3d", "fast", sigma=sigma, hard_step=4, threads=1)
        again = pickle.loads(pickle.dumps(denoiser))
        assert repr(again) == repr(denoiser) and np.array_equal(again(noisy), denoiser(noisy))


def test_it_tells_of_itself():
    denoiser = quell.Denoiser("bm3d", sigma=25, white=255, hard_step=4, device="cpu")
    assert (denoiser.method, denoiser.profile, denoiser.device) == ("bm3d", "normal", "cpu")
    assert denoiser.params["hard.step"] == "4" and "wiener.step" in denoiser.params
    assert 8 <= denoiser.halo <= 200
    # Noise of a fifth of white, of floats and of bytes.
    floats, bytes_ = quell.Denoiser("bm3d", "np", sigma=0.2), quell.Denoiser("bm3d", "np", sigma=51, white=255)
    assert (floats.params, floats.halo) == (bytes_.params, bytes_.halo)
    assert repr(denoiser) == "Denoiser('bm3d', 'normal', sigma=25, hard_step=4, device='cpu')"
    for method in ("ridge", "nlm", "isoline", "classic"):
        assert quell.Denoiser(method).halo > 0


@pytest.mark.parametrize("method", ["bm3d", "ridge", "nlm", "isoline", "classic"])
def test_parts_in_any_order_are_the_whole(method, noisy):
    denoiser = quell.Denoiser(method, sigma=0.1, undo_clipping=False, device="cpu")
    tall = np.concatenate([noisy] * 12)[:931, :64]
    whole, result = denoiser(tall), np.zeros_like(tall)
    parts = denoiser.parts(tall.shape, 233)
    assert [p.first for p in parts] == [0, 233, 466, 699] and parts[-1].last == 931
    if method != "ridge":
        assert all(p.read.stop - p.read.start < 931 for p in parts)
    for part in reversed(parts):
        result[part.write] = pickle.loads(pickle.dumps(denoiser)).run_part(tall[part.read], part)
    assert np.abs(result - whole).max() < (1e-30 if method == "bm3d" else 1e-5)


def test_parts_have_channels_pictures_and_types(rgb):
    for method, sigma in (("bm3d", [0.1, 0.05, 0.1]), ("nlm", [0.1, 0.05, 0.1]), ("nlm", 0.1)):
        stack = np.concatenate([np.stack([rgb, rgb[::-1]])] * 8, axis=1).astype(np.float64)
        options = {"sigma": np.reshape(sigma, (1, -1)), "channel_axis": -1, "undo_clipping": False, "device": "cpu"}
        denoiser = quell.Denoiser(method, "fast", **options)
        made = [denoiser.run_part(stack[:, p.read], p) for p in denoiser.parts(stack.shape, 200)]
        result = np.concatenate(made, axis=1)
        assert result.dtype == np.float64 and np.abs(result - denoiser(stack)).max() < 1e-5


def test_parts_that_cannot_be_are_refused(noisy):
    denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1, undo_clipping=False)
    part = denoiser.parts((800, 96), 200)[1]
    with pytest.raises(ValueError, match="rows"):
        denoiser.run_part(noisy, part)
    with pytest.raises(ValueError, match="undo_clipping"):
        quell.Denoiser("bm3d", "fast", sigma=0.1).run_part(noisy, part)
    with pytest.raises(ValueError, match="sigma"):
        quell.Denoiser("bm3d", "fast", undo_clipping=False).run_part(noisy, part)
    spectral = quell.Denoiser("bm3d", "fast", sigma=0.1, noise_psd="auto", undo_clipping=False)
    with pytest.raises(NotImplementedError, match="noise_psd"):
        spectral.run_part(noisy, part)
    for shape, rows in (((0, 9), 5), ((90, 90), 0), ((90,), 5), ((4, 90), 2)):
        with pytest.raises((ValueError, TypeError)):
            denoiser.parts(shape, rows)
    assert denoiser.parts((9, 90), 100)[0].read == slice(0, 9)


def test_a_pilot_takes_the_place_of_pass_1(clean, rgb):
    noisy = (np.clip(clean + np.random.default_rng(3).normal(0, 0.1, clean.shape), 0, 1) * 255).astype(np.uint8)
    denoiser = quell.Denoiser("bm3d", sigma=25.5, undo_clipping=False, device="cpu")
    result = denoiser.refine(noisy, clean * 255)
    assert result.dtype == np.uint8 and result.shape == noisy.shape
    assert quell.psnr(clean, result / 255.0, white=1) > quell.psnr(clean, denoiser(noisy) / 255.0, white=1) + 1
    colour = quell.Denoiser("bm3d", "fast", sigma=0.1, channel_axis=-1, device="cpu")
    basic = quell.bm3d(rgb, 0.1, profile="fast", passes=1, channel_axis=-1, undo_clipping=False, device="cpu")
    seen = []
    stack = colour.refine(np.stack([rgb, rgb]), np.stack([basic, rgb * 0]), [0.1, 0.2], progress=seen.append)
    whole = quell.bm3d(rgb, 0.1, profile="fast", channel_axis=-1, undo_clipping=False, device="cpu")
    assert np.abs(stack[0] - whole).max() < 1e-3 and not np.array_equal(stack[0], stack[1]) and seen[-1] == 1


def test_pilots_that_cannot_be_are_refused(noisy):
    denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1)
    photons = quell.noise_model("poisson", gain=0.02, white=1)
    for kind, says, work in [
        (NotImplementedError, "nlm", lambda: quell.Denoiser("nlm", sigma=0.1).refine(noisy, noisy)),
        (NotImplementedError, "pass 2", lambda: quell.Denoiser("bm3d", sigma=0.1, passes=1).refine(noisy, noisy)),
        (NotImplementedError, "everywhere", lambda: denoiser.refine(noisy, noisy, photons)),
        (ValueError, "pilot", lambda: denoiser.refine(noisy, noisy[1:])),
        (ValueError, "sigma", lambda: denoiser.refine(noisy, noisy, None)),
        (ValueError, "pilot", lambda: denoiser.refine(noisy, np.full_like(noisy, np.nan))),
    ]:
        with pytest.raises(kind, match=says):
            work()


def test_progress_is_told(noisy):
    seen = []
    quell.bm3d(np.stack([np.tile(noisy, (4, 4))] * 2), 0.1, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1 and 0.5 in seen


def test_an_exception_of_progress_ends_the_work(noisy):
    def stop(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        quell.ridge(np.tile(noisy, (4, 4)), 0.1, progress=stop)


def test_progress_true_shows_something(noisy, capsys):
    quell.bm3d(noisy, 0.1, profile="fast", progress=True)
    assert "quell" in capsys.readouterr().err


def test_devices_are_listed():
    cpu = quell.devices()[-1]
    assert (cpu.name, cpu.kind, cpu.usable, cpu.problem) == ("cpu", "cpu", True, None) and cpu.units >= 1


def _child(queue, x):
    queue.put(quell.bm3d(x, profile="fast"))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_goes_on_on_the_processor(noisy):
    wanted = quell.bm3d(noisy, profile="fast")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue, noisy))
    child.start()
    result = queue.get(timeout=60)
    child.join(60)
    assert np.array_equal(result, wanted)

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
    assert denoiser.margin >= denoiser.halo and denoiser.grid % 4 == 0
    # Noise of a fifth of white, of floats and of bytes.
    floats, bytes_ = quell.Denoiser("bm3d", "np", sigma=0.2), quell.Denoiser("bm3d", "np", sigma=51, white=255)
    assert (floats.params, floats.halo) == (bytes_.params, bytes_.halo)
    assert repr(denoiser) == "Denoiser('bm3d', 'normal', sigma=25, hard_step=4, device='cpu')"
    for method in ("ridge", "nlm", "isoline", "classic"):
        assert quell.Denoiser(method).halo > 0


@pytest.mark.parametrize("method", ["bm3d", "nlm", "isoline"])
def test_a_part_with_its_halo_is_the_part_of_the_whole(method, noisy):
    denoiser = quell.Denoiser(method, "fast", sigma=0.1, undo_clipping=False)
    tall = np.concatenate([noisy] * 4)
    first = 160 // denoiser.grid * denoiser.grid
    top = max(0, first - denoiser.margin) // denoiser.grid * denoiser.grid
    part = denoiser(tall[top : first + 40 + denoiser.margin])[first - top : first - top + 40]
    assert np.abs(part - denoiser(tall)[first : first + 40]).max() < 1e-4


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

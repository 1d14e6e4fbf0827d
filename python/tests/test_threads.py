"""Eight threads of Python at once: results are right, and nobody holds the interpreter while filtering."""

import sys
import sysconfig
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import quell

PICTURES = [np.random.default_rng(i).normal(0.5, 0.1, (160, 176)).astype(np.float32) for i in range(8)]


def all_at_once(work, count=8):
    """Calls `work` for every number, each in a thread of its own, all beginning together."""
    barrier = threading.Barrier(count)

    def one(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_the_interpreter_stays_free_threaded():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a lock")
    # Importing a module that does not say that it is safe would take the lock back.
    assert not sys._is_gil_enabled()


@pytest.mark.parametrize("shared", [True, False])
def test_threads_get_their_own_results(shared):
    options = {"sigma": 0.1, "device": "cpu", "threads": 1}
    denoiser = quell.Denoiser("bm3d", "fast", **options)
    wanted = [denoiser(picture) for picture in PICTURES]
    for _ in range(3):
        results = all_at_once(lambda i: (denoiser if shared else quell.Denoiser("bm3d", "fast", **options))(PICTURES[i]))
        assert all(np.array_equal(a, b) for a, b in zip(results, wanted, strict=True))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted as Linux shows them")
@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_calls_at_the_same_time_do_not_share_threads(device):
    denoiser = quell.Denoiser("bm3d", sigma=0.1, device=device, threads=1)
    if denoiser.device != "cpu":
        pytest.skip("there is a GPU")
    for _ in range(3):
        all_at_once(lambda i: denoiser(PICTURES[i]))
    names = [task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")]
    assert names.count("quell-0") >= 4


def test_everything_at_once():
    """Methods, estimates, streams, models and errors beside each other."""
    def work(i):
        x = PICTURES[i]
        match i % 4:
            case 0:
                return quell.nlm(x, 0.1, profile="fast", device="cpu")
            case 1:
                return np.float32(quell.estimate_noise(x).sigma)
            case 2:
                stream = quell.Denoiser("isoline", "fast", sigma=0.1, device="cpu").stream()
                return np.stack([f for f in stream.frames([x, x, x])])
            case _:
                with pytest.raises(ValueError, match="sigma"):
                    quell.bm3d(x, -1)
                return quell.noise_model(sigma=0.1, white=1).to_toml()

    wanted = [work(i) for i in range(8)]
    for _ in range(2):
        assert all(np.array_equal(a, b) for a, b in zip(all_at_once(work), wanted, strict=True))


def test_other_threads_go_on_meanwhile(capsys):
    """How much faster eight threads are than one depends on who else uses the machine: it is printed, and what is tested is
    that a thread of plain Python gets on while pictures are filtered."""
    denoiser = quell.Denoiser("bm3d", sigma=0.1, device="cpu", threads=1)
    all_at_once(lambda i: denoiser(PICTURES[i]))
    since = time.perf_counter()
    for picture in PICTURES:
        denoiser(picture)
    one_by_one = time.perf_counter() - since
    counted, ends = [0], threading.Event()

    def count():
        while not ends.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    since = time.perf_counter()
    all_at_once(lambda i: denoiser(PICTURES[i]))
    at_once = time.perf_counter() - since
    ends.set()
    counter.join()
    with capsys.disabled():
        print(f"\n8 pictures in 8 threads: {one_by_one / at_once:.2f} times as fast as in one")
    # Were the interpreter held, the counter would get on between pictures only.
    assert counted[0] > 30

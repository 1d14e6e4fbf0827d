"""Dask arrays, here and on a cluster of two processes."""

import os
import signal
import time

import numpy as np
import pytest

import quell

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
qd = pytest.importorskip("quell.dask")


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def tall():
    """A picture of 1000 rows; its noise differs from place to place, as bands must not."""
    y, x = np.mgrid[0:1000, 0:160]
    picture = 120 + 50 * np.sin(x / 9) * np.cos(y / 23) + 40 * ((x + y) // 16 % 2)
    return np.clip(picture + np.random.default_rng(0).normal(0, 20, picture.shape), 0, 255).astype(np.uint8)


def whole(x, sigma, **options):
    return quell.denoise(x, sigma, undo_clipping=False, device="cpu", **options)


@pytest.mark.parametrize("profile", ["fast", "middle", "normal", "high", "np", "lc", "vn"])
def test_bands_are_the_whole_bit_by_bit(profile, tall):
    x = tall if profile in ("fast", "middle") else tall[:700, :64]
    floats = x.astype(np.float32) / 255
    array = da.from_array(floats, chunks=(190, 50))
    result = qd.denoise(array, 0.08, profile=profile, rows=230, device="cpu")
    assert result.dtype == np.float32 and result.shape == x.shape and len(result.chunks[0]) > 2
    assert np.array_equal(result.compute(), whole(floats, 0.08, profile=profile))


@pytest.mark.parametrize("height", [199, 433, 501, 998])
@pytest.mark.parametrize("rows", [97, 200])
def test_bands_may_end_anywhere(height, rows, tall):
    x = tall[:height]
    result = qd.denoise(da.from_array(x), 20, profile="fast", rows=rows, device="cpu")
    assert np.array_equal(result.compute(), whole(x, 20, profile="fast"))


@pytest.mark.parametrize("method", ["nlm", "isoline"])
def test_other_methods_differ_by_rounding_at_most(method, tall):
    floats = tall.astype(np.float32) / 255
    result = qd.denoise(da.from_array(floats, chunks=300), 0.08, method=method, profile="fast", rows=250, device="cpu")
    assert np.abs(result.compute() - whole(floats, 0.08, method=method, profile="fast")).max() < 1e-5


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_colours_stay_together(axis, tall):
    rgb = np.stack([tall, tall[::-1], 255 - tall], axis=axis)[: 400 if axis else None]
    array = da.from_array(rgb, chunks=tuple(1 if n == 3 else 150 for n in rgb.shape))
    result = qd.denoise(array, [20, 25, 20], channel_axis=axis, profile="fast", rows=180, device="cpu")
    assert np.array_equal(result.compute(), whole(rgb, [20, 25, 20], channel_axis=axis, profile="fast"))


def test_pictures_of_a_stack_are_filtered_on_their_own(tall):
    stack = np.stack([tall[:300], tall[300:600], tall[600:900]])
    result = qd.denoise(da.from_array(stack, chunks=(2, 100, 100)), 20, profile="fast", rows=120, device="cpu")
    assert np.array_equal(result.compute(), whole(stack, 20, profile="fast"))


def test_noise_is_estimated_once(tall):
    result = qd.denoise(da.from_array(tall, chunks=200), profile="fast", rows=150, device="cpu")
    model = quell.estimate_noise(tall)
    assert np.array_equal(result.compute(), whole(tall, model, profile="fast"))
    flat = da.full((300, 300), 7, dtype=np.uint8)
    assert qd.denoise(flat) is flat


def test_bad_arguments_are_refused(tall):
    array = da.from_array(tall)
    for kind, arguments in [
        (TypeError, {"array": tall}),
        (ValueError, {"array": array[0]}),
        (ValueError, {"sigma": [1, 2]}),
        (ValueError, {"sigma": -1}),
        (ValueError, {"profile": "best"}),
        (TypeError, {"array": array.astype(complex)}),
        (ValueError, {"array": array.astype(np.int64)}),
        (NotImplementedError, {"noise_psd": np.ones(tall.shape)}),
    ]:
        with pytest.raises(kind):
            qd.denoise(**{"array": array, "sigma": 20, "profile": "fast", "device": "cpu", **arguments}).compute()


def test_workers_share_the_gpus_of_a_machine(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(qd, "_gpus", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, own in ((0, "cuda:0"), ("3", "cuda:1"), ("tcp://a:1", "cuda:1")):
        monkeypatch.setattr(distributed, "get_worker", lambda name=name: type("Worker", (), {"name": name}))
        assert qd._own_device("auto") in ("cuda:0", "cuda:1") and (name == "tcp://a:1" or qd._own_device("cuda") == own)
        assert qd._own_device("cpu") == "cpu" and qd._own_device("cuda:1") == "cuda:1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert qd._own_device("auto") == "auto"


@pytest.mark.filterwarnings("ignore")
def test_a_worker_may_die(tall):
    distributed = pytest.importorskip("distributed")
    stack = np.stack([np.roll(tall, 13 * i, axis=1) for i in range(16)])
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        distributed.Client(cluster) as client,
    ):
        result = qd.denoise(da.from_array(stack, chunks=(1, 500, 160)), 20, rows=250, device="cpu")
        future = client.compute(result)
        workers = cluster.workers
        time.sleep(1)
        victim = workers[0].pid
        os.kill(victim, signal.SIGKILL)
        assert np.array_equal(future.result(timeout=120), whole(stack, 20))
        assert victim not in [worker.pid for worker in cluster.workers.values() if worker.status.name == "running"]

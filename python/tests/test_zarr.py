"""Zarr stores: what comes out, and what a run that was killed leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import quell

zarr = pytest.importorskip("zarr")
qz = pytest.importorskip("quell.zarr")

# Stores of format 3 warn of codecs that are not in the specification yet.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OPTIONS = {"profile": "fast", "white": 4095, "device": "cpu"}


def pictures(*shape):
    y, x = np.mgrid[0 : shape[-2], 0 : shape[-1]]
    clean = 1500 + 600 * np.sin(x / 11) * np.cos(y / 17) + 300 * ((x + y) // 16 % 2)
    return np.clip(clean + np.random.default_rng(0).normal(0, 200, shape), 0, 4095).astype(np.uint16)


def whole(x, sigma):
    return quell.denoise(x, sigma, undo_clipping=False, **OPTIONS)


def files(folder):
    """Every file of a store and its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def pyramid(path, x, zarr_format):
    """An OME-Zarr picture of three levels."""
    scales = [[1.0] * (x.ndim - 2) + [2.0**i, 2.0**i] for i in range(3)]
    datasets = [
        {"path": f"s{i}", "coordinateTransformations": [{"type": "scale", "scale": scale}]} for i, scale in enumerate(scales)
    ]
    multiscales = [{"name": "cells", "axes": [{"name": n} for n in "tcyx"[-x.ndim :]], "datasets": datasets}]
    group = zarr.create_group(path, zarr_format=zarr_format)
    ome = {"version": "0.5", "multiscales": multiscales}
    group.attrs.update({"ome": ome} if zarr_format == 3 else {"multiscales": multiscales})
    for i in range(3):
        level = x[..., :: 2**i, :: 2**i]
        array = group.create_array(f"s{i}", shape=level.shape, dtype=x.dtype, chunks=(*[1] * (x.ndim - 2), 64, 64))
        array[...] = level
        array.attrs["level"] = i
    return group


def test_an_array_becomes_the_filtered_array(tmp_path):
    x = pictures(3, 500, 200)
    source = zarr.create_array(tmp_path / "raw", shape=x.shape, dtype=x.dtype, chunks=(2, 96, 64), attributes={"lens": 3})
    source[...] = x
    qz.denoise(tmp_path / "raw", tmp_path / "clean", 200, rows=200, **OPTIONS)
    clean = zarr.open_array(tmp_path / "clean")
    assert (clean.shape, clean.dtype, clean.chunks, dict(clean.attrs)) == (x.shape, x.dtype, (2, 96, 64), {"lens": 3})
    assert np.array_equal(clean[...], whole(x, 200))
    assert not (tmp_path / "clean.unfinished").exists()


def test_shards_are_written_once(tmp_path):
    x = pictures(300, 200)
    source = zarr.create_array(tmp_path / "raw", shape=x.shape, dtype=x.dtype, chunks=(50, 50), shards=(100, 100))
    source[...] = x
    qz.denoise(source, tmp_path / "clean", 200, rows=100, **OPTIONS)
    clean = zarr.open_array(tmp_path / "clean")
    assert clean.shards == (100, 100) and np.array_equal(clean[...], whole(x, 200))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_metadata_is_copied_and_the_pyramid_is_made_anew(zarr_format, tmp_path):
    x = pictures(2, 2, 301, 170)
    source = pyramid(tmp_path / "raw", x, zarr_format)
    qz.denoise(tmp_path / "raw", tmp_path / "clean", 200, rows=128, **OPTIONS)
    clean = zarr.open_group(tmp_path / "clean", mode="r")
    assert dict(clean.attrs) == dict(source.attrs) and clean.metadata.zarr_format == zarr_format
    levels = [clean[f"s{i}"] for i in range(3)]
    assert [dict(a.attrs) for a in levels] == [{"level": 0}, {"level": 1}, {"level": 2}]
    assert [a.shape for a in levels] == [source[f"s{i}"].shape for i in range(3)]
    full, half = levels[0][...], levels[1][...]
    assert np.array_equal(full, whole(x, 200))
    even = full[..., :300, :170].astype(float).reshape(2, 2, 150, 2, 85, 2).mean(axis=(3, 5))
    assert np.abs(half[..., :150, :85] - even).max() <= 0.5
    assert np.abs(half[..., 150, :85] - full[..., 300, :].reshape(2, 2, 85, 2).mean(axis=-1)).max() <= 0.5


def test_channels_and_noise_that_is_not_told(tmp_path):
    x = np.moveaxis(pictures(2, 3, 260, 130), 1, -1)
    zarr.create_array(tmp_path / "raw", data=x, chunks=(1, 100, 100, 3))
    qz.denoise(tmp_path / "raw", tmp_path / "clean", channel_axis=-1, rows=100, **OPTIONS)
    clean = zarr.open_array(tmp_path / "clean")[...]
    assert clean[0].astype(float).std() < x[0].astype(float).std() and clean.shape == x.shape


def test_without_noise_all_is_copied(tmp_path):
    x = np.full((200, 100), 9, np.uint16)
    zarr.create_array(tmp_path / "raw", data=x, chunks=(50, 50))
    qz.denoise(tmp_path / "raw", tmp_path / "clean")
    assert np.array_equal(zarr.open_array(tmp_path / "clean")[...], x)


def test_what_exists_is_kept(tmp_path):
    zarr.create_array(tmp_path / "raw", data=pictures(120, 100), chunks=(50, 50))
    qz.denoise(tmp_path / "raw", tmp_path / "clean", 200, **OPTIONS)
    before = files(tmp_path / "clean")
    with pytest.raises(FileExistsError, match="resume"):
        qz.denoise(tmp_path / "raw", tmp_path / "clean", 300, **OPTIONS)
    qz.denoise(tmp_path / "raw", tmp_path / "clean", 200, resume=True, **OPTIONS)
    assert files(tmp_path / "clean") == before


def test_groups_that_are_no_pictures_are_refused(tmp_path):
    zarr.create_group(tmp_path / "group").create_array("a", shape=(9, 9), dtype="u1")
    with pytest.raises(ValueError, match="multiscales"):
        qz.denoise(tmp_path / "group", tmp_path / "clean")
    source = pyramid(tmp_path / "odd", pictures(300, 200), 3)
    del source["s1"]
    source.create_array("s1", shape=(100, 67), dtype="u2")
    with pytest.raises(NotImplementedError, match="half"):
        qz.denoise(tmp_path / "odd", tmp_path / "clean")
    assert not (tmp_path / "clean").exists() and not (tmp_path / "clean.unfinished").exists()


@pytest.mark.parametrize("wrong", [{"profile": "best"}, {"sigma": -1}, {"hard_stepp": 3}, {"channel_axis": 5}, {"white": 0}])
def test_nothing_is_written_for_arguments_that_are_wrong(wrong, tmp_path):
    zarr.create_array(tmp_path / "raw", data=pictures(100, 90))
    with pytest.raises((TypeError, ValueError)):
        qz.denoise(tmp_path / "raw", tmp_path / "clean", **{"sigma": 200, **wrong})
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import quell.zarr
quell.zarr.denoise(sys.argv[1], sys.argv[2], rows=64, resume=True, white=4095, device="cpu", threads=1)
"""


def test_a_run_that_was_killed_goes_on(tmp_path):
    x = pictures(4, 400, 300)
    pyramid(tmp_path / "raw", x, 3)
    qz.denoise(tmp_path / "raw", tmp_path / "at-once", rows=64, white=4095, device="cpu")
    clean, record = tmp_path / "clean", tmp_path / "clean.unfinished"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "raw"), str(clean)]
    kills = 0
    for least in (6, 16):
        process = subprocess.Popen(command)
        while process.poll() is None:
            if record.exists() and len(record.read_text().splitlines()) > least:
                os.kill(process.pid, signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
                break
            time.sleep(0.002)
    assert kills == 2 and record.exists()
    # The last line may be cut off.
    record.write_text(record.read_text()[:-3])
    with pytest.raises(FileExistsError, match="resume"):
        qz.denoise(tmp_path / "raw", clean, white=4095, device="cpu")
    for other in ({"white": 65535, "rows": 64}, {"white": 4095, "rows": 128}, {"white": 4095, "rows": 64, "sigma": 9}):
        with pytest.raises(ValueError, match="other arguments"):
            qz.denoise(tmp_path / "raw", clean, resume=True, device="cpu", **other)
    subprocess.run(command, check=True)
    assert files(clean) == files(tmp_path / "at-once") and not record.exists()

"""How each peer is called.

A peer's `prepare` turns the noisy picture (float32, 0..255) into the peer's
own format and returns two functions: `call`, which is what gets timed, and
`finish`, which turns the result back into a float picture on 0..255.

Where a peer's strength is not a standard deviation, it is a factor times
sigma, found by search for the best PSNR at sigma 10, 25 and 50 (grey on
scikit-image's camera, RGB on its astronaut) and interpolated in between, so
that a win is a win.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

TUNED_SIGMA = (10.0, 25.0, 50.0)

# Factors of sigma at those three, by method and kind; several where a method takes several strengths.
TUNED = {
    "bm3dcpu-np": {
        "grey": ((1.25, 1.25, 1.33), (1.25, 1.33, 1.6)),
        "rgb": ((1.55, 1.55, 1.4), (1.4, 1.4, 1.8)),
    },
    "bm3dcpu-default": {
        "grey": ((1.1, 1.25, 1.5), (1.6, 1.6, 1.6)),
        "rgb": ((1.55, 1.55, 1.55), (1.6, 1.8, 2.0)),
    },
    "bm3dornl": {
        "grey": ((0.8, 0.8, 0.9),),
    },
    "opencv-nlm": {
        "grey": ((1.0, 0.92, 0.8),),
        "rgb": ((0.7, 0.8, 0.7), (0.45, 0.75, 0.6)),
    },
    # At sigma 10 it gives values that are not finite, whatever the strength.
    "nlm-ispc": {
        "grey": ((0.88, 0.88, 0.72),),
        "rgb": ((0.88, 0.88, 0.6),),
    },
    "skimage-nlm": {
        "grey": ((0.65, 0.65, 0.7),),
        "rgb": ((0.7, 0.6, 0.5),),
    },
}


@dataclass(frozen=True)
class Rival:
    title: str
    group: str
    # With TUNED, what decides the result besides picture and sigma: part of the cache key.
    settings: str
    prepare: Callable
    color: bool = True


def _strengths(name, noisy, sigma):
    kind = "rgb" if noisy.ndim == 3 else "grey"
    return [sigma * float(np.interp(sigma, TUNED_SIGMA, factors)) for factors in TUNED[name][kind]]


def _bm3d(profile_name):
    def prepare(noisy, sigma):
        import bm3d

        profile = {"np": bm3d.BM3DProfile, "lc": bm3d.BM3DProfileLC}[profile_name]()
        profile.num_threads = 1  # the default is all cores, whatever OMP_NUM_THREADS says
        scaled = noisy.astype(np.float64) / 255.0
        function = bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d
        return lambda: function(scaled, sigma / 255.0, profile=profile), lambda out: np.asarray(out) * 255.0

    return prepare


# Noise gain of the opponent planes (R+G+B)/3, (R-B)/2, (R-2G+B)/4.
_OPPONENT_GAIN = (3**-0.5, 2**-0.5, 0.375**0.5)


def _vapoursynth(noisy):
    """One thread, the picture as a clip of one frame, and how a frame becomes a picture again."""
    import vapoursynth as vs

    core = vs.core
    core.num_threads = 1
    color = noisy.ndim == 3
    planes = [noisy[..., c] for c in range(3)] if color else [noisy]
    height, width = planes[0].shape
    blank = core.std.BlankClip(format=vs.RGBS if color else vs.GRAYS, width=width, height=height, length=1)
    frame = blank.get_frame(0).copy()
    for index, plane in enumerate(planes):
        np.asarray(frame[index])[:] = plane / 255.0
    source = core.std.ModifyFrame(blank, blank, lambda n, f: frame)

    def finish(out):
        result = [np.array(out[index]) * 255.0 for index in range(len(planes))]
        return np.stack(result, axis=-1) if color else result[0]

    return core, source, finish


def _bm3dcpu(name, steps, search):
    def prepare(noisy, sigma):
        core, source, finish = _vapoursynth(noisy)
        color = noisy.ndim == 3
        first, second = _strengths(name, noisy, sigma)

        def call():
            # A new graph each time: VapourSynth would answer the same one from its cache.
            clip = core.bm3d.RGB2OPP(source, sample=1) if color else source
            gains = _OPPONENT_GAIN if color else (1.0,)
            common = {"bm_range": search, "chroma": int(color)}
            basic = core.bm3dcpu.BM3Dv2(clip, sigma=[first * g for g in gains], block_step=steps[0], **common)
            final = core.bm3dcpu.BM3Dv2(clip, ref=basic, sigma=[second * g for g in gains], block_step=steps[1], **common)
            if color:
                final = core.bm3d.OPP2RGB(final, sample=1)
            return final.get_frame(0)

        return call, finish

    return prepare


def _bm3dornl(noisy, sigma):
    import bm3dornl

    # Its strength is relative to the range of the picture.
    (strength,) = (s / float(noisy.max() - noisy.min()) for s in _strengths("bm3dornl", noisy, sigma))
    options = {"mode": "generic", "sigma_random": strength, "patch_size": 8,
               "step_size": 3, "search_window": 39, "max_matches": 16}
    return lambda: bm3dornl.bm3d_ring_artifact_removal(noisy, **options), np.asarray


def _opencv(noisy, sigma):
    import cv2

    cv2.setNumThreads(1)
    rounded = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)  # it takes 8-bit samples only
    strengths = _strengths("opencv-nlm", noisy, sigma)
    if noisy.ndim == 3:
        bgr = np.ascontiguousarray(rounded[..., ::-1])
        return lambda: cv2.fastNlMeansDenoisingColored(bgr, None, *strengths, 7, 21), lambda out: out[..., ::-1]
    return lambda: cv2.fastNlMeansDenoising(rounded, None, *strengths, 7, 21), np.asarray


def _nlm_ispc(noisy, sigma):
    core, source, finish = _vapoursynth(noisy)
    (h,) = _strengths("nlm-ispc", noisy, sigma)
    # A new graph each time: VapourSynth would answer the same one from its cache.
    call = lambda: core.nlm_ispc.NLMeans(source, d=0, a=10, s=3, h=h).get_frame(0)

    return call, finish


def _skimage(noisy, sigma):
    from skimage.restoration import denoise_nl_means

    color = noisy.ndim == 3
    (h,) = _strengths("skimage-nlm", noisy, sigma)
    scaled = noisy / np.float32(255.0)
    options = {"patch_size": 5, "patch_distance": 6, "h": h / 255.0, "sigma": sigma / 255.0,
               "fast_mode": True, "channel_axis": -1 if color else None}
    return lambda: denoise_nl_means(scaled, **options), lambda out: np.asarray(out) * 255.0


RIVALS = {
    "bm3d-np": Rival("bm3d 4.0.3, np", "bm3d", "4.0.3 np", _bm3d("np")),
    "bm3d-lc": Rival("bm3d 4.0.3, lc", "bm3d", "4.0.3 lc", _bm3d("lc")),
    "bm3dcpu-np": Rival(
        "BM3DCPU 2.17, np (step 4/3, range 16)", "vapoursynth", "2.17 4/3 16",
        _bm3dcpu("bm3dcpu-np", (4, 3), 16),
    ),
    "bm3dcpu-default": Rival(
        "BM3DCPU 2.17, default (step 8, range 9)", "vapoursynth", "2.17 8/8 9",
        _bm3dcpu("bm3dcpu-default", (8, 8), 9),
    ),
    "bm3dornl": Rival("bm3dornl 0.12.1, generic", "bm3dornl", "0.12.1 8 3 39 16", _bm3dornl, color=False),
    "nlm-ispc": Rival("NL-means ISPC 4.1, 7/21", "nlm-ispc", "4.1 a=10 s=3", _nlm_ispc),
    "opencv-nlm": Rival("OpenCV NL-means 7/21", "opencv", "7/21", _opencv),
    "skimage-nlm": Rival("scikit-image NL-means 5/6 fast", "base", "0.26.0 5/6 fast", _skimage),
}

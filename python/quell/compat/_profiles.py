"""The profiles of PyPI's `bm3d`: its names and numbers, and what they are here."""

from __future__ import annotations

from enum import Enum
from typing import Any


class BM3DStages(Enum):
    """Which passes to run."""

    HARD_THRESHOLDING = 1
    WIENER_FILTERING = 2
    ALL_STAGES = HARD_THRESHOLDING + WIENER_FILTERING


class BM3DProfile:
    """The normal profile, ``"np"``. Fields may be set; None lets quell choose."""

    filter_strength: float = 1
    """Filter as if there were so many times as much noise."""
    print_info = False
    transform_2d_ht_name = "bior1.5"
    transform_2d_wiener_name = "dct"
    transform_3rd_dim_name = "haar"
    nf = 32
    """0: variances as if patches did not overlap. Any other number: exact variances, in pass 1."""
    k = 4
    """As `nf`."""
    denoise_residual = False
    residual_thr: float = 3
    max_pad_size: Any = None
    gamma: float = 3.0
    bs_ht = 8
    step_ht = 3
    max_3d_size_ht = 16
    search_window_ht = 39
    tau_match: float = 3000
    lambda_thr3d: float | None = None
    mu2: float | None = None
    lambda_thr3d_re: float | None = None
    mu2_re: float | None = None
    beta: float = 2.0
    bs_wiener = 8
    step_wiener = 3
    max_3d_size_wiener = 32
    search_window_wiener = 39
    tau_match_wiener: float = 400
    beta_wiener: float = 2.0
    dec_level = 0
    sharpen_alpha: float = 1
    num_threads = 0


class BM3DProfileRefilter(BM3DProfile):
    """Filters what is left once more; not computed here."""

    denoise_residual = True


class BM3DProfileVN(BM3DProfile):
    """For strong noise."""

    max_3d_size_ht = 32
    step_ht = 4
    bs_wiener = 11
    step_wiener = 6
    lambda_thr3d: float | None = 2.8
    tau_match_wiener: float = 3500


class BM3DProfileVNOld(BM3DProfile):
    """For strong noise, as of 2007."""

    transform_2d_ht_name = "dct"
    bs_ht = 12
    step_ht = 4
    bs_wiener = 11
    step_wiener = 6
    lambda_thr3d: float | None = 2.8
    tau_match: float = 5000
    tau_match_wiener: float = 3500


class BM3DProfileLC(BM3DProfile):
    """Low complexity."""

    step_ht = 6
    search_window_ht = 25
    step_wiener = 5
    max_3d_size_wiener = 16
    search_window_wiener = 25


class BM3DProfileHigh(BM3DProfile):
    """A little better, slower."""

    dec_level = 1
    step_ht = 2
    step_wiener = 2
    lambda_thr3d: float | None = 2.5
    beta: float = 2.5
    beta_wiener: float = 1.5


class BM3DProfileDeb(BM3DProfile):
    """For the noise that deblurring leaves."""

    transform_2d_ht_name = "dst"
    lambda_thr3d: float | None = 2.9
    step_wiener = 2
    max_3d_size_wiener = 16
    tau_match_wiener: float = 800
    beta_wiener: float = 0


PROFILES = {
    "np": BM3DProfile,
    "refilter": BM3DProfileRefilter,
    "vn": BM3DProfileVN,
    "vn_old": BM3DProfileVNOld,
    "high": BM3DProfileHigh,
    "lc": BM3DProfileLC,
    "deb": BM3DProfileDeb,
}

_TRANSFORMS = {"bior1.5": "bior", "dct": "dct", "dst": "dst", "haar": "haar", "hadamard": "wht"}

# What None stands for, with variances exact or not.
_LAMBDA = {True: 2.75, False: 2.7}
_MU2 = {True: 0.7, False: 1.0}


def named(profile: str | Any) -> Any:
    """The profile of this name, or the profile itself: ours, or one of the other package, which has the same fields."""
    if isinstance(profile, str) and profile in PROFILES:
        return PROFILES[profile]()
    if isinstance(profile, str) or not hasattr(profile, "transform_2d_ht_name"):
        raise TypeError(f"profile = {profile!r}: one of {', '.join(PROFILES)}, or a BM3DProfile")
    return profile


def parameters(profile: Any, correlated: bool) -> dict[str, Any]:
    """The parameters of quell that mean the same; NotImplementedError where there are none."""
    if profile.denoise_residual:
        raise NotImplementedError("profile: denoise_residual (refilter): what is left is not filtered once more here")
    if profile.sharpen_alpha != 1:
        raise NotImplementedError(f"profile: sharpen_alpha = {profile.sharpen_alpha}: quell does not sharpen")
    if correlated and profile.gamma not in (0, BM3DProfile.gamma):
        raise NotImplementedError(f"profile: gamma = {profile.gamma}: how far correlated noise counts is fixed here")
    exact = bool(profile.nf and profile.k)
    strength = profile.filter_strength
    threshold = _LAMBDA[exact] if profile.lambda_thr3d is None else profile.lambda_thr3d
    factor = _MU2[exact] if profile.mu2 is None else profile.mu2
    stack = _transform(profile, "transform_3rd_dim_name")
    return {
        "lambda": threshold * strength,
        "mu2": factor * strength**2,
        "hard.patch": profile.bs_ht,
        "hard.step": profile.step_ht,
        "hard.window": profile.search_window_ht,
        "hard.group": profile.max_3d_size_ht,
        "hard.tau": profile.tau_match,
        "hard.transform": _transform(profile, "transform_2d_ht_name"),
        "hard.stack": stack,
        "hard.beta": profile.beta,
        "hard.exact": exact,
        "wiener.patch": profile.bs_wiener,
        "wiener.step": profile.step_wiener,
        "wiener.window": profile.search_window_wiener,
        "wiener.group": profile.max_3d_size_wiener,
        "wiener.tau": profile.tau_match_wiener,
        "wiener.transform": _transform(profile, "transform_2d_wiener_name"),
        "wiener.stack": stack,
        "wiener.beta": profile.beta_wiener,
        # Pass 2 of large groups is nearly as good without (0.04 dB), in two thirds of the time. Small ones gain a tenth of a
        # dB; correlated noise is another matter.
        "wiener.exact": exact and (correlated or profile.max_3d_size_wiener <= 16),
    }


def _transform(profile: Any, field: str) -> str:
    name = getattr(profile, field)
    if name not in _TRANSFORMS:
        raise NotImplementedError(f"profile: {field} = {name!r}: here are {', '.join(_TRANSFORMS)}")
    return _TRANSFORMS[name]

"""Ray Data: a callable class for `Dataset.map_batches`.

    clean = dataset.map_batches(quell.ray.QuellBatch, fn_constructor_kwargs={"sigma": 12}, concurrency=4, num_cpus=2)
    clean = dataset.map_batches(quell.ray.QuellBatch, concurrency=2, num_gpus=1)

It starts the device once for all batches that its actor gets.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ._denoiser import Denoiser


class QuellBatch:
    """Removes noise from the pictures of a column.

    Parameters
    ----------
    column : str
        The column of the pictures: an array of them, or pictures of different sizes.
    into : str, optional
        The column of the results; in place of the pictures, if not given.
    sigma, method, profile, channel_axis, white, **params
        As in `quell.denoise`; `channel_axis` is that of one picture.
    device : str, optional
        The GPU that Ray gave to the actor; the processor, if it gave none.
    threads : int, optional
        As many as Ray gave processors to the actor.

    Examples
    --------
    >>> import numpy as np, quell.ray
    >>> noisy = np.random.default_rng(0).normal(100, 10, (4, 64, 64)).astype(np.uint8)
    >>> batch = quell.ray.QuellBatch(sigma=10, profile="fast")({"image": noisy, "name": list("abcd")})
    >>> batch["image"].shape, bool(batch["image"].std() < 3)
    ((4, 64, 64), True)
    """

    def __init__(
        self,
        column: str = "image",
        *,
        into: str | None = None,
        method: str = "bm3d",
        device: str | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        self.column, self.into = column, into or column
        gpus, processors = _given()
        # Ray lets an actor see its own GPUs only: the first of these is its first.
        device = device or ("cuda:0" if gpus else "cpu")
        self._denoiser = Denoiser(method, device=device, threads=threads or processors, **options)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Filters every picture of a batch."""
        if self.column not in batch:
            raise ValueError(f"column = {self.column!r}: the batch has {', '.join(batch)}")
        pictures = batch[self.column]
        clean = [self._denoiser(np.asarray(picture)) for picture in pictures]
        if len({picture.shape for picture in clean}) == 1:
            return {**batch, self.into: np.stack(clean)}
        column = np.empty(len(clean), dtype=object)
        column[:] = clean
        return {**batch, self.into: column}


def _given() -> tuple[bool, int | None]:
    """Whether Ray gave this actor a GPU, and how many processors; nothing outside of Ray."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        return False, None
    if not ray.is_initialized():
        return False, None
    given = ray.get_runtime_context().get_assigned_resources()
    return given.get("GPU", 0) > 0, max(1, int(given["CPU"])) if given.get("CPU") else None

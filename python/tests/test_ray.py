"""The class for Ray Data: alone, and in a Ray of this machine."""

import os
import signal

import numpy as np
import pytest

import quell
from quell.ray import QuellBatch


@pytest.fixture
def stack(noisy):
    return np.stack([noisy, noisy[::-1], noisy[:, ::-1], noisy + 0.1])


def test_pictures_of_a_batch_are_filtered(stack):
    batch = {"image": stack, "name": np.arange(4)}
    result = QuellBatch(sigma=0.1, profile="fast")(batch)
    assert np.array_equal(result["image"], quell.bm3d(stack, 0.1, profile="fast")) and result["name"] is batch["name"]
    both = QuellBatch("image", into="clean", sigma=0.1, profile="fast")(batch)
    assert both["image"] is stack and np.array_equal(both["clean"], result["image"])


def test_pictures_may_have_different_sizes(noisy):
    column = np.empty(2, dtype=object)
    column[:] = [noisy, noisy[:40]]
    result = QuellBatch(sigma=0.1, profile="fast")({"image": column})["image"]
    assert [picture.shape for picture in result] == [noisy.shape, (40, noisy.shape[1])]


def test_a_column_that_is_not_there_is_named(stack):
    with pytest.raises(ValueError, match="column = 'picture': the batch has image"):
        QuellBatch("picture", sigma=0.1)({"image": stack})


@pytest.mark.filterwarnings("ignore")
def test_ray_filters_on_its_own_actors_even_if_one_dies(stack, tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")

    # Here, so that it goes to the actor as it is: tests cannot be imported there.
    class Fragile(QuellBatch):
        """Dies of its first batch, once."""

        def __init__(self, mark, **options):
            super().__init__(**options)
            self.mark = mark

        def __call__(self, batch):
            if not os.path.exists(self.mark):
                open(self.mark, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        dataset = ray.data.from_items([{"image": picture, "n": i} for i, picture in enumerate(stack)])
        options = {"sigma": 0.1, "profile": "fast", "into": "clean", "mark": str(tmp_path / "died")}
        actors = ray.data.ActorPoolStrategy(size=1)
        result = dataset.map_batches(Fragile, fn_constructor_kwargs=options, batch_size=2, num_cpus=1, compute=actors)
        rows = sorted(result.take_all(), key=lambda row: row["n"])
        wanted = quell.bm3d(stack, 0.1, profile="fast")
        assert (tmp_path / "died").exists()
        assert all(np.array_equal(row["clean"], picture) for row, picture in zip(rows, wanted, strict=True))
    finally:
        ray.shutdown()

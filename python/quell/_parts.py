"""Parts of pictures that do not fit into memory or on one machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Some rows of a picture, and those around them that their result depends on; see `Denoiser.parts`."""

    height: int
    """Rows of the whole picture."""
    first: int
    last: int
    """Rows of the result: from `first` to the one before `last`."""
    top: int
    bottom: int
    """Rows of the picture that they are made of."""

    @property
    def read(self) -> slice:
        """The rows of the picture that have to be given."""
        return slice(self.top, self.bottom)

    @property
    def write(self) -> slice:
        """The rows of the result that come out."""
        return slice(self.first, self.last)

    @property
    def kept(self) -> slice:
        """The same, counted from the first row that is given."""
        return slice(self.first - self.top, self.last - self.top)

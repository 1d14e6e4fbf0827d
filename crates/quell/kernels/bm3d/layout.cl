// Where things lie: planes with a margin all round, and the grid of reference patches.
//
// Option: MARGIN.

// Where no patch fits; larger than any distance can be, and safe to add to other norms.
#define INVALID_NORM (1 << 28)

// Element of sample (x, y) in a plane.
FN int plane_at(int x, int y, int pitch) { return (y + MARGIN) * pitch + x + MARGIN; }

// The matching value of a sample (`MatchingPlane::quantise`). The step is a power of two, so the product is exact and
// it does not matter whether the compiler fuses it with the sum.
FN uchar quantise(float z, float step, float bias) { return (uchar)FMIN(FMAX(z * step + bias, 0.0f), 255.0f); }

// Row or column of reference patch i (`Search::grid`): every `step` pixels from `offset` on, and the first and the last.
FN int grid_at(int i, int step, int offset, int last) {
  return MIN(offset > 0 ? MAX((i - 1) * step + offset, 0) : i * step, last);
}

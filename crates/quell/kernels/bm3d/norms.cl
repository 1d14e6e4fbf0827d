// Squared norm of the patch at every position of the matching plane, and INVALID_NORM where none fits; for the whole
// plane with its margins. SSD = |a|^2 + |b|^2 - 2 ab then leaves only the products to matching. On its way it clears
// the sums and weights of the first channel for the pass, which would be two launches more.
//
// Option: PATCH. A work-item goes down a strip of one column with a running sum, exact in integers.

#define NORM_ITEMS 128
#define NORM_STRIP (4 * PATCH)
#define NORM_WORDS ((PATCH + 3) / 4)
#define NORM_TAIL (0xffffffffu >> (8 * (4 * NORM_WORDS - PATCH)))

// Sum of the squares of the PATCH bytes from byte `at` on.
FN int row_norm(GLOBAL const uint* RESTRICT guide, int at) {
  GLOBAL const uint* words = guide + (at >> 2);
  const int shift = 8 * (at & 3);
  uint low = words[0], sum = 0;
  UNROLL for (int k = 0; k < NORM_WORDS; k++) {
    const uint high = words[k + 1];
    uint w = (uint)((((ulong)high << 32) | low) >> shift);
    if (k == NORM_WORDS - 1) w &= NORM_TAIL;
    sum = DOT4(w, w, sum);
    low = high;
  }
  return (int)sum;
}

KERNEL(NORM_ITEMS) bm3d_norms(GLOBAL const uint* RESTRICT guide, GLOBAL int* RESTRICT norms,
                              GLOBAL float* RESTRICT sums, GLOBAL float* RESTRICT weights, int width, int height,
                              int pitch, int rows) {
  const int column = GROUP_X * NORM_ITEMS + ITEM, first = GROUP_Y * NORM_STRIP;
  if (column >= pitch) return;
  const int x = column - MARGIN;
  const bool inside = x >= 0 && x <= width - PATCH;
  // Sums of the last PATCH rows, and of each of them.
  int ring[PATCH], sum = 0;
  UNROLL for (int i = 0; i < PATCH - 1; i++) {
    const int y = first - MARGIN + i;
    ring[i] = inside && y >= 0 && y < height ? row_norm(guide, (first + i) * pitch + column) : 0;
    sum += ring[i];
  }
  ring[PATCH - 1] = 0;
  NO_UNROLL for (int block = 0; block < NORM_STRIP; block += PATCH) {
    UNROLL for (int i = 0; i < PATCH; i++) {
      const int row = first + block + i, y = row - MARGIN, last = y + PATCH - 1;
      const int next = (i + PATCH - 1) % PATCH;
      ring[next] = inside && last >= 0 && last < height ? row_norm(guide, (row + PATCH - 1) * pitch + column) : 0;
      sum += ring[next];
      if (row < rows) {
        const int at = row * pitch + column;
        norms[at] = inside && y >= 0 && y <= height - PATCH ? sum : INVALID_NORM;
        sums[at] = 0;
        weights[at] = 0;
      }
      sum -= ring[i];
    }
  }
}

// Squared norm of the patch at every position of the matching plane, and INVALID_NORM where none fits; for the whole
// plane with its margins. SSD = |a|^2 + |b|^2 - 2 ab then leaves only the products to matching. On its way it clears
// the sums and weights of the first channel for the pass and the list of difficult references, which would be three
// launches more.
//
// Option: PATCH. A work-group takes NORM_COLUMNS x NORM_ROWS positions: norms of the rows of every patch first, then
// sums down the columns, exact in integers.

#define NORM_ITEMS 256
#define NORM_COLUMNS 64
#define NORM_ROWS 32
#define NORM_EACH (NORM_ROWS * NORM_COLUMNS / NORM_ITEMS)  // rows of one column that a work-item sums
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
                              GLOBAL float* RESTRICT sums, GLOBAL float* RESTRICT weights,
                              GLOBAL int* RESTRICT difficult, int width, int height, int pitch, int rows) {
  LOCAL int row_norms[(NORM_ROWS + PATCH - 1) * NORM_COLUMNS];
  const int first_column = GROUP_X * NORM_COLUMNS, first_row = GROUP_Y * NORM_ROWS;
  if (GROUP_X == 0 && GROUP_Y == 0 && ITEM == 0) difficult[0] = 0;
  for (int i = ITEM; i < (NORM_ROWS + PATCH - 1) * NORM_COLUMNS; i += NORM_ITEMS) {
    const int column = first_column + i % NORM_COLUMNS, row = first_row + i / NORM_COLUMNS;
    const int x = column - MARGIN, y = row - MARGIN;
    const bool inside = x >= 0 && x <= width - PATCH && y >= 0 && y < height;
    row_norms[i] = inside ? row_norm(guide, row * pitch + column) : 0;
  }
  BARRIER();
  const int column = first_column + ITEM % NORM_COLUMNS, down = ITEM / NORM_COLUMNS * NORM_EACH;
  const int x = column - MARGIN;
  LOCAL_PTR const int* from = row_norms + down * NORM_COLUMNS + ITEM % NORM_COLUMNS;
  int sum = 0;
  UNROLL for (int k = 0; k < PATCH - 1; k++) sum += from[k * NORM_COLUMNS];
  UNROLL for (int i = 0; i < NORM_EACH; i++) {
    const int row = first_row + down + i, y = row - MARGIN;
    sum += from[(i + PATCH - 1) * NORM_COLUMNS];
    if (row < rows) {
      const int at = row * pitch + column;
      norms[at] = x >= 0 && x <= width - PATCH && y >= 0 && y <= height - PATCH ? sum : INVALID_NORM;
      sums[at] = 0;
      weights[at] = 0;
    }
    sum -= from[i * NORM_COLUMNS];
  }
}

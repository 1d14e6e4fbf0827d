// Sums of the squares of every patch of a padded plane of bytes.
//
// Options: RADIUS, up to 5 (as in bytes.cl). A work-item takes NORM_ROWS of a column; `rows` and `columns` are those of the
// plane that are at least RADIUS from its borders.

#define NORM_ITEMS 128
#define NORM_ROWS 16
#define PATCH (2 * RADIUS + 1)

KERNEL(NORM_ITEMS) nlm_norms(GLOBAL const uchar* RESTRICT plane, GLOBAL float* RESTRICT norms, int pitch, int columns,
                             int rows) {
  const int x = GROUP_X * NORM_ITEMS + ITEM, y = GROUP_Y * NORM_ROWS;
  if (x >= columns) return;
  uint squares[NORM_ROWS + 2 * RADIUS], sum = 0;
  UNROLL for (int r = 0; r < NORM_ROWS + 2 * RADIUS; r++) {
    squares[r] = 0;
    // Behind the last row nothing is read, and nothing written.
    if (y + r < rows + 2 * RADIUS)
      UNROLL for (int i = 0; i < PATCH; i++) {
        const uint v = plane[(y + r) * pitch + x + i];
        squares[r] += v * v;
      }
    sum += squares[r];
    if (r >= 2 * RADIUS) {
      const int at = (y + r - RADIUS) * pitch + x + RADIUS;
      if (y + r < rows + 2 * RADIUS) norms[at] = (float)sum;
      sum -= squares[r - 2 * RADIUS];
    }
  }
}

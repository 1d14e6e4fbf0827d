// A picture at half its size, and what is known there brought back: fine + 0.9 up(blur(coarse - down(fine))), as
// `front/pyramid.rs` has it.
//
// Option: SAMPLE.

#define SIZE_ITEMS 256

// Means of 2 x 2 samples, of rows without gaps; an odd last row or column is left out.
KERNEL(SIZE_ITEMS) sizes_down(GLOBAL const SAMPLE* RESTRICT from, GLOBAL float* RESTRICT to, int first_from,
                              int first_to, int width) {
  const int x = GROUP_X * SIZE_ITEMS + ITEM, y = GROUP_Y;
  if (x >= width / 2) return;
  GLOBAL const SAMPLE* upper = from + (first_from + 2 * y * width + 2 * x);
  GLOBAL const SAMPLE* lower = upper + width;
  to[first_to + y * (width / 2) + x] =
      0.25f * (((float)upper[0] + (float)upper[1]) + ((float)lower[0] + (float)lower[1]));
}

// e = coarse - down(fine) in the place of the coarse plane, from its row `coarse_row` and `fine_row` of the fine one on;
// `offset` is what the planes' centres differ by. With `slope`, one over a limit, e / (1 + (e slope)^2).
KERNEL(SIZE_ITEMS) sizes_difference(GLOBAL const float* RESTRICT fine, GLOBAL float* RESTRICT coarse, int fine_row,
                                    int coarse_row, int width, int fine_pitch, int coarse_pitch, float offset,
                                    float slope) {
  const int x = GROUP_X * SIZE_ITEMS + ITEM, y = GROUP_Y;
  if (x >= width) return;
  GLOBAL const float* upper = fine + plane_at(2 * x, fine_row + 2 * y, fine_pitch);
  GLOBAL const float* lower = upper + fine_pitch;
  const int at = plane_at(x, coarse_row + y, coarse_pitch);
  const float e = coarse[at] - 0.25f * ((upper[0] + upper[1]) + (lower[0] + lower[1])) + offset;
  const float part = e * slope;
  coarse[at] = e / (1.0f + part * part);
}

#define GAIN 0.9f
// Fine pixels of a work-group, and coarse ones that they lie between.
#define MERGE_COLUMNS 64
#define MERGE_ROWS 16
#define MERGE_EACH 4  // rows of one column that a work-item does
#define COARSE_COLUMNS (MERGE_COLUMNS / 2 + 2)
#define COARSE_ROWS (MERGE_ROWS / 2 + 2)

// A row of differences blurred by [1 2 1] at column x; the last ones at both ends are repeated.
FN float blurred_along(GLOBAL const float* RESTRICT row, int x, int width) {
  return row[MAX(x - 1, 0)] + 2.0f * row[x] + row[MIN(x + 1, width - 1)];
}

// fine + 0.9 up(blur(e)) for `fine_width` x `fine_rows` pixels, of which an odd last row or column has the coarse pixel
// before it. The coarse plane has `rows` rows of `width` differences.
KERNEL(SIZE_ITEMS) sizes_merge(GLOBAL float* RESTRICT fine, GLOBAL const float* RESTRICT difference, int fine_row,
                               int coarse_row, int fine_width, int fine_rows, int width, int rows, int fine_pitch,
                               int coarse_pitch) {
  LOCAL float blurred[COARSE_ROWS * COARSE_COLUMNS];
  const int left = GROUP_X * (MERGE_COLUMNS / 2) - 1, top = GROUP_Y * (MERGE_ROWS / 2) - 1;
  for (int i = ITEM; i < COARSE_ROWS * COARSE_COLUMNS; i += SIZE_ITEMS) {
    const int x = MIN(MAX(left + i % COARSE_COLUMNS, 0), width - 1);
    const int y = MIN(MAX(top + i / COARSE_COLUMNS, 0), rows - 1);
    GLOBAL const float* above = difference + plane_at(0, coarse_row + MAX(y - 1, 0), coarse_pitch);
    GLOBAL const float* at = difference + plane_at(0, coarse_row + y, coarse_pitch);
    GLOBAL const float* below = difference + plane_at(0, coarse_row + MIN(y + 1, rows - 1), coarse_pitch);
    blurred[i] = 0.0625f *
                 (blurred_along(above, x, width) + 2.0f * blurred_along(at, x, width) + blurred_along(below, x, width));
  }
  BARRIER();
  const int x = GROUP_X * MERGE_COLUMNS + ITEM % MERGE_COLUMNS;
  if (x >= fine_width) return;
  // Bilinear: a fine pixel is a quarter of a coarse one left or right of the centre of the one that it lies in.
  const int column = MIN(x, 2 * width - 1), near_x = column / 2 - left;
  const int far_x = column % 2 ? near_x + 1 : near_x - 1;
  for (int k = 0; k < MERGE_EACH; k++) {
    const int y = GROUP_Y * MERGE_ROWS + MERGE_EACH * (ITEM / MERGE_COLUMNS) + k;
    if (y >= fine_rows) return;
    const int row = MIN(y, 2 * rows - 1), near_y = row / 2 - top;
    const int far_y = row % 2 ? near_y + 1 : near_y - 1;
    LOCAL_PTR const float* near_row = blurred + near_y * COARSE_COLUMNS;
    LOCAL_PTR const float* far_row = blurred + far_y * COARSE_COLUMNS;
    const float up = 0.75f * (0.75f * near_row[near_x] + 0.25f * near_row[far_x]) +
                     0.25f * (0.75f * far_row[near_x] + 0.25f * far_row[far_x]);
    fine[plane_at(x, fine_row + y, fine_pitch)] += GAIN * up;
  }
}

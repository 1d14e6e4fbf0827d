// What stands around the groups of a round of context ridge (`ridge::Plan`): the plane that patches are compared on, how
// far z has come from the noisy channel, and the next x and z. Planes are floats with a margin, less `centre`.

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif

#define PLANE_ITEMS 256
#define PATCH 4

// z + blend (x - z) with a border of one pixel repeated, as bytes, for a picture of width x height; rounded as the
// reference does it, because groups hang on it. A work-item takes four of a row; behind its end nobody reads.
KERNEL(PLANE_ITEMS) ridge_guide(GLOBAL const float* RESTRICT x, GLOBAL const float* RESTRICT z,
                                GLOBAL uint* RESTRICT guide, int width, int height, int pitch, float centre,
                                float blend, float step, float bias) {
  const int column = 4 * (GROUP_X * PLANE_ITEMS + ITEM), row = GROUP_Y;
  if (column >= width + 2) return;
  uint word = 0;
  UNROLL for (int i = 0; i < 4; i++) {
    const int at = plane_at(MIN(MAX(column + i - 1, 0), width - 1), MIN(MAX(row - 1, 0), height - 1), pitch);
    const float old = z[at], value = ADD_ROUNDED(old, MUL_ROUNDED(blend, x[at] - old)) + centre;
    word |= (uint)quantise(value, step, bias) << (8 * i);
  }
  guide[plane_at(column, row, pitch) / 4] = word;
}

// A work-group of the next two takes TILE_COLUMNS x TILE_ROWS pixels, a work-item TILE_EACH of a column.
#define TILE_COLUMNS 64
#define TILE_ROWS 16
#define TILE_EACH 4
#define WIDE (TILE_COLUMNS + PATCH - 1)
#define TALL (TILE_ROWS + PATCH - 1)

// The sum of PATCH x PATCH values from each of the work-item's pixels on, right and down; `lines` is for sums along rows.
FN void patch_sums(float* out, LOCAL_PTR const float* tile, LOCAL_PTR float* lines) {
  for (int i = ITEM; i < TALL * TILE_COLUMNS; i += PLANE_ITEMS) {
    LOCAL_PTR const float* from = tile + i / TILE_COLUMNS * WIDE + i % TILE_COLUMNS;
    lines[i] = (from[0] + from[1]) + (from[2] + from[3]);
  }
  BARRIER();
  LOCAL_PTR const float* from = lines + TILE_EACH * (ITEM / TILE_COLUMNS) * TILE_COLUMNS + ITEM % TILE_COLUMNS;
  UNROLL for (int k = 0; k < TILE_EACH; k++) {
    out[k] = (from[k * TILE_COLUMNS] + from[(k + 1) * TILE_COLUMNS]) +
             (from[(k + 2) * TILE_COLUMNS] + from[(k + 3) * TILE_COLUMNS]);
  }
}

#define PIXEL_X (GROUP_X * TILE_COLUMNS + ITEM % TILE_COLUMNS)
#define PIXEL_Y(k) (GROUP_Y * TILE_ROWS + TILE_EACH * (ITEM / TILE_COLUMNS) + (k))

// The mean of (y - z)^2 over the patch at every pixel where one fits.
KERNEL(PLANE_ITEMS) ridge_residue(GLOBAL const float* RESTRICT y, GLOBAL const float* RESTRICT z,
                                  GLOBAL float* RESTRICT residue, int width, int height, int pitch) {
  LOCAL float tile[TALL * WIDE];
  LOCAL float lines[TALL * TILE_COLUMNS];
  for (int i = ITEM; i < TALL * WIDE; i += PLANE_ITEMS) {
    const int column = MIN(GROUP_X * TILE_COLUMNS + i % WIDE, width - 1);
    const int at = plane_at(column, MIN(GROUP_Y * TILE_ROWS + i / WIDE, height - 1), pitch);
    const float difference = y[at] - z[at];
    tile[i] = difference * difference;
  }
  BARRIER();
  float sums[TILE_EACH];
  patch_sums(sums, tile, lines);
  UNROLL for (int k = 0; k < TILE_EACH; k++) {
    if (PIXEL_X < width && PIXEL_Y(k) < height) residue[plane_at(PIXEL_X, PIXEL_Y(k), pitch)] = 0.0625f * sums[k];
  }
}

// x = N / S1 and z = (N + z (S0 - S1)) / S0, where N is of patches less `middle`; weights stand at the corners of patches, up and left of the pixels that they
// are for, and the margin is zero. `next` may be either plane; of the last round, x is not wanted.
KERNEL(PLANE_ITEMS) ridge_finish(GLOBAL const float* RESTRICT numerators, GLOBAL const float* RESTRICT all,
                                 GLOBAL const float* RESTRICT fresh, GLOBAL float* x, GLOBAL const float* z,
                                 GLOBAL float* next, int width, int height, int pitch, int last, float middle) {
  LOCAL float tile[TALL * WIDE];
  LOCAL float lines[TALL * TILE_COLUMNS];
  const int left = GROUP_X * TILE_COLUMNS - (PATCH - 1), top = GROUP_Y * TILE_ROWS - (PATCH - 1);
  float sums0[TILE_EACH], sums1[TILE_EACH];
  for (int i = ITEM; i < TALL * WIDE; i += PLANE_ITEMS) {
    tile[i] = all[plane_at(left + i % WIDE, top + i / WIDE, pitch)];
  }
  BARRIER();
  patch_sums(sums0, tile, lines);
  BARRIER();
  for (int i = ITEM; i < TALL * WIDE; i += PLANE_ITEMS) {
    tile[i] = fresh[plane_at(left + i % WIDE, top + i / WIDE, pitch)];
  }
  BARRIER();
  patch_sums(sums1, tile, lines);
  UNROLL for (int k = 0; k < TILE_EACH; k++) {
    if (PIXEL_X < width && PIXEL_Y(k) < height) {
      const int at = plane_at(PIXEL_X, PIXEL_Y(k), pitch);
      const float numerator = numerators[at], old = z[at] - middle;
      if (!last) x[at] = numerator / sums1[k] + middle;
      next[at] = (numerator + old * (sums0[k] - sums1[k])) / sums0[k] + middle;
    }
  }
}

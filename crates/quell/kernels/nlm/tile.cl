// Sums of squared differences down the columns, for any planes of floats: what general.cl and patches.cl begin with.
//
// Options beside those of common.cl: PLANES that are compared, COLUMNS and ROWS of sums that a work-group has, STRIP rows
// of a work-item, SPAN_X x SPAN_Y displacements for which samples are in local memory at once, DIRECT (1: samples are
// taken from global memory, which is for windows and patches that local memory has no room for).

// Neighbours in a row that a work-item takes up.
#define RUN 8
#define ITEMS (COLUMNS * (ROWS / STRIP))
#define DEPTH (STRIP + 2 * RADIUS)
// Distances that a work-group gets from its sums, in runs.
#define RUNS ((COLUMNS - 2 * RADIUS) / RUN)
#define WIDE (RUNS * RUN)
#define ROUNDS ((RUNS * ROWS + ITEMS - 1) / ITEMS)
// Odd: neighbouring work-items take neighbouring rows.
#define SUM_PITCH (COLUMNS | 1)
#if DIRECT
#define TILE 1
#define TILES 1
#define FROM GLOBAL const float*
#define ROW_STEP pitch
#define PLANE_STEP plane
#else
#define TILE_PITCH ((COLUMNS + SPAN_X - 1) | 1)
#define TILE ((ROWS + 2 * RADIUS + SPAN_Y - 1) * TILE_PITCH)
#define TILES (PLANES * TILE)
#define FROM LOCAL_PTR const float*
#define ROW_STEP TILE_PITCH
#define PLANE_STEP TILE
#endif

// The work-item's column of its own frame.
FN void load_column(float own[PLANES][DEPTH], GLOBAL const float* RESTRICT from, int pitch, int plane) {
  UNROLL for (int k = 0; k < PLANES; k++)
    UNROLL for (int r = 0; r < DEPTH; r++) own[k][r] = from[k * plane + r * pitch];
}

// The samples for a span of displacements; returns where they are from then on.
FN FROM load_tile(LOCAL_PTR float* tile, GLOBAL const float* RESTRICT from, int pitch, int plane, int count_x,
                  int count_y) {
#if DIRECT
  return from;
#else
  const int columns = COLUMNS + count_x - 1, rows = ROWS + 2 * RADIUS + count_y - 1;
  BARRIER();
  UNROLL for (int k = 0; k < PLANES; k++)
    for (int r = ITEM / 32; r < rows; r += ITEMS / 32)
      for (int c = ITEM % 32; c < columns; c += 32)
        tile[k * TILE + r * TILE_PITCH + c] = from[k * plane + r * pitch + c];
  BARRIER();
  return tile;
#endif
}

// Sums over PATCH rows for STRIP rows of a column, in a column of local memory.
FN void sum_column(LOCAL_PTR float* to, FROM from, float own[PLANES][DEPTH], int pitch, int plane) {
  float squares[DEPTH], boxes[STRIP];
  UNROLL for (int r = 0; r < DEPTH; r++) {
    squares[r] = 0.0f;
    UNROLL for (int k = 0; k < PLANES; k++) {
      const float difference = from[k * PLANE_STEP + r * ROW_STEP] - own[k][r];
      squares[r] = FMA(difference, difference, squares[r]);
    }
  }
  BOX(boxes, squares, STRIP);
  UNROLL for (int r = 0; r < STRIP; r++) to[r * SUM_PITCH] = boxes[r];
}

// Sums over PATCH columns for a run.
FN void sum_run(float to[RUN], LOCAL_PTR const float* from) {
  float parts[RUN + 2 * RADIUS];
  UNROLL for (int l = 0; l < RUN + 2 * RADIUS; l++) parts[l] = from[l];
  BOX(to, parts, RUN);
}

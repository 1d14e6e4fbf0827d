// Patchwise averages over all displacements into one frame: every pixel is the mean of what the patches that cover it
// make of it. For one displacement that is the sample times the sum of the patches' weights, each divided by its patch's
// total, which general.cl or bytes.cl have left in `totals` for all patches up to RADIUS beyond the borders.
//
// As in general.cl, but the weights of WIDE x ROWS patches go to local memory and are summed over PATCH rows and columns
// once more: a work-group takes OUT_WIDE x OUT_ROWS pixels. Options as there.

#define CHUNKS (ROWS / STRIP)
#define OUT_RUNS ((WIDE - 2 * RADIUS) / RUN)
#define OUT_WIDE (OUT_RUNS * RUN)
#define OUT_ROWS (ROWS - 2 * RADIUS)
#define OUT_ROUNDS ((OUT_RUNS * ROWS + ITEMS - 1) / ITEMS)
// Rows of pixels that a work-item sums weights for. The last ones of a column may look further than there are weights;
// nobody takes what they see.
#define OUT_STRIP ((OUT_ROWS + CHUNKS - 1) / CHUNKS)
#define WEIGHT_PITCH (WIDE | 1)

KERNEL(ITEMS) nlm_patches(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                          GLOBAL const float* RESTRICT totals, GLOBAL float* RESTRICT state,
                          GLOBAL SAMPLE* RESTRICT out, int origin, int pitch, int plane, int width, int height,
                          int totals_pitch, int totals_plane, int state_pitch, int state_plane, int group_row, int self,
                          int first, int last, float slope, float offset, float white) {
  LOCAL float tile[TILES];
  LOCAL float column_sums[ROWS * SUM_PITCH];
  LOCAL float weights[(CHUNKS * OUT_STRIP + 2 * RADIUS) * WEIGHT_PITCH];
  LOCAL float weight_sums[CHUNKS * OUT_STRIP * WEIGHT_PITCH];
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS * STRIP, out_strip = ITEM / COLUMNS * OUT_STRIP;
  const int x0 = GROUP_X * OUT_WIDE, y0 = (GROUP_Y + group_row) * OUT_ROWS;
  const int corner = origin + (y0 - 2 * RADIUS) * pitch + x0 - 2 * RADIUS;
  float own[PLANES][DEPTH];
  load_column(own, here + (corner + strip * pitch + column), pitch, plane);

  float scale[ROUNDS][RUN];
  UNROLL for (int k = 0; k < ROUNDS; k++) {
    const int task = ITEM + k * ITEMS, row = task % ROWS, run = task / ROWS * RUN;
    if (task < RUNS * ROWS)
      UNROLL for (int l = 0; l < RUN; l++) scale[k][l] = totals[(y0 + row) * totals_pitch + x0 + run + l];
  }
  float centre[OUT_ROUNDS][CHANNELS][RUN], sum[OUT_ROUNDS][CHANNELS][RUN];
  UNROLL for (int k = 0; k < OUT_ROUNDS; k++) {
    const int task = ITEM + k * ITEMS, row = task % ROWS, x = x0 + task / ROWS * RUN;
    if (row < OUT_ROWS && task < OUT_RUNS * ROWS)
      UNROLL for (int l = 0; l < RUN; l++)
        UNROLL for (int c = 0; c < CHANNELS; c++) {
          centre[k][c][l] = here[origin + (c + (GUIDED ? PLANES : 0)) * plane + (y0 + row) * pitch + x + l];
          sum[k][c][l] = first ? 0.0f : state[c * state_plane + (y0 + row) * state_pitch + x + l];
        }
  }

  NO_UNROLL for (int from_y = 0; from_y < SIDE; from_y += SPAN_Y)
  NO_UNROLL for (int from_x = 0; from_x < SIDE; from_x += SPAN_X) {
    const int count_x = MIN(SPAN_X, SIDE - from_x), count_y = MIN(SPAN_Y, SIDE - from_y);
    GLOBAL const float* start = there + (corner + (from_y - SEARCH) * pitch + from_x - SEARCH);
    FROM samples = load_tile(tile, start, pitch, plane, count_x, count_y);
    NO_UNROLL for (int j = 0; j < count_y; j++)
    NO_UNROLL for (int i = 0; i < count_x; i++) {
      const int itself = BEST && self && from_y + j == SEARCH && from_x + i == SEARCH;
      sum_column(column_sums + strip * SUM_PITCH + column, samples + (strip + j) * ROW_STEP + column + i, own, pitch,
                 plane);
      BARRIER();
      UNROLL for (int k = 0; k < ROUNDS; k++) {
        const int task = ITEM + k * ITEMS, row = task % ROWS, run = task / ROWS * RUN;
        if (task < RUNS * ROWS) {
          LOCAL_PTR float* to = weights + row * WEIGHT_PITCH + run;
          if (itself) {
            // By the rule for the reference patch.
            GLOBAL const float* from = totals + totals_plane + (y0 + row) * totals_pitch + x0 + run;
            UNROLL for (int l = 0; l < RUN; l++) to[l] = from[l];
          } else {
            float distances[RUN];
            sum_run(distances, column_sums + row * SUM_PITCH + run);
            UNROLL for (int l = 0; l < RUN; l++) to[l] = weight(distances[l], slope, offset) * scale[k][l];
          }
        }
      }
      BARRIER();
      if (column < WIDE) {
        float parts[OUT_STRIP + 2 * RADIUS], boxes[OUT_STRIP];
        UNROLL for (int r = 0; r < OUT_STRIP + 2 * RADIUS; r++)
          parts[r] = weights[(out_strip + r) * WEIGHT_PITCH + column];
        BOX(boxes, parts, OUT_STRIP);
        UNROLL for (int r = 0; r < OUT_STRIP; r++) weight_sums[(out_strip + r) * WEIGHT_PITCH + column] = boxes[r];
      }
      BARRIER();
      UNROLL for (int k = 0; k < OUT_ROUNDS; k++) {
        const int task = ITEM + k * ITEMS, row = task % ROWS, run = task / ROWS * RUN;
        if (row < OUT_ROWS && task < OUT_RUNS * ROWS) {
          float shares[RUN];
          sum_run(shares, weight_sums + row * WEIGHT_PITCH + run);
#if GUIDED
          GLOBAL const float* values = start + PLANES * plane + (row + 2 * RADIUS + j) * pitch + 2 * RADIUS + run + i;
#define VALUE_STEP plane
#else
          FROM values = samples + (row + 2 * RADIUS + j) * ROW_STEP + 2 * RADIUS + run + i;
#define VALUE_STEP PLANE_STEP
#endif
          UNROLL for (int l = 0; l < RUN; l++)
            UNROLL for (int c = 0; c < CHANNELS; c++)
              sum[k][c][l] = FMA(shares[l], values[c * VALUE_STEP + l] - centre[k][c][l], sum[k][c][l]);
        }
      }
    }
  }

  UNROLL for (int k = 0; k < OUT_ROUNDS; k++) {
    const int task = ITEM + k * ITEMS, row = task % ROWS, y = y0 + row, x = x0 + task / ROWS * RUN;
    if (row < OUT_ROWS && task < OUT_RUNS * ROWS)
      UNROLL for (int l = 0; l < RUN; l++)
        UNROLL for (int c = 0; c < CHANNELS; c++) {
          if (!last)
            state[c * state_plane + y * state_pitch + x + l] = sum[k][c][l];
          else if (x + l < width && y < height)
            STORE_SAMPLE(out, (c * height + y) * width + x + l, centre[k][c][l] + sum[k][c][l]);
        }
  }
}

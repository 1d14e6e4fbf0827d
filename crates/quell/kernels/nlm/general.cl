// Weighted averages over all displacements into one frame, for any planes: a work-group takes WIDE x ROWS pixels.
//
// For each displacement, a work-item sums squared differences down a column, leaves the sums over PATCH rows in local
// memory, and takes up sums over PATCH columns of neighbours in a row from there. Sums of weights and of samples stay in
// its registers for all displacements.
//
// Options beside those of tile.cl: CHANNELS that are averaged, GUIDED (1: those lie behind the compared ones, 0: they
// are the same), TOTALS (1: only the sums of weights are wanted), BUFFERS (1 or 2) of sums, SAMPLE, WHOLE.

#define VALUES (TOTALS ? 1 : CHANNELS)

KERNEL(ITEMS) nlm_general(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                          GLOBAL float* RESTRICT state, GLOBAL SAMPLE* RESTRICT out, int origin, int pitch, int plane,
                          int width, int height, int state_pitch, int state_plane, int group_row, int self, int first,
                          int last, float slope, float offset, float white) {
  LOCAL float tile[TILES];
  LOCAL float column_sums[BUFFERS * ROWS * SUM_PITCH];
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS * STRIP;
  const int x0 = GROUP_X * WIDE, y0 = (GROUP_Y + group_row) * ROWS;
  const int corner = origin + (y0 - RADIUS) * pitch + x0 - RADIUS;
  float own[PLANES][DEPTH];
  load_column(own, here + (corner + strip * pitch + column), pitch, plane);

  // Sums of the pixels of this work-item: of weights, and of weighted differences from the pixel itself.
  float total[ROUNDS][RUN], best[ROUNDS][RUN], centre[ROUNDS][VALUES][RUN], sum[ROUNDS][VALUES][RUN];
  UNROLL for (int k = 0; k < ROUNDS; k++) {
    const int task = ITEM + k * ITEMS, row = task % ROWS, x = x0 + task / ROWS * RUN;
    if (task < RUNS * ROWS)
      UNROLL for (int l = 0; l < RUN; l++) {
        const int at = (y0 + row) * state_pitch + x + l;
        total[k][l] = first ? 0.0f : state[at];
        best[k][l] = !BEST || first ? LEAST : state[at + state_plane];
#if !TOTALS
        UNROLL for (int c = 0; c < CHANNELS; c++) {
          centre[k][c][l] = here[origin + (c + (GUIDED ? PLANES : 0)) * plane + (y0 + row) * pitch + x + l];
          sum[k][c][l] = first ? 0.0f : state[at + (2 + c) * state_plane];
        }
#endif
      }
  }

  int buffer = 0;
  NO_UNROLL for (int from_y = 0; from_y < SIDE; from_y += SPAN_Y)
  NO_UNROLL for (int from_x = 0; from_x < SIDE; from_x += SPAN_X) {
    const int count_x = MIN(SPAN_X, SIDE - from_x), count_y = MIN(SPAN_Y, SIDE - from_y);
    GLOBAL const float* start = there + (corner + (from_y - SEARCH) * pitch + from_x - SEARCH);
    FROM samples = load_tile(tile, start, pitch, plane, count_x, count_y);
    NO_UNROLL for (int j = 0; j < count_y; j++)
    NO_UNROLL for (int i = 0; i < count_x; i++) {
      if (BEST && self && from_y + j == SEARCH && from_x + i == SEARCH) continue;
      LOCAL_PTR float* sums = column_sums + buffer * (ROWS * SUM_PITCH);
      if (BUFFERS == 2) buffer ^= 1;
      sum_column(sums + strip * SUM_PITCH + column, samples + (strip + j) * ROW_STEP + column + i, own, pitch, plane);
      BARRIER();
      UNROLL for (int k = 0; k < ROUNDS; k++) {
        const int task = ITEM + k * ITEMS, row = task % ROWS, run = task / ROWS * RUN;
        if (task < RUNS * ROWS) {
          float distances[RUN];
          sum_run(distances, sums + row * SUM_PITCH + run);
#if GUIDED
          GLOBAL const float* values = start + PLANES * plane + (row + RADIUS + j) * pitch + RADIUS + run + i;
#define VALUE_STEP plane
#else
          FROM values = samples + (row + RADIUS + j) * ROW_STEP + RADIUS + run + i;
#define VALUE_STEP PLANE_STEP
#endif
          UNROLL for (int l = 0; l < RUN; l++) {
            const float w = weight(distances[l], slope, offset);
            total[k][l] += w;
            if (BEST) best[k][l] = FMAX(best[k][l], w);
#if !TOTALS
            UNROLL for (int c = 0; c < CHANNELS; c++)
              sum[k][c][l] = FMA(w, values[c * VALUE_STEP + l] - centre[k][c][l], sum[k][c][l]);
#endif
          }
        }
      }
      if (BUFFERS == 1) BARRIER();
    }
  }

  UNROLL for (int k = 0; k < ROUNDS; k++) {
    const int task = ITEM + k * ITEMS, y = y0 + task % ROWS, x = x0 + task / ROWS * RUN;
    if (task < RUNS * ROWS)
      UNROLL for (int l = 0; l < RUN; l++) {
        const int at = y * state_pitch + x + l;
        const float own_part = BEST ? best[k][l] : 0.0f;
#if TOTALS
        // What a patch's weights are multiplied with, and what its own weight is then.
        const float scale = 1.0f / ((total[k][l] + own_part) * (float)(PATCH * PATCH));
        state[at] = last ? scale : total[k][l];
        if (BEST) state[at + state_plane] = last ? own_part * scale : best[k][l];
#else
        if (!last) {
          state[at] = total[k][l];
          if (BEST) state[at + state_plane] = best[k][l];
          UNROLL for (int c = 0; c < CHANNELS; c++) state[at + (2 + c) * state_plane] = sum[k][c][l];
        } else if (x + l < width && y < height) {
          UNROLL for (int c = 0; c < CHANNELS; c++) {
            const float v = centre[k][c][l] + sum[k][c][l] / (total[k][l] + own_part);
            STORE_SAMPLE(out, (c * height + y) * width + x + l, v);
          }
        }
#endif
      }
  }
}

// PI-PD's first kernel: every pixel's direction of least variance, and the sums over its segment.
//
// A work-group takes COLUMNS x ROWS pixels, a work-item STRIP of a column. Where the loop over directions is unrolled,
// offsets are constants, pixels of a strip share what they load, and directions what they begin with.
//
// Rows and planes of what is made are whole work-groups, so that nothing hangs on a condition.
//
// Options beside those of likelihood.cl: COLUMNS, ROWS, STRIP, EACH (pragma of the loop over directions).

#define ITEMS (COLUMNS * (ROWS / STRIP))
#define PITCH (COLUMNS + 2 * AROUND)
#define TILE_ROWS (ROWS + 2 * AROUND)

KERNEL(ITEMS) isoline_segments(GLOBAL const float* RESTRICT z, GLOBAL best_t* RESTRICT best,
                               GLOBAL float* RESTRICT others, int pitch, int plane, int width, int height,
                               float middle) {
  LOCAL float tile[TILE_ROWS * PITCH];
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS * STRIP;
  const int x0 = GROUP_X * COLUMNS, y0 = GROUP_Y * ROWS;
  LOAD_CENTRED(tile, z, x0 - AROUND, y0 - AROUND, PITCH, TILE_ROWS, EXACT ? middle : 0.0f);
  BARRIER();

  LOCAL_PTR const float* own = tile + (strip + AROUND) * PITCH + column + AROUND;
  float least[STRIP];
  sums_t sums[STRIP];
  int direction[STRIP];
  float level[STRIP];
  UNROLL for (int r = 0; r < STRIP; r++) level[r] = EXACT ? 0.0f : own[r * PITCH];
  UNROLL for (int r = 0; r < STRIP; r++) least[r] = 3.4e38f, sums[r].x = sums[r].x2 = 0.0f, direction[r] = 0;
  EACH for (int d = 0; d < DIRECTIONS; d++) {
    if (d % (DIRECTIONS / 8) == 0) ORDER();
    UNROLL for (int r = 0; r < STRIP; r++) {
      sums_t s;
      UNROLL for (int i = 0; i < PIXELS; i++) {
        const float v = own[(r + segment_y[d * PIXELS + i]) * PITCH + segment_x[d * PIXELS + i]] - level[r];
        s.x = i == 0 ? v : s.x + v;
        s.x2 = i == 0 ? v * v : FMA(v, v, s.x2);
      }
      // Whole numbers below 2^24 for whole samples. Of other samples those are equal that differ by rounding only.
      float here = FMA((float)PIXELS, s.x2, -(s.x * s.x));
      if (!EXACT && here < 1e-6f * PIXELS * s.x2) here = 0.0f;
      if (here < least[r]) {
        direction[r] = d;
        sums[r] = s;
      }
      least[r] = FMIN(least[r], here);
    }
  }

  const int to = (y0 + strip) * pitch + x0 + column;
  UNROLL for (int r = 0; r < STRIP; r++) {
    best_t b;
    SET_BEST(b, sums[r], direction[r], level[r]);
    best[to + r * pitch] = b;
  }

  // The other planes follow luma.
  NO_UNROLL for (int c = 1; c < CHANNELS; c++) {
    BARRIER();
    LOAD_CENTRED(tile, z + c * (width * height), x0 - AROUND, y0 - AROUND, PITCH, TILE_ROWS, 0.0f);
    BARRIER();
    UNROLL for (int r = 0; r < STRIP; r++) {
      const int d = direction[r];
      float sum = 0.0f;
      for (int i = 0; i < PIXELS; i++) sum += own[(r + segment_y[d * PIXELS + i]) * PITCH + segment_x[d * PIXELS + i]];
      others[(c - 1) * plane + to + r * pitch] = sum;
    }
  }
}

// The lines that hold most of a residual (Plan, `choose`): a work-group takes WIDE x HIGH pixels and all directions, a few
// (GROUP) at a time. A work-item makes the means of lines and sums of their squares down a column; another takes up the
// sums along a row, and keeps what was chosen for the RUN pixels of its own.
//
// Sums over BLOCK values are made of two parts, one up to a border between blocks and one from there on, which grow by
// one value at a time: no value is subtracted again. Two blocks of values give BLOCK + 1 sums.
//
// Options: LINES, LENGTH of a segment; LINE_Y and LINE_X, the pixels of every line on one side of its middle; RADIUS of
// the square of which energy is the mean; RUNS x STRIPS that a work-group has of RUN pixels; ITEMS; CHANNELS; SECOND (1:
// means of another picture over the same lines are wanted, too); UNROLLED; COUNTED (1: behind the planes of `c` is the
// number of frames that each pixel is the average of: so much less is its noise).

#define BLOCK (2 * RADIUS + 1)
#define RUN (BLOCK + 1)
#define WIDE (RUNS * RUN)
#define HIGH (STRIPS * RUN)
#define SUM_COLUMNS (WIDE + 2 * RADIUS)
#define REACH (RADIUS + LENGTH)
#define TILE_W (WIDE + 2 * REACH)
#define TILE_H (HIGH + 2 * REACH)
#define TILE (TILE_W * TILE_H)
#define KINDS (1 + SECOND)
// Odd: neighbouring work-items take neighbouring rows.
#define SUM_PITCH (SUM_COLUMNS | 1)
#define MEAN_PITCH (WIDE | 1)
#define MEANS (HIGH * MEAN_PITCH)
#define PART (1.0f / (float)(2 * LENGTH + 1))

TABLE int line_y[LINES * LENGTH] = LINE_Y;
TABLE int line_x[LINES * LENGTH] = LINE_X;

#if UNROLLED
#define EACH UNROLL
#else
#define EACH NO_UNROLL
#endif

// The mean of the line `d` through row `r` of a column.
FN float line(LOCAL_PTR const float* p, int d, int r) {
  float sum = p[r * TILE_W];
  EACH for (int k = 0; k < LENGTH; k++) {
    const int y = line_y[d * LENGTH + k], x = line_x[d * LENGTH + k];
    sum += p[(r + y) * TILE_W + x] + p[(r - y) * TILE_W - x];
  }
  return sum * PART;
}

// Sums of BLOCK neighbours, in the first RUN places.
FN void slide(float a[2 * BLOCK]) {
  UNROLL for (int i = BLOCK - 2; i >= 0; i--) a[i] += a[i + 1];
  UNROLL for (int i = BLOCK + 1; i < 2 * BLOCK; i++) a[i] += a[i - 1];
  UNROLL for (int i = 1; i < BLOCK; i++) a[i] += a[BLOCK + i - 1];
  a[BLOCK] = a[2 * BLOCK - 1];
}

// What a work-group has in local memory out to a plane, row by row.
FN void put(LOCAL_PTR float* tile, const float v[RUN], int row, int run, GLOBAL float* RESTRICT to, int x0, int y0,
            int width, int height) {
  BARRIER();
  if (run < RUNS)
    UNROLL for (int i = 0; i < RUN; i++) tile[row * MEAN_PITCH + run * RUN + i] = v[i];
  BARRIER();
  for (int i = ITEM; i < WIDE * HIGH; i += ITEMS) {
    const int x = i % WIDE, y = i / WIDE;
    if (x0 + x < width && y0 + y < height) to[(y0 + y) * width + x0 + x] = tile[y * MEAN_PITCH + x];
  }
}

// The residual is `a` less `b`, the other one `c` less `b`. Behind one another in `chosen`: energies of all channels,
// means of the lines, means of the others.
KERNEL(ITEMS) isoline_choose(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b, GLOBAL const float* RESTRICT c,
                             GLOBAL float* RESTRICT chosen, int width, int height, float sharpness) {
  LOCAL float tiles[KINDS * CHANNELS * TILE];
  LOCAL float sums[GROUP * HIGH * SUM_PITCH];
  LOCAL float means[GROUP * KINDS * MEANS];
  const int x0 = GROUP_X * WIDE, y0 = GROUP_Y * HIGH, plane = width * height;
  UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
    const int at = ch * plane;
    load_tile(tiles + ch * TILE, a + at, b + at, 1, x0 - REACH, y0 - REACH, width, height, TILE_W, TILE_H, ITEMS);
    if (SECOND)
      load_tile(tiles + (CHANNELS + ch) * TILE, c + at, b + at, 1, x0 - REACH, y0 - REACH, width, height, TILE_W, TILE_H,
                ITEMS);
  }
  BARRIER();

  // Down a column; beyond the left and right border of the picture its first and last column count.
  const int column = ITEM % SUM_COLUMNS, strip = ITEM / SUM_COLUMNS * RUN;
  const int from = (strip + LENGTH) * TILE_W + inside(x0 - RADIUS + column, width) - x0 + REACH;
  const int above = y0 + strip - RADIUS, centre = column - RADIUS;
  // Along a row.
  const int row = ITEM % HIGH, run = ITEM / HIGH;
  float energy[CHANNELS][RUN], mean[CHANNELS][RUN], other[SECOND ? CHANNELS : 1][RUN];
  UNROLL for (int ch = 0; ch < CHANNELS; ch++)
    UNROLL for (int i = 0; i < RUN; i++) {
      energy[ch][i] = 0.0f, mean[ch][i] = 0.0f;
      if (SECOND) other[ch][i] = 0.0f;
    }

#if COUNTED
  float sharp[RUN];
  UNROLL for (int i = 0; i < RUN; i++) {
    const int at = inside(y0 + row, height) * width + inside(x0 + run * RUN + i, width);
    sharp[i] = sharpness * c[CHANNELS * plane + at];
  }
#define SHARP(i) sharp[i]
#else
#define SHARP(i) sharpness
#endif

  EACH for (int first = 0; first < LINES; first += GROUP) {
    float step[GROUP][RUN];
    UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
      if (strip < HIGH) {
        LOCAL_PTR const float* p = tiles + ch * TILE + from;
        float squares[GROUP][2 * BLOCK];
        UNROLL for (int r = 0; r < 2 * BLOCK; r++)
          UNROLL for (int g = 0; g < GROUP; g++) {
            const float m = line(p, first + g, r);
            squares[g][r] = m * m;
            if (r >= RADIUS && r < RADIUS + RUN && centre >= 0 && centre < WIDE)
              means[g * KINDS * MEANS + (strip + r - RADIUS) * MEAN_PITCH + centre] = m;
          }
        // So do the first and the last row.
        if (above < 0 || above + 2 * BLOCK > height)
          UNROLL for (int g = 0; g < GROUP; g++) {
            UNROLL for (int r = RADIUS - 1; r >= 0; r--) squares[g][r] = above + r < 0 ? squares[g][r + 1] : squares[g][r];
            UNROLL for (int r = 1; r < 2 * BLOCK; r++) squares[g][r] = above + r >= height ? squares[g][r - 1] : squares[g][r];
          }
        UNROLL for (int g = 0; g < GROUP; g++) {
          slide(squares[g]);
          UNROLL for (int r = 0; r < RUN; r++) sums[(g * HIGH + strip + r) * SUM_PITCH + column] = squares[g][r];
        }
        if (SECOND && centre >= 0 && centre < WIDE) {
          LOCAL_PTR const float* q = tiles + (CHANNELS + ch) * TILE + from;
          UNROLL for (int r = RADIUS; r < RADIUS + RUN; r++)
            UNROLL for (int g = 0; g < GROUP; g++)
              means[(g * KINDS + 1) * MEANS + (strip + r - RADIUS) * MEAN_PITCH + centre] = line(q, first + g, r);
        }
      }
      BARRIER();
      if (run < RUNS)
        UNROLL for (int g = 0; g < GROUP; g++) {
          LOCAL_PTR const float* p = sums + (g * HIGH + row) * SUM_PITCH + run * RUN;
          LOCAL_PTR const float* q = means + g * KINDS * MEANS + row * MEAN_PITCH + run * RUN;
          float e[2 * BLOCK];
          UNROLL for (int i = 0; i < 2 * BLOCK; i++) e[i] = p[i];
          slide(e);
          UNROLL for (int i = 0; i < RUN; i++) {
            const float gain = FMA(e[i], 1.0f / (float)(BLOCK * BLOCK), -energy[ch][i]);
            if (ch == 0) step[g][i] = first + g == 0 ? 1.0f : SATURATE(FMA(SHARP(i), gain, 0.5f));
            energy[ch][i] = FMA(step[g][i], gain, energy[ch][i]);
            mean[ch][i] = FMA(step[g][i], q[i] - mean[ch][i], mean[ch][i]);
            if (SECOND) other[ch][i] = FMA(step[g][i], q[MEANS + i] - other[ch][i], other[ch][i]);
          }
        }
      BARRIER();
    }
  }
  UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
    put(means, energy[ch], row, run, chosen + ch * plane, x0, y0, width, height);
    put(means, mean[ch], row, run, chosen + (CHANNELS + ch) * plane, x0, y0, width, height);
    if (SECOND) put(means, other[ch], row, run, chosen + (2 * CHANNELS + ch) * plane, x0, y0, width, height);
  }
}

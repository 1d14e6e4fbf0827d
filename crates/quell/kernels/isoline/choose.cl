// The lines that hold most of a residual (Plan, `choose`): a work-group takes WIDE x HIGH pixels and all directions, GROUP at
// a time. A work-item makes the sums over lines through its column, gives away those of their squares, and keeps what was
// chosen for its own pixels.
//
// Options beside those of boxes: LINES, LENGTH of a segment; LINE_Y and LINE_X, the pixels of every line on one side of its
// middle; CHANNELS; SECOND (1: means of another picture over the same lines are wanted, too); UNROLLED (1: offsets are
// constants of the code).

#define ITEMS (COLUMNS * STRIPS)
#define REACH (MARGIN + LENGTH)
#define TILE_W (WIDE + 2 * REACH)
#define TILE_H (HIGH + 2 * REACH)
#define TILE (TILE_W * TILE_H)
#define SUMS (GROUP * STRIPS * CELLS * COLUMNS)
#define PART (1.0f / (float)(2 * LENGTH + 1))
// From sums over squares of sums over lines to energies.
#define ENERGY (PART * PART / (float)(SIDE * SIDE))

TABLE int line_y[LINES * LENGTH] = LINE_Y;
TABLE int line_x[LINES * LENGTH] = LINE_X;

// The sum over a line through a pixel: `at` is where its pixels are on one side.
FN float line(LOCAL_PTR const float* p, const int at[LENGTH]) {
  float sum = p[0];
  UNROLL for (int k = 0; k < LENGTH; k++) sum += p[at[k]] + p[-at[k]];
  return sum;
}

// A column's sums over the lines from `first` on, and of their squares over the rows of boxes, which go to `sums`. Where
// `is_border`, the first and the last row of the picture count for those beyond. It pays to have `first` as a constant.
FN void down(LOCAL_PTR const float* p, LOCAL_PTR const float* q, LOCAL_PTR float* sums, float means[GROUP][STRIP],
             float others[GROUP][STRIP], int first, const int is_border, int y, int height) {
  float units[GROUP][UNITS];
  int at[GROUP][LENGTH];
  UNROLL for (int g = 0; g < GROUP; g++)
    UNROLL for (int k = 0; k < LENGTH; k++)
      at[g][k] = line_y[(first + g) * LENGTH + k] * TILE_W + line_x[(first + g) * LENGTH + k];
  UNROLL for (int r = 0; r < DEPTH; r++) {
    LOCAL_PTR const float* row = p + (is_border ? inside(y + r, height) - y : r) * TILE_W;
    UNROLL for (int g = 0; g < GROUP; g++) {
      const float m = line(row, at[g]);
      units[g][r / UNIT] = r % UNIT == 0 ? m * m : FMA(m, m, units[g][r / UNIT]);
      if (r >= MARGIN && r < MARGIN + STRIP) means[g][r - MARGIN] = m;
    }
  }
  UNROLL for (int g = 0; g < GROUP; g++)
    UNROLL for (int j = 0; j < CELLS; j++) {
      float sum = units[g][j * CELL / UNIT];
      UNROLL for (int k = 1; k < SIDE / UNIT; k++) sum += units[g][j * CELL / UNIT + k];
      sums[(g * STRIPS * CELLS + j) * COLUMNS] = sum;
    }
  if (SECOND)
    UNROLL for (int i = 0; i < STRIP; i++)
      UNROLL for (int g = 0; g < GROUP; g++) others[g][i] = line(q + (MARGIN + i) * TILE_W, at[g]);
}

// The residual is `a` less `b`, the other one `c` less `b`. Behind one another in `chosen`: of all channels the means of the
// lines, the means of the others, and the energies of the cells.
KERNEL(ITEMS) isoline_choose(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b, GLOBAL const float* RESTRICT c,
                             GLOBAL float* RESTRICT chosen, int width, int height, float sharpness) {
  LOCAL float tiles[KINDS * CHANNELS * TILE];
  ALIGN16 LOCAL float sums[2 * SUMS];
  const int x0 = GROUP_X * WIDE, y0 = GROUP_Y * HIGH, plane = width * height;
  UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
    GLOBAL const float *p = a + ch * plane, *less = b + ch * plane;
    LOAD_TILE(tiles + ch * TILE, p[at] - less[at], x0 - REACH, y0 - REACH, TILE_W, TILE_H, ITEMS)
#if SECOND
    GLOBAL const float* q = c + ch * plane;
    LOAD_TILE(tiles + (CHANNELS + ch) * TILE, q[at] - less[at], x0 - REACH, y0 - REACH, TILE_W, TILE_H, ITEMS)
#endif
  }
  BARRIER();

  // Beyond the left and right border of the picture its first and last column count.
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS, needed = MIN(column, WIDE + 2 * MARGIN - 1);
  const int from = (strip * STRIP + LENGTH) * TILE_W + inside(x0 - MARGIN + needed, width) - x0 + REACH;
  const int y = y0 + strip * STRIP - MARGIN, is_border = y < 0 || y + DEPTH > height;
  const int is_centre = column >= MARGIN && column < MARGIN + WIDE;
  const int box = is_centre ? (column - MARGIN) / CELL * CELL : 0;
  float energy[CHANNELS][CELLS], mean[CHANNELS][STRIP], other[CHANNELS][STRIP];
  UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
    UNROLL for (int j = 0; j < CELLS; j++) energy[ch][j] = 0.0f;
    UNROLL for (int i = 0; i < STRIP; i++) mean[ch][i] = 0.0f, other[ch][i] = 0.0f;
  }

  int buffer = 0;
  NO_UNROLL for (int first = 0; first < LINES; first += GROUP) {
    float step[GROUP][CELLS];
    UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
      LOCAL_PTR const float *p = tiles + ch * TILE + from, *q = p + (KINDS - 1) * CHANNELS * TILE;
      // Those of the last round are still being read.
      LOCAL_PTR float* rows = sums + buffer + strip * CELLS * COLUMNS;
      buffer ^= SUMS;
      float means[GROUP][STRIP], others[GROUP][STRIP];
      if (is_border) {
        down(p, q, rows + column, means, others, first, 1, y, height);
      } else {
#if UNROLLED
#define DOWN(n) \
  if (n * GROUP < LINES) down(p, q, rows + column, means, others, n * GROUP < LINES ? n * GROUP : 0, 0, y, height);
        BY_NUMBER(first / GROUP, DOWN)
#else
        down(p, q, rows + column, means, others, first, 0, y, height);
#endif
      }
      BARRIER();
      UNROLL for (int g = 0; g < GROUP; g++) {
        // The first line is taken whatever it holds.
        const float half_way = first + g == 0 ? 2.0f : 0.5f, sharp = first + g == 0 ? 0.0f : sharpness;
        UNROLL for (int j = 0; j < CELLS; j++) {
          const float gain = FMA(sum_row(rows + (g * STRIPS * CELLS + j) * COLUMNS + box), ENERGY, -energy[ch][j]);
          if (ch == 0) step[g][j] = SATURATE(FMA(sharp, gain, half_way));
          energy[ch][j] = FMA(step[g][j], gain, energy[ch][j]);
          UNROLL for (int i = j * CELL; i < j * CELL + CELL; i++) {
            mean[ch][i] = FMA(step[g][j], means[g][i] - mean[ch][i], mean[ch][i]);
            if (SECOND) other[ch][i] = FMA(step[g][j], others[g][i] - other[ch][i], other[ch][i]);
          }
        }
      }
    }
  }

  const int x = x0 + column - MARGIN, cells = CELLS_OF(width) * CELLS_OF(height);
  if (!is_centre || x >= width) return;
  UNROLL for (int i = 0; i < STRIP; i++) {
    const int row = y + MARGIN + i;
    if (row < height)
      UNROLL for (int ch = 0; ch < CHANNELS; ch++) {
        GLOBAL float* to = chosen + row * width + x;
        to[ch * plane] = mean[ch][i] * PART;
        if (SECOND) to[(CHANNELS + ch) * plane] = other[ch][i] * PART;
        if (i % CELL == 0 && column % CELL == MARGIN % CELL)
          chosen[KINDS * CHANNELS * plane + ch * cells + row / CELL * CELLS_OF(width) + x / CELL] = energy[ch][i / CELL];
      }
  }
}

// Pooling (Plan, `pool`): the average of the segments that fit a pixel's level. A work-group takes COLUMNS x ROWS pixels,
// a work-item STRIP of a column: what neighbours in a column and directions have in common is read and added once.
//
// Options: DIRECTIONS, SEGMENTS of a line, PIXELS of a segment; SEGMENT_Y and SEGMENT_X, the pixels of every direction's
// segment, END_Y and END_X, its ends; REACH of a line, 2 or more; CHANNELS; GUIDED (1: segments are compared on another
// picture, whose samples are the levels); DIRECT (1: samples are taken from global memory, which is for lines that local
// memory has no room for); UNROLLED (1: offsets are constants of the code); COUNTED (1: behind the planes of `z` is the
// number of frames that each pixel is the average of: so much less is its noise); INPUT, the type of `z`; FRESH (1: that is
// as samples were sent, and they are left in `kept` as floats).

#define ITEMS (COLUMNS * ROWS / STRIP)
#define TILE_W (COLUMNS + 2 * REACH)
#define TILE_H (ROWS + 2 * REACH)
#define TILE (TILE_W * TILE_H)
#define PLANES (CHANNELS + GUIDED)

TABLE int segment_y[DIRECTIONS * PIXELS] = SEGMENT_Y;
TABLE int segment_x[DIRECTIONS * PIXELS] = SEGMENT_X;
TABLE int end_y[DIRECTIONS] = END_Y;
TABLE int end_x[DIRECTIONS] = END_X;

#if UNROLLED
#define EACH UNROLL
#else
#define EACH NO_UNROLL
#endif

// A pixel's place in a plane: in local memory that of the strip's first pixel, else the plane itself and the pixel.
#if DIRECT
#define FROM GLOBAL const float*
#define AT(p, by, y, x) ((p)[inside(py + (y), height) * width + inside(px + (x), width)])
#else
#define FROM LOCAL_PTR const float*
#define AT(p, by, y, x) ((p)[((y) * TILE_W + (x)) * (by)])
#endif
// The guide and the first plane that is averaged lie sample by sample, so that both are loaded at once.
#define PAIRED (GUIDED && !DIRECT)
#define BY(plane) (PAIRED && (plane) < 2 ? 2 : 1)

// The sum over the segment of direction `d` that begins at row `y` and column `x`.
FN float segment(FROM p, const int by, int d, int y, int x, int py, int px, int width, int height) {
  float sum = AT(p, by, y + segment_y[d * PIXELS], x + segment_x[d * PIXELS]);
  EACH for (int k = 1; k < PIXELS; k++) sum += AT(p, by, y + segment_y[d * PIXELS + k], x + segment_x[d * PIXELS + k]);
  return sum;
}

#if PAIRED
// The sums over the segments of the first two planes.
FN float2 segments(FROM p, int d, int y, int x) {
  float2 sum = LOAD2(&AT(p, 2, y + segment_y[d * PIXELS], x + segment_x[d * PIXELS]));
  EACH for (int k = 1; k < PIXELS; k++) {
    const float2 v = LOAD2(&AT(p, 2, y + segment_y[d * PIXELS + k], x + segment_x[d * PIXELS + k]));
    sum.x += v.x, sum.y += v.y;
  }
  return sum;
}
#endif

KERNEL(ITEMS) isoline_pool(GLOBAL const INPUT* RESTRICT z, GLOBAL const float* RESTRICT guide,
                           GLOBAL SAMPLE* RESTRICT out,
#if FRESH
                           GLOBAL float* RESTRICT kept,
#endif
                           int width, int height, float scale, float level_scale, float mix, float tap0, float tap1,
                           float tap2, float white) {
  const int x0 = GROUP_X * COLUMNS, y0 = GROUP_Y * ROWS, plane = width * height;
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS * STRIP;
  const int px = x0 + column, py = y0 + strip;
  // What is compared first, then what is averaged, if that is not the same.
  FROM planes[PLANES];
#if DIRECT
  UNROLL for (int i = 0; i < PLANES; i++) planes[i] = GUIDED && i == 0 ? guide : z + (i - GUIDED) * plane;
#else
  ALIGN16 LOCAL float tiles[PLANES * TILE];
  UNROLL for (int i = 0; i < PLANES; i++) {
#if GUIDED
    GLOBAL const float* samples = i == 0 ? guide : z + (i - 1) * plane;
#else
    GLOBAL const INPUT* samples = z + i * plane;
#endif
    LOCAL_PTR float* tile = tiles + (BY(i) == 2 ? i : i * TILE);
    LOAD_TILE_BY(BY(i), tile, (float)samples[at], x0 - REACH, y0 - REACH, TILE_W, TILE_H, ITEMS)
    planes[i] = tile + ((strip + REACH) * TILE_W + column + REACH) * BY(i);
  }
  BARRIER();
#endif

  // Levels come in the unit in which a difference of 1 is too much.
  float level[STRIP], total[STRIP], sum[CHANNELS][STRIP];
#if GUIDED
  UNROLL for (int i = 0; i < STRIP; i++) level[i] = AT(planes[0], BY(0), i, 0) * level_scale;
#else
  const float taps[5] = {tap2, tap1, tap0, tap1, tap2};
  float rows[STRIP + 4];
  UNROLL for (int i = 0; i < STRIP + 4; i++) {
    rows[i] = 0.0f;
    UNROLL for (int k = 0; k < 5; k++) rows[i] = FMA(taps[k], AT(planes[0], BY(0), i - 2, k - 2), rows[i]);
  }
  UNROLL for (int i = 0; i < STRIP; i++) {
    level[i] = 0.0f;
    UNROLL for (int k = 0; k < 5; k++) level[i] = FMA(taps[k], rows[i + k], level[i]);
    level[i] *= level_scale;
  }
#endif
  UNROLL for (int i = 0; i < STRIP; i++) {
    total[i] = 0.0f;
    UNROLL for (int c = 0; c < CHANNELS; c++) sum[c][i] = 0.0f;
  }

#if COUNTED
  float count[STRIP];
  UNROLL for (int i = 0; i < STRIP; i++)
    count[i] = z[CHANNELS * plane + inside(py + i, height) * width + inside(px, width)];
#endif
  EACH for (int d = 0; d < DIRECTIONS; d++) {
#if UNROLLED
    if (d % (DIRECTIONS / 4) == 0) ORDER();
#endif
    float weight[STRIP];
    UNROLL for (int i = 0; i < STRIP; i++) weight[i] = 1.0f;
    EACH for (int k = 0; k < SEGMENTS; k++) {
      const int y = k * end_y[d], x = k * end_x[d];
      UNROLL for (int i = 0; i < STRIP; i++) {
        float v[PLANES];
#if PAIRED
        const float2 both = segments(planes[0], d, y + i, x);
        v[0] = both.x, v[1] = both.y;
#endif
        UNROLL for (int j = PAIRED ? 2 : 0; j < PLANES; j++)
          v[j] = segment(planes[j], BY(j), d, y + i, x, py, px, width, height);
        const float off = FMA(v[0], scale, -level[i]);
#if COUNTED
        weight[i] = SATURATE(FMA(-off * count[i], off, weight[i]));
#else
        weight[i] = SATURATE(FMA(-off, off, weight[i]));
#endif
        total[i] += weight[i];
        UNROLL for (int c = 0; c < CHANNELS; c++) sum[c][i] = FMA(weight[i], v[GUIDED + c], sum[c][i]);
      }
    }
  }

  UNROLL for (int i = 0; i < STRIP; i++) {
    if (px < width && py + i < height) {
      const int at = (py + i) * width + px;
      UNROLL for (int c = 0; c < CHANNELS; c++) {
        const float own = AT(planes[GUIDED + c], BY(GUIDED + c), i, 0);
        const float pooled = DIVIDE(own + sum[c][i], FMA((float)PIXELS, total[i], 1.0f));
#if GUIDED
        const float first = guide[c * plane + at];
        STORE_SAMPLE(out, c * plane + at, FMA(mix, pooled - first, first));
#else
        STORE_SAMPLE(out, c * plane + at, pooled);
#endif
#if FRESH
        kept[c * plane + at] = own;
#endif
      }
    }
  }
}

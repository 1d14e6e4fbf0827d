// PI-LD: from every pixel a line in every direction, each lengthened by the best segment that turns little and fits. A
// work-item takes a pixel.
//
// Options beside those of likelihood.cl: SEGMENTS (most of a line), TURN, TILED (1: local memory has room for all that
// lines can reach).

#define COLUMNS 32
#define ROWS 8
#define ITEMS (COLUMNS * ROWS)
#define LONGEST (1 + SEGMENTS * PIXELS)
// Directions to either side, of which no two are the same.
#define ASIDE_MOST MIN(TURN, DIRECTIONS / 2 - 1)

#if TILED
#define REACH (LENGTH * SEGMENTS + THICKNESS / 2)
#define PITCH (COLUMNS + 2 * REACH)
#define TILE_ROWS (ROWS + 2 * REACH)
#define FROM LOCAL_PTR const float*
#define SAMPLE_AT(y, x, to) (from[((y) - y0) * PITCH + (x) - x0 + (to)] - (EXACT ? 0.0f : level))
#define STEP(dy, dx) ((dy) * PITCH + (dx))
#else
#define TILE_ROWS 1
#define PITCH 1
#define FROM GLOBAL const float*
#define SAMPLE_AT(y, x, to) \
  (from[inside((y) + ((to) >> 8), height) * width + inside((x) + ((to) & 255) - 128, width)] - level)
#define STEP(dy, dx) ((dy) * 256 + (dx) + 128)
#endif

// Exact where it is compared: floats are as long as n^2 128^2 is below 2^24.
#if EXACT && LONGEST > 31
typedef uint spread_t;
#define SPREAD(n, s) whole_spread(n, s)
#else
typedef float spread_t;
#define SPREAD(n, s) spread(n, s)
#endif

// Code for every pixel, as long as it is not too much.
#if PIXELS <= 10
#define EACH_PIXEL UNROLL
#else
#define EACH_PIXEL NO_UNROLL
#endif

FN sums_t segment(FROM from, LOCAL_PTR const int* steps, int y, int x, int y0, int x0, int width, int height,
                  float level, int d) {
  sums_t s;
  s.x = s.x2 = 0.0f;
  EACH_PIXEL for (int i = 0; i < PIXELS; i++) {
    const float v = SAMPLE_AT(y, x, steps[d * PIXELS + i]);
    s.x += v;
    s.x2 = FMA(v, v, s.x2);
  }
  return s;
}

KERNEL(ITEMS) isoline_deviation(GLOBAL const float* RESTRICT z, GLOBAL const float* RESTRICT tests,
                                GLOBAL SAMPLE* RESTRICT out, int group_row, int width, int height, float middle,
                                float white) {
  LOCAL float tile[TILE_ROWS * PITCH];
  LOCAL int steps[DIRECTIONS * PIXELS], ends[DIRECTIONS];
  const int x0 = GROUP_X * COLUMNS, y0 = (GROUP_Y + group_row) * ROWS, pixels = width * height;
  for (int i = ITEM; i < DIRECTIONS * PIXELS; i += ITEMS) steps[i] = STEP(segment_y[i], segment_x[i]);
  if (ITEM < DIRECTIONS) ends[ITEM] = segment_y[END(ITEM)] * 256 + segment_x[END(ITEM)] + 128;
#if TILED
  LOAD_CENTRED(tile, z, x0 - REACH, y0 - REACH, PITCH, TILE_ROWS, EXACT ? middle : 0.0f);
  FROM from = tile + REACH * PITCH + REACH;
#else
  FROM from = z;
#endif
  BARRIER();
  const int at_x = x0 + ITEM % COLUMNS, at_y = y0 + ITEM / COLUMNS;
  if (at_x >= width || at_y >= height) return;
  const int start = at_y * width + at_x;
  const float level = EXACT ? middle : z[start];
  const sums_t centre = one(z[start] - level);

  // Of the longest lines the one with the smallest variance.
  int longest = 0, direction = 0;
  spread_t least = 0;
  float mean = 0.0f;
#if CHANNELS > 1
  float sum[CHANNELS];
#endif
  // Planes beside luma follow its line, which is walked once more for them.
  NO_UNROLL for (int round = 0; round < (CHANNELS > 1 ? DIRECTIONS + 1 : DIRECTIONS); round++) {
    const int again = CHANNELS > 1 && round == DIRECTIONS;
    const int d = again ? direction : round;
    int last = d, count = 1, y = at_y, x = at_x;
    sums_t line = add(centre, segment(from, steps, y, x, y0, x0, width, height, level, d));
#if CHANNELS > 1
    UNROLL for (int c = 1; c < CHANNELS; c++) sum[c] = z[c * pixels + start];
#endif
    for (;;) {
#if CHANNELS > 1
      for (int i = 0; again && i < PIXELS; i++) {
        const int to_y = inside(y + segment_y[last * PIXELS + i], height);
        const int to_x = inside(x + segment_x[last * PIXELS + i], width);
        UNROLL for (int c = 1; c < CHANNELS; c++) sum[c] += z[c * pixels + to_y * width + to_x];
      }
#endif
      if (count == SEGMENTS) break;
      y = inside(y + (ends[last] >> 8), height);
      x = inside(x + (ends[last] & 255) - 128, width);
      const float n = (float)(1 + count * PIXELS);
      int found = -1;
      spread_t smallest = 0;
      sums_t longer = line;
      for (int q = -ASIDE_MOST; q <= ASIDE_MOST; q++) {
        const int next = (last + q + DIRECTIONS) % DIRECTIONS;
        const sums_t more = segment(from, steps, y, x, y0, x0, width, height, level, next), with = add(line, more);
        const spread_t s = SPREAD(n + (float)PIXELS, with);
        if ((found < 0 || s < smallest) && one_level(n, line, (float)PIXELS, more, tests + TEST * (count - 1))) {
          found = next;
          smallest = s;
          longer = with;
        }
      }
      if (found < 0) break;
      line = longer;
      last = found;
      count++;
    }
    if (again) break;
    const float n = (float)(1 + count * PIXELS);
    const spread_t s = SPREAD(n, line);
    if (count > longest || (count == longest && s < least)) {
      longest = count;
      least = s;
      direction = d;
      mean = DIVIDE(line.x, n);
    }
  }
  const float n = (float)(1 + longest * PIXELS);
#if WANTED
  out[start] = WANTED == 1 ? (float)direction : n;
#else
  STORE_SAMPLE(out, start, mean + level);
#if CHANNELS > 1
  UNROLL for (int c = 1; c < CHANNELS; c++) STORE_SAMPLE(out, c * pixels + start, DIVIDE(sum[c], n));
#endif
#endif
}

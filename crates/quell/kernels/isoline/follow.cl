// PI-PD's second kernel: lines that follow the directions found beforehand. A work-item takes a pixel.
//
// Options beside those of likelihood.cl: SEGMENTS (most of a line), TURN.

#define ITEMS 256
#define ROWS (ITEMS / 32)

KERNEL(ITEMS) isoline_follow(GLOBAL const float* RESTRICT z, GLOBAL const best_t* RESTRICT best,
                             GLOBAL const float* RESTRICT others, GLOBAL const float* RESTRICT tests,
                             GLOBAL SAMPLE* RESTRICT out, int pitch, int plane, int width, int height, float middle,
                             float white) {
  LOCAL int end_y[DIRECTIONS], end_x[DIRECTIONS];
  if (ITEM < DIRECTIONS) {
    end_y[ITEM] = segment_y[END(ITEM)];
    end_x[ITEM] = segment_x[END(ITEM)];
  }
  BARRIER();
  int x = GROUP_X * 32 + ITEM % 32, y = GROUP_Y * ROWS + ITEM / 32;
  if (x >= width || y >= height) return;
  const int start = y * width + x, pixels = width * height;
  int there = y * pitch + x;
  best_t b = best[there];
  const int first = BEST_DIRECTION(b);
  int last = first;
  const float level = EXACT ? middle : z[start];
  sums_t line = add(one(z[start] - level), best_sums(b, level));
#if CHANNELS > 1
  float sum[CHANNELS];
  UNROLL for (int c = 1; c < CHANNELS; c++) sum[c] = z[c * pixels + start] + others[(c - 1) * plane + there];
#endif
  float n = (float)(1 + PIXELS);
  for (int k = 1; k < SEGMENTS; k++) {
    y = inside(y + end_y[last], height);
    x = inside(x + end_x[last], width);
    there = y * pitch + x;
    b = best[there];
    const int next = BEST_DIRECTION(b), apart = next > last ? next - last : last - next;
    const sums_t more = best_sums(b, level);
    if (MIN(apart, DIRECTIONS - apart) > TURN || !one_level(n, line, (float)PIXELS, more, tests + TEST * (k - 1))) break;
    line = add(line, more);
#if CHANNELS > 1
    UNROLL for (int c = 1; c < CHANNELS; c++) sum[c] += others[(c - 1) * plane + there];
#endif
    n += (float)PIXELS;
    last = next;
  }
#if WANTED
  out[start] = WANTED == 1 ? (float)first : n;
#else
  STORE_SAMPLE(out, start, DIVIDE(line.x, n) + level);
#if CHANNELS > 1
  UNROLL for (int c = 1; c < CHANNELS; c++) STORE_SAMPLE(out, c * pixels + start, DIVIDE(sum[c], n));
#endif
#endif
}

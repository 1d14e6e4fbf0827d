// The edge detector of the hybrid filter: eight segments around a pixel, split five (with the pixel) to three in eight
// ways. A work-item takes a pixel. What lines made is replaced where there is at most one edge.

#define ITEMS 256
#define COLUMNS 32
#define ROWS (ITEMS / COLUMNS)
#define PITCH (COLUMNS + 2 * LENGTH)
#define TILE_ROWS (ROWS + 2 * LENGTH)
#define ARM(i, k) own[segment_y[THIN((i) * (DIRECTIONS / 8), k)] * PITCH + segment_x[THIN((i) * (DIRECTIONS / 8), k)]]

KERNEL(ITEMS) isoline_star(GLOBAL const float* RESTRICT z, GLOBAL const float* RESTRICT test,
                           GLOBAL SAMPLE* RESTRICT out, int width, int height, float middle, float white) {
  LOCAL float tile[TILE_ROWS * PITCH];
  const int x0 = GROUP_X * COLUMNS, y0 = GROUP_Y * ROWS, pixels = width * height;
  const int x = x0 + ITEM % COLUMNS, y = y0 + ITEM / COLUMNS, start = y * width + x;
  LOCAL_PTR const float* own = tile + (ITEM / COLUMNS + LENGTH) * PITCH + ITEM % COLUMNS + LENGTH;
  LOAD_CENTRED(tile, z, x0 - LENGTH, y0 - LENGTH, PITCH, TILE_ROWS, EXACT ? middle : 0.0f);
  BARRIER();
  const float level = EXACT ? 0.0f : own[0];
  sums_t arms[8], total = one(own[0] - level);
  UNROLL for (int i = 0; i < 8; i++) {
    arms[i] = one(ARM(i, 0) - level);
    UNROLL for (int k = 1; k < LENGTH; k++) {
      const float v = ARM(i, k) - level;
      arms[i].x += v;
      arms[i].x2 = FMA(v, v, arms[i].x2);
    }
    total = add(total, arms[i]);
  }
  int count = 0, side = 0;
  float sum = total.x;
  UNROLL for (int i = 0; i < 8; i++) {
    const sums_t low = add(add(arms[(i + 5) % 8], arms[(i + 6) % 8]), arms[(i + 7) % 8]);
    sums_t high;
    high.x = total.x - low.x;
    high.x2 = total.x2 - low.x2;
    if (!one_level((float)(5 * LENGTH + 1), high, (float)(3 * LENGTH), low, test)) {
      count++;
      side = i;
      sum = high.x;
    }
  }
  const int mine = x < width && y < height;
  const float n = (float)((count == 0 ? 8 : 5) * LENGTH + 1);
#if WANTED == 3
  if (mine) out[start] = (float)count;
#elif WANTED == 2
  if (mine && count < 2) out[start] = n;
#else
  if (mine && count < 2) STORE_SAMPLE(out, start, DIVIDE(sum, n) + (EXACT ? middle : level));
  // The other planes: all arms, or the five from the edge's side on.
  NO_UNROLL for (int c = 1; c < CHANNELS; c++) {
    BARRIER();
    LOAD_CENTRED(tile, z + c * pixels, x0 - LENGTH, y0 - LENGTH, PITCH, TILE_ROWS, 0.0f);
    BARRIER();
    sum = own[0];
    UNROLL for (int i = 0; i < 8; i++) {
      float arm = 0.0f;
      UNROLL for (int k = 0; k < LENGTH; k++) arm += ARM(i, k);
      sum += count == 0 || (i - side + 8) % 8 < 5 ? arm : 0.0f;
    }
    if (mine && count < 2) STORE_SAMPLE(out, c * pixels + start, DIVIDE(sum, n));
  }
#endif
}

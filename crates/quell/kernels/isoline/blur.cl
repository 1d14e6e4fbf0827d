// The small Gaussian of the second round, of every plane: GROUP_Y counts the rows of tiles of all of them. A work-item takes
// BLUR_STRIP pixels of a column.

#define BLUR_W 64
#define BLUR_H 32
#define BLUR_STRIP 8
#define BLUR_ITEMS 256
#define BLUR_TILE_W (BLUR_W + 4)
#define BLUR_TILE_H (BLUR_H + 4)

KERNEL(BLUR_ITEMS) isoline_blur(GLOBAL const float* RESTRICT from, GLOBAL float* RESTRICT to, int width, int height,
                                int tiles, float tap0, float tap1, float tap2) {
  LOCAL float tile[BLUR_TILE_W * BLUR_TILE_H];
  const int x0 = GROUP_X * BLUR_W, y0 = GROUP_Y % tiles * BLUR_H, plane = GROUP_Y / tiles * (width * height);
  GLOBAL const float* samples = from + plane;
  LOAD_TILE(tile, samples[at], x0 - 2, y0 - 2, BLUR_TILE_W, BLUR_TILE_H, BLUR_ITEMS)
  BARRIER();
  const int column = ITEM % BLUR_W, strip = ITEM / BLUR_W * BLUR_STRIP, x = x0 + column;
  LOCAL_PTR const float* p = tile + strip * BLUR_TILE_W + column;
  float rows[BLUR_STRIP + 4];
  UNROLL for (int i = 0; i < BLUR_STRIP + 4; i++) {
    LOCAL_PTR const float* q = p + i * BLUR_TILE_W;
    rows[i] = FMA(tap2, q[0] + q[4], FMA(tap1, q[1] + q[3], tap0 * q[2]));
  }
  UNROLL for (int i = 0; i < BLUR_STRIP; i++) {
    const int y = y0 + strip + i;
    const float v = FMA(tap2, rows[i] + rows[i + 4], FMA(tap1, rows[i + 1] + rows[i + 3], tap0 * rows[i + 2]));
    if (x < width && y < height) to[plane + y * width + x] = v;
  }
}

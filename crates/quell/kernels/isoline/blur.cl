// The small Gaussian of the second round, of every plane: GROUP_Y counts the rows of tiles of all of them.

#define BLUR_W 64
#define BLUR_H 16
#define BLUR_ITEMS 256

KERNEL(BLUR_ITEMS) isoline_blur(GLOBAL const float* RESTRICT from, GLOBAL float* RESTRICT to, int width, int height,
                                int tiles, float tap0, float tap1, float tap2) {
  LOCAL float tile[(BLUR_W + 4) * (BLUR_H + 4)];
  LOCAL float rows[BLUR_W * (BLUR_H + 4)];
  const int x0 = GROUP_X * BLUR_W, y0 = GROUP_Y % tiles * BLUR_H, plane = GROUP_Y / tiles * (width * height);
  load_tile(tile, from + plane, from, 0, x0 - 2, y0 - 2, width, height, BLUR_W + 4, BLUR_H + 4, BLUR_ITEMS);
  BARRIER();
  for (int i = ITEM; i < BLUR_W * (BLUR_H + 4); i += BLUR_ITEMS) {
    LOCAL_PTR const float* p = tile + (i / BLUR_W * (BLUR_W + 4) + i % BLUR_W);
    rows[i] = FMA(tap2, p[0] + p[4], FMA(tap1, p[1] + p[3], tap0 * p[2]));
  }
  BARRIER();
  for (int i = ITEM; i < BLUR_W * BLUR_H; i += BLUR_ITEMS) {
    const int x = x0 + i % BLUR_W, y = y0 + i / BLUR_W;
    LOCAL_PTR const float* p = rows + i;
    const float v = FMA(tap2, p[0] + p[4 * BLUR_W], FMA(tap1, p[BLUR_W] + p[3 * BLUR_W], tap0 * p[2 * BLUR_W]));
    if (x < width && y < height) to[plane + y * width + x] = v;
  }
}

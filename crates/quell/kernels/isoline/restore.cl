// What is put back of a residual (Plan: `line`, `two-round`), one plane.
//
// Options: RADIUS of the square of which energy is the mean; SECOND (1: the residual is the pilot less the blurred pilot,
// and what is put back is that of the noisy picture); COUNTED (1: behind the planes of `z` is the number of frames that
// each pixel is the average of).

#define REST_W 64
#define REST_H 16
#define REST_ITEMS 256
#define REST_TILE_W (REST_W + 2 * RADIUS)
#define REST_TILE_H (REST_H + 2 * RADIUS)

// First: `a` is the noisy picture, `b` the pooled one. Second: `a` is the pilot, `b` the same blurred, `z` the noisy picture.
KERNEL(REST_ITEMS) isoline_restore(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b,
                                   GLOBAL const float* RESTRICT z, GLOBAL const float* RESTRICT chosen,
                                   GLOBAL SAMPLE* RESTRICT out, int at, int channels, int width, int height,
                                   float line_noise, float pixel_noise, float share, float white) {
  LOCAL float tile[REST_TILE_W * REST_TILE_H];
  LOCAL float rows[REST_W * REST_TILE_H];
  const int x0 = GROUP_X * REST_W, y0 = GROUP_Y * REST_H, planes = channels * width * height;
  GLOBAL const float *energies = chosen + at, *means = energies + planes, *others = means + planes;
  for (int j = ITEM / 32; j < REST_TILE_H; j += REST_ITEMS / 32) {
    const int row = inside(y0 - RADIUS + j, height) * width;
    for (int i = ITEM % 32; i < REST_TILE_W; i += 32) {
      const int p = row + inside(x0 - RADIUS + i, width);
      const float rest = a[at + p] - b[at + p] - means[p];
      tile[j * REST_TILE_W + i] = rest * rest;
    }
  }
  BARRIER();
  for (int i = ITEM; i < REST_W * REST_TILE_H; i += REST_ITEMS) {
    LOCAL_PTR const float* p = tile + (i / REST_W * REST_TILE_W + i % REST_W);
    float sum = p[0];
    UNROLL for (int k = 1; k <= 2 * RADIUS; k++) sum += p[k];
    rows[i] = sum;
  }
  BARRIER();
  for (int i = ITEM; i < REST_W * REST_H; i += REST_ITEMS) {
    const int x = x0 + i % REST_W, y = y0 + i / REST_W, p = y * width + x;
    float t = rows[i];
    UNROLL for (int k = 1; k <= 2 * RADIUS; k++) t += rows[i + k * REST_W];
    t *= 1.0f / (float)((2 * RADIUS + 1) * (2 * RADIUS + 1));
    if (x < width && y < height) {
      float e = energies[p];
      const float base = b[at + p];
#if COUNTED
      // So many times less noise is so many times more energy.
      e *= z[planes + p], t *= z[planes + p];
#endif
#if SECOND
      const float m = others[p], r = z[at + p] - base;
      const float line = e / (e + line_noise), pixel = t / (t + pixel_noise);
      const float put = FMA(pixel, r - m, FMA(line, m, base));
      STORE_SAMPLE(out, at + p, FMA(share, a[at + p] - put, put));
#else
      const float m = means[p], r = a[at + p] - base;
      const float line = FMAX(0.0f, 1.0f - line_noise / e), pixel = FMAX(0.0f, 1.0f - pixel_noise / t);
      STORE_SAMPLE(out, at + p, FMA(pixel, r - m, FMA(line, m, base)));
#endif
    }
  }
}

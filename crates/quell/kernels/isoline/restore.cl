// What is put back of a residual (Plan: `line`, `two-round`), one plane.
//
// Options beside those of boxes: SECOND (1: the residual is the pilot less the blurred pilot, and what is put back is that
// of the noisy picture); COUNTED (1: behind the planes of `z` is the number of frames that each pixel is the average of).

#define ITEMS (COLUMNS * STRIPS)

// First: `a` is the noisy picture, `b` the pooled one. Second: `a` is the pilot, `b` the same blurred, `z` the noisy picture.
KERNEL(ITEMS) isoline_restore(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b,
                              GLOBAL const float* RESTRICT z, GLOBAL const float* RESTRICT chosen,
                              GLOBAL SAMPLE* RESTRICT out, int channel, int channels, int width, int height,
                              float line_noise, float pixel_noise, float share, float white) {
  ALIGN16 LOCAL float sums[STRIPS * CELLS * COLUMNS];
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS, plane = width * height, first = channel * plane;
  const int x = GROUP_X * WIDE + column - MARGIN, y = GROUP_Y * HIGH + strip * STRIP;
  GLOBAL const float *whole = a + first, *base = b + first, *noisy = z + first;
  GLOBAL const float *means = chosen + first, *others = means + channels * plane;
  GLOBAL const float* energies = chosen + KINDS * channels * plane + channel * (CELLS_OF(width) * CELLS_OF(height));
  const int at_column = inside(x, width);
  float units[UNITS], own[STRIP], under[STRIP], mean[STRIP];
  UNROLL for (int r = 0; r < DEPTH; r++) {
    const int at = inside(y - MARGIN + r, height) * width + at_column;
    const float w = whole[at], b = base[at], m = means[at], rest = w - b - m;
    if (r >= MARGIN && r < MARGIN + STRIP) own[r - MARGIN] = w, under[r - MARGIN] = b, mean[r - MARGIN] = m;
    units[r / UNIT] = r % UNIT == 0 ? rest * rest : FMA(rest, rest, units[r / UNIT]);
  }
  UNROLL for (int j = 0; j < CELLS; j++) {
    float sum = units[j * CELL / UNIT];
    UNROLL for (int k = 1; k < SIDE / UNIT; k++) sum += units[j * CELL / UNIT + k];
    sums[(strip * CELLS + j) * COLUMNS + column] = sum;
  }
  BARRIER();
  if (column < MARGIN || column >= MARGIN + WIDE || x >= width) return;
  UNROLL for (int i = 0; i < STRIP; i++) {
    const int at = (y + i) * width + x, box = (column - MARGIN) / CELL * CELL;
    float t = sum_row(sums + (strip * CELLS + i / CELL) * COLUMNS + box) * (1.0f / (float)(SIDE * SIDE));
    if (y + i < height) {
      float e = energies[(y + i) / CELL * CELLS_OF(width) + x / CELL];
#if COUNTED
      // So many times less noise is so many times more energy.
      e *= z[channels * plane + at], t *= z[channels * plane + at];
#endif
#if SECOND
      const float m = others[at], r = noisy[at] - under[i];
      const float put = FMA(DIVIDE(t, t + pixel_noise), r - m, FMA(DIVIDE(e, e + line_noise), m, under[i]));
      STORE_SAMPLE(out, first + at, FMA(share, own[i] - put, put));
#else
      const float line = FMAX(0.0f, 1.0f - DIVIDE(line_noise, e)), pixel = FMAX(0.0f, 1.0f - DIVIDE(pixel_noise, t));
      STORE_SAMPLE(out, first + at, FMA(pixel, own[i] - under[i] - mean[i], FMA(line, mean[i], under[i])));
#endif
    }
  }
}

// The estimate: sums of filtered patches over sums of their weights (DAB07 eq. 12). The weights stand at the patches'
// places; the denominator is their convolution with the aggregation window, along rows and then columns.
//
// Options: PATCH, WINDOW (the window's PATCH values), SAMPLE, WHOLE (samples are integers), PLANE_HALF.

#define FINISH_ITEMS 256
#define FINISH_COLUMNS 32
#define FINISH_ROWS 8
#define WEIGHT_COLUMNS (FINISH_COLUMNS + PATCH - 1)
#define WEIGHT_ROWS (FINISH_ROWS + PATCH - 1)

TABLE float window_values[PATCH] = {WINDOW};

// The estimate at the work-item's pixel of the group's FINISH_COLUMNS x FINISH_ROWS, less the centre of the planes.
FN float estimate(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights, LOCAL_PTR float* tile,
                  LOCAL_PTR float* lines, int pitch) {
  const int x = GROUP_X * FINISH_COLUMNS, y = GROUP_Y * FINISH_ROWS;
  // Patches stand up to PATCH - 1 pixels to the left and above; the margin is zero.
  for (int i = ITEM; i < WEIGHT_ROWS * WEIGHT_COLUMNS; i += FINISH_ITEMS) {
    const int row = i / WEIGHT_COLUMNS, column = i % WEIGHT_COLUMNS;
    tile[i] = weights[plane_at(x + column - (PATCH - 1), y + row - (PATCH - 1), pitch)];
  }
  BARRIER();
  for (int i = ITEM; i < WEIGHT_ROWS * FINISH_COLUMNS; i += FINISH_ITEMS) {
    LOCAL_PTR const float* from = tile + i / FINISH_COLUMNS * WEIGHT_COLUMNS + i % FINISH_COLUMNS;
    float sum = 0;
    UNROLL for (int k = 0; k < PATCH; k++) sum = FMA(window_values[k], from[PATCH - 1 - k], sum);
    lines[i] = sum;
  }
  BARRIER();
  float sum = 0;
  UNROLL for (int k = 0; k < PATCH; k++) sum = FMA(window_values[k], lines[ITEM + (PATCH - 1 - k) * FINISH_COLUMNS], sum);
  const int at = plane_at(x + ITEM % FINISH_COLUMNS, y + ITEM / FINISH_COLUMNS, pitch);
  // At the far edge of a tile there may be pixels that no patch covers: they are not used.
  return sums[at] / FMAX(sum, 1e-37f);
}

#define PIXEL_X (GROUP_X * FINISH_COLUMNS + ITEM % FINISH_COLUMNS)
#define PIXEL_Y (GROUP_Y * FINISH_ROWS + ITEM / FINISH_COLUMNS)

KERNEL(FINISH_ITEMS) bm3d_finish_plane(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                       GLOBAL plane_t* RESTRICT plane, int width, int height, int pitch) {
  LOCAL float tile[WEIGHT_ROWS * WEIGHT_COLUMNS];
  LOCAL float lines[WEIGHT_ROWS * FINISH_COLUMNS];
  const float value = estimate(sums, weights, tile, lines, pitch);
  if (PIXEL_X < width && PIXEL_Y < height) STORE_PLANE(plane, plane_at(PIXEL_X, PIXEL_Y, pitch), value);
}

KERNEL(FINISH_ITEMS) bm3d_finish_guide(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                       GLOBAL plane_t* RESTRICT plane, GLOBAL uchar* RESTRICT guide, int width,
                                       int height, int pitch, float centre, float step, float bias) {
  LOCAL float tile[WEIGHT_ROWS * WEIGHT_COLUMNS];
  LOCAL float lines[WEIGHT_ROWS * FINISH_COLUMNS];
  const float value = estimate(sums, weights, tile, lines, pitch);
  if (PIXEL_X < width && PIXEL_Y < height) {
    const int at = plane_at(PIXEL_X, PIXEL_Y, pitch);
    STORE_PLANE(plane, at, value);
    guide[at] = quantise(value + centre, step, bias);
  }
}

KERNEL(FINISH_ITEMS) bm3d_finish_samples(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                         GLOBAL SAMPLE* RESTRICT samples, int first, int width, int height, int pitch,
                                         float centre, float scale, float white) {
  LOCAL float tile[WEIGHT_ROWS * WEIGHT_COLUMNS];
  LOCAL float lines[WEIGHT_ROWS * FINISH_COLUMNS];
  const float value = (estimate(sums, weights, tile, lines, pitch) + centre) * scale;
  if (PIXEL_X < width && PIXEL_Y < height) {
#if WHOLE
    samples[first + PIXEL_Y * width + PIXEL_X] = (SAMPLE)(FMIN(FMAX(value, 0.0f), white) + 0.5f);
#else
    samples[first + PIXEL_Y * width + PIXEL_X] = value;
#endif
  }
}

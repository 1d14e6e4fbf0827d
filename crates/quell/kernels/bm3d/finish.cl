// The estimate: sums of filtered patches over sums of their weights (DAB07 eq. 12). The weights stand at the patches'
// places; the denominator is their convolution with the aggregation window, along rows and then columns.
//
// Options: PATCH, WINDOW (the window's PATCH values), SAMPLE, WHOLE (samples are integers), PLANE_HALF.

#define FINISH_ITEMS 256
#define FINISH_COLUMNS 64
#define FINISH_ROWS 16
#define FINISH_EACH 4  // rows of one column that a work-item does
#define WEIGHT_COLUMNS (FINISH_COLUMNS + PATCH - 1)
#define WEIGHT_ROWS (FINISH_ROWS + PATCH - 1)

TABLE float window_values[PATCH] = {WINDOW};

#define PIXEL_X (GROUP_X * FINISH_COLUMNS + ITEM % FINISH_COLUMNS)
#define PIXEL_Y(k) (GROUP_Y * FINISH_ROWS + FINISH_EACH * (ITEM / FINISH_COLUMNS) + (k))

// The denominators of the work-group's pixels: down the columns with a window that slides over the rows in registers,
// then along the rows.
FN void denominators(float* out, GLOBAL const float* RESTRICT weights, LOCAL_PTR float* tile, LOCAL_PTR float* lines,
                     int pitch) {
  const int x = GROUP_X * FINISH_COLUMNS, y = GROUP_Y * FINISH_ROWS;
  // Patches stand up to PATCH - 1 pixels to the left and above; the margin is zero.
  for (int i = ITEM; i < WEIGHT_ROWS * WEIGHT_COLUMNS; i += FINISH_ITEMS) {
    const int row = i / WEIGHT_COLUMNS, column = i % WEIGHT_COLUMNS;
    tile[i] = weights[plane_at(x + column - (PATCH - 1), y + row - (PATCH - 1), pitch)];
  }
  BARRIER();
  for (int i = ITEM; i < FINISH_ROWS / FINISH_EACH * WEIGHT_COLUMNS; i += FINISH_ITEMS) {
    const int row = FINISH_EACH * (i / WEIGHT_COLUMNS), column = i % WEIGHT_COLUMNS;
    // clang-format off: it misplaces the first UNROLL of a block
    float sums[FINISH_EACH];
    UNROLL for (int k = 0; k < FINISH_EACH; k++) sums[k] = 0;
    // clang-format on
    UNROLL for (int r = 0; r < FINISH_EACH + PATCH - 1; r++) {
      const float w = tile[(row + r) * WEIGHT_COLUMNS + column];
      UNROLL for (int k = 0; k < FINISH_EACH; k++) {
        if (r - k >= 0 && r - k < PATCH) sums[k] = FMA(window_values[PATCH - 1 - (r - k)], w, sums[k]);
      }
    }
    UNROLL for (int k = 0; k < FINISH_EACH; k++) lines[(row + k) * WEIGHT_COLUMNS + column] = sums[k];
  }
  BARRIER();
  UNROLL for (int k = 0; k < FINISH_EACH; k++) {
    LOCAL_PTR const float* from =
        lines + (FINISH_EACH * (ITEM / FINISH_COLUMNS) + k) * WEIGHT_COLUMNS + ITEM % FINISH_COLUMNS;
    float sum = 0;
    UNROLL for (int i = 0; i < PATCH; i++) sum = FMA(window_values[PATCH - 1 - i], from[i], sum);
    // At the far edge of a tile there may be pixels that no patch covers: they are not used.
    out[k] = FMAX(sum, 1e-37f);
  }
}

// For each of the work-item's pixels: `at` is its element, `value` the estimate less the centre of the planes.
#define FOR_PIXELS                                                            \
  LOCAL float tile[WEIGHT_ROWS * WEIGHT_COLUMNS];                             \
  LOCAL float lines[FINISH_ROWS * WEIGHT_COLUMNS];                            \
  float below[FINISH_EACH];                                                   \
  denominators(below, weights, tile, lines, pitch);                           \
  UNROLL for (int k = 0; k < FINISH_EACH; k++)                                \
    if (PIXEL_X < width && PIXEL_Y(k) < height)

#define AT plane_at(PIXEL_X, PIXEL_Y(k), pitch)
#define VALUE (sums[AT] / below[k])

KERNEL(FINISH_ITEMS) bm3d_finish_plane(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                       GLOBAL plane_t* RESTRICT plane, int width, int height, int pitch) {
  FOR_PIXELS STORE_PLANE(plane, AT, VALUE);
}

KERNEL(FINISH_ITEMS) bm3d_finish_guide(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                       GLOBAL plane_t* RESTRICT plane, GLOBAL uchar* RESTRICT guide, int width,
                                       int height, int pitch, float centre, float step, float bias) {
  FOR_PIXELS {
    const float value = VALUE;
    STORE_PLANE(plane, AT, value);
    guide[AT] = quantise(value + centre, step, bias);
  }
}

// In the place of the sums: for colours, of which every sample needs all channels, and for whatever goes on with channels.
KERNEL(FINISH_ITEMS) bm3d_finish_estimate(GLOBAL float* RESTRICT sums, GLOBAL const float* RESTRICT weights, int width,
                                          int height, int pitch) {
  FOR_PIXELS sums[AT] = VALUE;
}

FN SAMPLE stored(float value, float white) {
#if WHOLE
  return (SAMPLE)(FMIN(FMAX(value, 0.0f), white) + 0.5f);
#else
  return value;
#endif
}

// Only pixels from (left, top) on, and before (width, height), are written: samples that a caller lends get nothing but
// the core of a tile. Pixel (0, 0) is sample `first`, rows are `stride` samples apart.
KERNEL(FINISH_ITEMS) bm3d_finish_samples(GLOBAL const float* RESTRICT sums, GLOBAL const float* RESTRICT weights,
                                         GLOBAL SAMPLE* RESTRICT samples, int first, int stride, int left, int top,
                                         int width, int height, int pitch, float centre, float scale, float white) {
  FOR_PIXELS {
    if (PIXEL_X < left || PIXEL_Y(k) < top) continue;
    samples[first + PIXEL_Y(k) * stride + PIXEL_X] = stored((VALUE + centre) * scale, white);
  }
}

// Such an estimate, less `centre`, to samples.
KERNEL(FINISH_ITEMS) bm3d_finish_channel(GLOBAL const float* RESTRICT plane, GLOBAL SAMPLE* RESTRICT samples, int first,
                                         int width, int pitch, float centre, float scale, float white) {
  const int x = GROUP_X * FINISH_ITEMS + ITEM, y = GROUP_Y;
  if (x >= width) return;
  samples[first + y * width + x] = stored((plane[plane_at(x, y, pitch)] + centre) * scale, white);
}

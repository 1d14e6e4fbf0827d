// Red, green and blue into the channels of another colour space, as `ingest.cl` does it for channels, and back.
//
// Options: FROM and TO (uchar, ushort, float), WHOLE (TO is an integer), INVERSE (the rows of the matrix back), PLANE_HALF. A colour's plane begins at `first`, its rows are `stride` samples apart.

#define COLOR_ITEMS 128

TABLE float inverse_rows[9] = {INVERSE};

// A work-item takes four pixels of a row; what it writes behind the end of a row nobody reads.
KERNEL(COLOR_ITEMS) bm3d_ingest_color(GLOBAL const FROM* RESTRICT red, GLOBAL const FROM* RESTRICT green,
                                      GLOBAL const FROM* RESTRICT blue, GLOBAL plane_t* RESTRICT plane0,
                                      GLOBAL plane_t* RESTRICT plane1, GLOBAL plane_t* RESTRICT plane2,
                                      GLOBAL uint* RESTRICT guide, int first_red, int first_green, int first_blue,
                                      int stride_red, int stride_green, int stride_blue, int width, int pitch,
                                      float scale, float centre, float step, float bias) {
  const int x = 4 * (GROUP_X * COLOR_ITEMS + ITEM), y = GROUP_Y;
  if (x >= width) return;
  const int at = plane_at(x, y, pitch);
  float a[4], b[4], c[4];
  UNROLL for (int i = 0; i < 4; i++) {
    const int column = MIN(x + i, width - 1);
    const float r = (float)red[first_red + y * stride_red + column] * scale;
    const float g = (float)green[first_green + y * stride_green + column] * scale;
    const float l = (float)blue[first_blue + y * stride_blue + column] * scale;
    a[i] = channel(0, r, g, l);
    b[i] = channel(1, r, g, l);
    c[i] = channel(2, r, g, l);
  }
  STORE_PLANE4(plane0, at, a[0] - centre, a[1] - centre, a[2] - centre, a[3] - centre);
  STORE_PLANE4(plane1, at, b[0] - centre, b[1] - centre, b[2] - centre, b[3] - centre);
  STORE_PLANE4(plane2, at, c[0] - centre, c[1] - centre, c[2] - centre, c[3] - centre);
  guide[at / 4] = quantise(a[0], step, bias) | (uint)quantise(a[1], step, bias) << 8 |
                  (uint)quantise(a[2], step, bias) << 16 | (uint)quantise(a[3], step, bias) << 24;
}

FN TO sample(int c, float a, float b, float d, float scale, float white) {
  const float value = (inverse_rows[3 * c] * a + inverse_rows[3 * c + 1] * b + inverse_rows[3 * c + 2] * d) * scale;
#if WHOLE
  return (TO)(FMIN(FMAX(value, 0.0f), white) + 0.5f);
#else
  return value;
#endif
}

// The estimates less `centre` to samples; only pixels from (left, top) on, and before (right, bottom).
KERNEL(COLOR_ITEMS) bm3d_finish_color(GLOBAL const float* RESTRICT plane0, GLOBAL const float* RESTRICT plane1,
                                      GLOBAL const float* RESTRICT plane2, GLOBAL TO* RESTRICT red,
                                      GLOBAL TO* RESTRICT green, GLOBAL TO* RESTRICT blue, int first_red,
                                      int first_green, int first_blue, int stride_red, int stride_green,
                                      int stride_blue, int left, int top, int right, int pitch, float centre,
                                      float scale, float white) {
  const int x = left + GROUP_X * COLOR_ITEMS + ITEM, y = top + GROUP_Y;
  if (x >= right) return;
  const int at = plane_at(x, y, pitch);
  const float a = plane0[at] + centre, b = plane1[at] + centre, c = plane2[at] + centre;
  red[first_red + y * stride_red + x] = sample(0, a, b, c, scale, white);
  green[first_green + y * stride_green + x] = sample(1, a, b, c, scale, white);
  blue[first_blue + y * stride_blue + x] = sample(2, a, b, c, scale, white);
}

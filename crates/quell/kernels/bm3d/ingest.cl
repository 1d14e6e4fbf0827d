// Samples into a padded plane, on the 0..255 scale and less CENTRE; channel 0 also onto the matching plane.
//
// Options: SAMPLE (uchar, ushort, float), PLANE_HALF. Samples begin at `first`, rows are `stride` samples apart. A
// work-item takes four of a row; what it writes behind the end of a row nobody reads.

#define INGEST_ITEMS 128

// The work-item's four samples.
#define FOUR_SAMPLES                                              \
  const int x = 4 * (GROUP_X * INGEST_ITEMS + ITEM), y = GROUP_Y; \
  if (x >= width) return;                                         \
  GLOBAL const SAMPLE* row = samples + (first + y * stride);      \
  const int last = width - 1;                                     \
  const float a = (float)row[x] * scale;                          \
  const float b = (float)row[MIN(x + 1, last)] * scale;           \
  const float c = (float)row[MIN(x + 2, last)] * scale;           \
  const float d = (float)row[MIN(x + 3, last)] * scale;           \
  const int at = plane_at(x, y, pitch);                           \
  STORE_PLANE4(plane, at, a - centre, b - centre, c - centre, d - centre)

KERNEL(INGEST_ITEMS) bm3d_ingest(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL plane_t* RESTRICT plane, int first,
                                 int stride, int width, int pitch, float scale, float centre) {
  FOUR_SAMPLES;
}

KERNEL(INGEST_ITEMS) bm3d_ingest_guide(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL plane_t* RESTRICT plane,
                                       GLOBAL uint* RESTRICT guide, int first, int stride, int width, int pitch,
                                       float scale, float centre, float step, float bias) {
  FOUR_SAMPLES;
  guide[at / 4] = quantise(a, step, bias) | (uint)quantise(b, step, bias) << 8 | (uint)quantise(c, step, bias) << 16 |
                  (uint)quantise(d, step, bias) << 24;
}

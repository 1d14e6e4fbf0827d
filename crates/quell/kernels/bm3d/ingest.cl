// Samples into a padded plane, on the 0..255 scale and less CENTRE; channel 0 also onto the matching plane.
//
// Options: SAMPLE (uchar, ushort, float), PLANE_HALF. Samples have no gaps between rows and begin at `first`.

#define INGEST_ITEMS 128

KERNEL(INGEST_ITEMS) bm3d_ingest(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL plane_t* RESTRICT plane, int first,
                                 int width, int pitch, float scale, float centre) {
  const int x = GROUP_X * INGEST_ITEMS + ITEM, y = GROUP_Y;
  if (x < width) STORE_PLANE(plane, plane_at(x, y, pitch), (float)samples[first + y * width + x] * scale - centre);
}

KERNEL(INGEST_ITEMS) bm3d_ingest_guide(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL plane_t* RESTRICT plane,
                                       GLOBAL uchar* RESTRICT guide, int first, int width, int pitch, float scale,
                                       float centre, float step, float bias) {
  const int x = GROUP_X * INGEST_ITEMS + ITEM, y = GROUP_Y;
  if (x >= width) return;
  const float z = (float)samples[first + y * width + x] * scale;
  STORE_PLANE(plane, plane_at(x, y, pitch), z - centre);
  guide[plane_at(x, y, pitch)] = quantise(z, step, bias);
}

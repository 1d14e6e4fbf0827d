// Samples into a padded plane: beyond its borders the picture goes on as in a mirror, so that nothing behind this folds.
//
// Options: SAMPLE (uchar, ushort, float) that come, PLANE (float, uchar) that are kept. A work-item takes four of a row.

#define INGEST_ITEMS 128

FN int fold(int i, int n) {
  if (i < 0 || i >= n) {
    i %= 2 * n;
    if (i < 0) i += 2 * n;
    if (i >= n) i = 2 * n - 1 - i;
  }
  return i;
}

KERNEL(INGEST_ITEMS) nlm_ingest(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL PLANE* RESTRICT plane, int first, int at,
                                int width, int height, int halo, int pitch) {
  const int x = 4 * (GROUP_X * INGEST_ITEMS + ITEM), y = GROUP_Y;
  if (x >= pitch) return;
  GLOBAL const SAMPLE* row = samples + (first + fold(y - halo, height) * width);
  GLOBAL PLANE* to = plane + (at + y * pitch + x);
  for (int i = 0; i < 4; i++) to[i] = (PLANE)row[fold(x + i - halo, width)];
}

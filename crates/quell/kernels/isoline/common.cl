// What the kernels of the isoline filters share. Planes are floats, `width` x `height`, without padding: beyond its
// borders a picture goes on with the samples of its edge.
//
// Options: SAMPLE (uchar, ushort, float) that is written, WHOLE (1: they are integers).

#if WHOLE
#define STORE_SAMPLE(p, i, v) ((p)[i] = (SAMPLE)(FMIN(FMAX((v), 0.0f), white) + 0.5f))
#else
#define STORE_SAMPLE(p, i, v) ((p)[i] = (v))
#endif

FN int inside(int i, int n) { return MIN(MAX(i, 0), n - 1); }

// The samples around a tile: `wide` x `high` of them from column `x0` and row `y0` on, by all of `items`; those of `less`
// are taken off where there are two planes.
FN void load_tile(LOCAL_PTR float* tile, GLOBAL const float* RESTRICT plane, GLOBAL const float* RESTRICT less, int two,
                  int x0, int y0, int width, int height, const int wide, const int high, const int items) {
  for (int j = ITEM / 32; j < high; j += items / 32) {
    const int row = inside(y0 + j, height) * width;
    for (int i = ITEM % 32; i < wide; i += 32) {
      const int at = row + inside(x0 + i, width);
      tile[j * wide + i] = two ? plane[at] - less[at] : plane[at];
    }
  }
}

// What the kernels of the isoline filters share. Planes are floats, `width` x `height`, without padding: beyond its
// borders a picture goes on with the samples of its edge.
//
// Options: SAMPLE (uchar, ushort, float) that is written, WHOLE (1: they are integers).

#if WHOLE
#define STORE_SAMPLE(p, i, v) ((p)[i] = (SAMPLE)(FMIN(FMAX((v), 0.0f), white) + 0.5f))
#else
#define STORE_SAMPLE(p, i, v) ((p)[i] = (v))
#endif

// Loads are not moved across this: without it the compiler keeps most of the tile in registers.
#if defined(QUELL_PTX)
#define ORDER() BARRIER()
#elif defined(__OPENCL_VERSION__)
#define ORDER()
#else
#define ORDER() __syncwarp()
#endif

FN int inside(int i, int n) { return MIN(MAX(i, 0), n - 1); }

// Fills a tile of `wide` x `high` values from column `x0` and row `y0` on, by all of `items`: what `value` says of the
// sample `at`. A warp takes rows of its own, BATCH at a time, so that reads go out together; the last column and row are
// written more than once instead of asking where the tile ends.
// LOAD_TILE_BY leaves room for other values between them. Names are long because arguments must not meet them.
#define BATCH 4
#define LOAD_TILE_BY(stride, tile, value, x0, y0, wide, high, items)                                        \
  {                                                                                                         \
    int xs[((wide) + 31) / 32], columns[((wide) + 31) / 32];                                                \
    UNROLL for (int across = 0; across < ((wide) + 31) / 32; across++) {                                    \
      xs[across] = MIN(ITEM % 32 + 32 * across, (wide) - 1);                                                \
      columns[across] = inside((x0) + xs[across], width);                                                   \
    }                                                                                                       \
    NO_UNROLL for (int down = ITEM / 32; down < (high); down += BATCH * ((items) / 32)) {                   \
      float values_[BATCH][((wide) + 31) / 32];                                                             \
      UNROLL for (int batch = 0; batch < BATCH; batch++) {                                                  \
        const int from_row = inside((y0) + MIN(down + batch * ((items) / 32), (high) - 1), height) * width; \
        UNROLL for (int across = 0; across < ((wide) + 31) / 32; across++) {                                \
          const int at = from_row + columns[across];                                                        \
          values_[batch][across] = (value);                                                                 \
        }                                                                                                   \
      }                                                                                                     \
      UNROLL for (int batch = 0; batch < BATCH; batch++) {                                                  \
        const int to_y = MIN(down + batch * ((items) / 32), (high) - 1);                                    \
        UNROLL for (int across = 0; across < ((wide) + 31) / 32; across++) {                                \
          (tile)[(to_y * (wide) + xs[across]) * (stride)] = values_[batch][across];                         \
        }                                                                                                   \
      }                                                                                                     \
    }                                                                                                       \
  }
#define LOAD_TILE(tile, value, x0, y0, wide, high, items) LOAD_TILE_BY(1, tile, value, x0, y0, wide, high, items)

// Code for the offsets of every direction, told apart at run time: `each` is given its number as a constant.
#define BY_NUMBER(n, each)   \
  switch (n) {               \
    case 0: each(0) break;   \
    case 1: each(1) break;   \
    case 2: each(2) break;   \
    case 3: each(3) break;   \
    case 4: each(4) break;   \
    case 5: each(5) break;   \
    case 6: each(6) break;   \
    case 7: each(7) break;   \
    case 8: each(8) break;   \
    case 9: each(9) break;   \
    case 10: each(10) break; \
    case 11: each(11) break; \
    case 12: each(12) break; \
    case 13: each(13) break; \
    case 14: each(14) break; \
    default: each(15) break; \
  }

#ifdef CELL
// Boxes (Plan, `Square`) of CELL + 2 MARGIN columns and rows: a work-item has a column of STRIP pixels, the sums down its
// part of their boxes go through local memory. Of the COLUMNS of a work-group WIDE are for more than
// their sums.
// Rows are summed in UNITs, which cells and margins are multiples of.
#define SIDE (CELL + 2 * MARGIN)
#define DEPTH (STRIP + 2 * MARGIN)
#define UNITS (DEPTH / UNIT)
#define CELLS (STRIP / CELL)
#define HIGH (STRIPS * STRIP)
#define CELLS_OF(side) (((side) + CELL - 1) / CELL)
// What is chosen of a channel: means of lines, and of those of another picture.
#define KINDS (1 + SECOND)

// The sum of the SIDE values from a multiple of CELL on.
FN float sum_row(LOCAL_PTR const float* row) {
#if CELL % 4 == 0 && MARGIN % 4 == 0 && COLUMNS % 4 == 0
  float sum = 0.0f;
  UNROLL for (int k = 0; k < SIDE; k += 4) {
    const float4 v = LOAD4(row + k);
    sum += (v.x + v.y) + (v.z + v.w);
  }
#else
  float sum = row[0];
  UNROLL for (int k = 1; k < SIDE; k++) sum += row[k];
#endif
  return sum;
}
#endif

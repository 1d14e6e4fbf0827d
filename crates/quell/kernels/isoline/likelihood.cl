// What the paper's filters share: the segments, and the test whether two sets of pixels share one level.
//
// If luma has whole samples from 0 to 255 (EXACT) directions and lengths are those of the reference: sums are of samples
// less the middle of the scale (128), whole and below 2^24, and where rounding could decide a test it is made in integers.
// Sums of other samples are of what they differ from the sample at the start: rounded, but nothing where all are equal.
//
// Options beside those of common.cl: DIRECTIONS, LENGTH, THICKNESS; SEGMENT_Y and SEGMENT_X, the pixels of every
// direction's segment; CHANNELS; EXACT; NEAR (sides of a test that differ by less than this part of them are near);
// WANTED (0: the planes, as samples; else a map, as floats: 1 directions, 2 lengths, 3 edges).

#define PIXELS (LENGTH * THICKNESS)
// Pixels around the first that a segment covers.
#define AROUND (LENGTH + THICKNESS / 2)

#if defined(__OPENCL_VERSION__)
#define MUL_HI(a, b) mul_hi((a), (b))
#define LEADING(a) ((int)clz(a))
#define AS_UINT(v) as_uint(v)
#define TO_FLOAT(v) as_float(v)
#define ABS(v) fabs(v)
#else
#ifdef QUELL_EMULATOR
#define MUL_HI(a, b) ((ulong)((unsigned __int128)(a) * (b) >> 64))
#else
#define MUL_HI(a, b) __umul64hi((a), (b))
#endif
#define LEADING(a) __clzll(a)
#define AS_UINT(v) __float_as_uint(v)
#define TO_FLOAT(v) __uint_as_float(v)
#define ABS(v) fabsf(v)
#endif

TABLE int segment_y[DIRECTIONS * PIXELS] = SEGMENT_Y;
TABLE int segment_x[DIRECTIONS * PIXELS] = SEGMENT_X;

// Pixel k of a segment without its thickness, and its last.
#define THIN(d, k) ((d) * PIXELS + (k) * THICKNESS + THICKNESS / 2)
#define END(d) THIN(d, LENGTH - 1)

// Sum, and sum of squares, of some pixels (Cx, Cx2).
typedef struct {
  float x, x2;
} sums_t;

FN sums_t add(sums_t a, sums_t b) {
  a.x += b.x;
  a.x2 += b.x2;
  return a;
}

FN sums_t one(float v) {
  sums_t s;
  s.x = v;
  s.x2 = v * v;
  return s;
}

// n x2 - x^2, rounded once or twice (Kahan).
FN float spread(float n, sums_t s) {
  const float square = s.x * s.x, rest = FMA(-s.x, s.x, square);
  return FMA(n, s.x2, -square) + rest;
}

// The same of whole samples: less than 2^32 for the longest and thickest lines.
FN uint whole_spread(float n, sums_t s) {
  const int x = (int)s.x;
  return (uint)n * (uint)s.x2 - (uint)(x * x);
}

// A row of the table of tests: what the spread of all is multiplied with, the least spreads of all and within, and that
// factor's mantissa of 53 bits (24, 24, 5) and exponent.
#define TEST 8

// Whether lambda of the sets a (n pixels) and b (m pixels) is below the threshold:
// spread of all * n m / ((n + m) ratio) < m spread of a + n spread of b.
FN int one_level(float n, sums_t a, float m, sums_t b, GLOBAL const float* RESTRICT test) {
  const sums_t both = add(a, b);
  const float together = FMAX(spread(n + m, both), test[1]) * test[0];
  const float within = FMAX(FMA(m, spread(n, a), n * spread(m, b)), test[2]);
#if EXACT
  if (ABS(together - within) <= NEAR * within) {
    const uint s = whole_spread(n + m, both);
    const ulong w = (ulong)m * whole_spread(n, a) + (ulong)n * whole_spread(m, b);
    if (s > 0 && w > 0) {
      const ulong mantissa = (ulong)test[3] << 39 | (ulong)test[4] << 15 | (ulong)test[5] << 10;
      const int up = LEADING((ulong)s), down = up + (int)test[6] - 54;
      const ulong product = MUL_HI((ulong)s << up, mantissa);
      return down <= 0 ? 0 : down > 63 ? 1 : w > product >> down;
    }
  }
#endif
  return together < within;
}

// The sums over each pixel's best segment, and its direction. Sums of squares of whole samples leave the last five bits
// of a float free; other sums go with the sample that they are less of.
#if EXACT
typedef uint2 best_t;
#define BEST_DIRECTION(b) ((int)((b).y & 31u))
#define SET_BEST(b, s, d, level) ((b).x = AS_UINT((s).x), (b).y = AS_UINT((s).x2) | (uint)(d))
#else
typedef uint4 best_t;
#define BEST_DIRECTION(b) ((int)(b).z)
#define SET_BEST(b, s, d, level) \
  ((b).x = AS_UINT((s).x), (b).y = AS_UINT((s).x2), (b).z = (uint)(d), (b).w = AS_UINT(level))
#endif

// The sums, of samples less `level`.
FN sums_t best_sums(best_t b, float level) {
  sums_t s;
  s.x = TO_FLOAT(b.x);
#if EXACT
  s.x2 = TO_FLOAT(b.y & ~31u);
#else
  const float up = TO_FLOAT(b.w) - level;
  s.x2 = FMA(up, FMA((float)PIXELS, up, 2.0f * s.x), TO_FLOAT(b.y));
  s.x = FMA((float)PIXELS, up, s.x);
#endif
  return s;
}

// Samples, less the middle, into local memory, beyond the borders those of the edge.
#define LOAD_CENTRED(tile, plane, x0, y0, columns, rows, middle)               \
  for (int r_ = ITEM / 32; r_ < (rows); r_ += ITEMS / 32) {                    \
    GLOBAL const float* row_ = (plane) + inside((y0) + r_, height) * width;    \
    for (int c_ = ITEM % 32; c_ < (columns); c_ += 32)                         \
      (tile)[r_ * (columns) + c_] = row_[inside((x0) + c_, width)] - (middle); \
  }

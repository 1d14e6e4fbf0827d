// Weighted averages over all displacements into one frame, for one plane of bytes: a work-group takes COLUMNS x ROWS
// pixels, a work-item STRIP of a column.
//
// The distance of two patches is the sum of their norms less twice their product, all integers and exact. Local memory
// has a word for every pixel with its byte and the next three, so that the product of two rows of a patch is a few
// products of four bytes each; sums down the column are differences of one running sum.
//
// Options beside those of common.cl: TOTALS (1: only the sums of weights are wanted), COLUMNS, ROWS, STRIP, SPAN_X x
// SPAN_Y displacements for which samples are in local memory at once, SAMPLE, WHOLE. Sums of squares of a patch must be
// below 2^23 (patches of 11 x 11 and less), so that floats count in ones.

#define ITEMS (COLUMNS * (ROWS / STRIP))
#define DEPTH (STRIP + 2 * RADIUS)
#define WORDS ((PATCH + 3) / 4)
#define TILE_PITCH (COLUMNS + SPAN_X - 1 + 4 * (WORDS - 1))
#define TILE_ROWS (ROWS + 2 * RADIUS + SPAN_Y - 1)
#define NORM_PITCH (COLUMNS + SPAN_X - 1)
#define NORM_ROWS (ROWS + SPAN_Y - 1)

// From 2^23 on the bits of a float count in ones.
#define MAGIC 0x4b000000u
#define MAGIC_FLOAT 8388608.0f
#if defined(__OPENCL_VERSION__)
#define AS_FLOAT(v) as_float(v)
#else
#define AS_FLOAT(v) __uint_as_float(v)
#endif

// Byte k of a word, plus 2^23.
#if defined(QUELL_PTX)
FN float byte_at(uint word, int k) {
  uint r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(MAGIC), "r"(0x7650 | k));
  return AS_FLOAT(r);
}
#elif defined(__OPENCL_VERSION__)
FN float byte_at(uint word, int k) { return AS_FLOAT(MAGIC | (word >> (8 * k) & 255u)); }
#else
FN float byte_at(uint word, int k) { return AS_FLOAT(__byte_perm(word, MAGIC, 0x7650 | k)); }
#endif

// The bytes from `at` to `at + 3`; planes begin at words.
FN uint word_at(GLOBAL const uint* RESTRICT plane, int at) {
  const ulong both = (ulong)plane[(at >> 2) + 1] << 32 | plane[at >> 2];
  return (uint)(both >> 8 * (at & 3));
}

KERNEL(ITEMS) nlm_bytes(GLOBAL const uint* RESTRICT here, GLOBAL const float* RESTRICT here_norms,
                        GLOBAL const uint* RESTRICT there, GLOBAL const float* RESTRICT there_norms,
                        GLOBAL float* RESTRICT state, GLOBAL SAMPLE* RESTRICT out, int origin, int pitch, int width,
                        int height, int state_pitch, int state_plane, int group_row, int self, int first, int last,
                        float slope, float offset, float white) {
  LOCAL uint tile[TILE_ROWS * TILE_PITCH];
  LOCAL float norms[NORM_ROWS * NORM_PITCH];
  const int column = ITEM % COLUMNS, strip = ITEM / COLUMNS * STRIP;
  const int x0 = GROUP_X * COLUMNS, y0 = (GROUP_Y + group_row) * ROWS;
  const int x = x0 + column, y = y0 + strip;
  const int corner = origin + (y0 - RADIUS) * pitch + x0 - RADIUS;

  // The patches of this work-item's pixels, zero where the last word is beyond them.
  uint own[DEPTH][WORDS];
  UNROLL for (int r = 0; r < DEPTH; r++)
    UNROLL for (int k = 0; k < WORDS; k++) {
      own[r][k] = word_at(here, corner + (strip + r) * pitch + column + 4 * k);
      if (k == WORDS - 1) own[r][k] &= (1u << PATCH % 4 * 8) - 1;
    }
  float own_norm[STRIP];
  float total[STRIP], best[STRIP], sum[STRIP];
  UNROLL for (int r = 0; r < STRIP; r++) {
    const int at = (y + r) * state_pitch + x;
    own_norm[r] = here_norms[origin + (y + r) * pitch + x];
    total[r] = first ? 0.0f : state[at];
    best[r] = !BEST || first ? LEAST : state[at + state_plane];
    sum[r] = TOTALS || first ? 0.0f : state[at + 2 * state_plane];
  }

  NO_UNROLL for (int from_y = 0; from_y < SIDE; from_y += SPAN_Y)
  NO_UNROLL for (int from_x = 0; from_x < SIDE; from_x += SPAN_X) {
    const int count_x = MIN(SPAN_X, SIDE - from_x), count_y = MIN(SPAN_Y, SIDE - from_y);
    const int start = corner + (from_y - SEARCH) * pitch + from_x - SEARCH;
    BARRIER();
    for (int r = ITEM / 32; r < ROWS + 2 * RADIUS + count_y - 1; r += ITEMS / 32)
      for (int c = ITEM % 32; c < COLUMNS + count_x - 1 + 4 * (WORDS - 1); c += 32)
        tile[r * TILE_PITCH + c] = word_at(there, start + r * pitch + c);
    for (int r = ITEM / 32; r < ROWS + count_y - 1; r += ITEMS / 32)
      for (int c = ITEM % 32; c < COLUMNS + count_x - 1; c += 32)
        norms[r * NORM_PITCH + c] = there_norms[start + (r + RADIUS) * pitch + c + RADIUS];
    BARRIER();
    NO_UNROLL for (int j = 0; j < count_y; j++)
    NO_UNROLL for (int i = 0; i < count_x; i++) {
      if (BEST && self && from_y + j == SEARCH && from_x + i == SEARCH) continue;
      LOCAL_PTR const uint* words = tile + (strip + j) * TILE_PITCH + column + i;
      LOCAL_PTR const float* norm = norms + (strip + j) * NORM_PITCH + column + i;
      uint running[DEPTH], middle[DEPTH], product = 0;
      UNROLL for (int r = 0; r < DEPTH; r++) {
        UNROLL for (int k = 0; k < WORDS; k++) {
          const uint word = words[r * TILE_PITCH + 4 * k];
          product = DOT4(own[r][k], word, product);
          if (k == RADIUS / 4) middle[r] = word;
        }
        running[r] = product;
        const int p = r - 2 * RADIUS;
        if (p >= 0) {
          const uint bits = product - (p > 0 ? running[p - 1] : 0) + MAGIC;
          const float distance = FMA(-2.0f, AS_FLOAT(bits) - MAGIC_FLOAT, own_norm[p] + norm[p * NORM_PITCH]);
          const float w = weight(distance, slope, offset);
          total[p] += w;
          if (BEST) best[p] = FMAX(best[p], w);
          if (!TOTALS) sum[p] = FMA(w, byte_at(middle[p + RADIUS], RADIUS % 4) - MAGIC_FLOAT, sum[p]);
        }
      }
    }
  }

  UNROLL for (int r = 0; r < STRIP; r++) {
    const int at = (y + r) * state_pitch + x;
    const float own_part = BEST ? best[r] : 0.0f;
#if TOTALS
    // What a patch's weights are multiplied with, and what its own weight is then.
    const float scale = 1.0f / ((total[r] + own_part) * (float)(PATCH * PATCH));
    state[at] = last ? scale : total[r];
    if (BEST) state[at + state_plane] = last ? own_part * scale : best[r];
#else
    if (last) {
      const float centre = byte_at(own[r + RADIUS][RADIUS / 4], RADIUS % 4) - MAGIC_FLOAT;
      const float v = FMA(own_part, centre, sum[r]) / (total[r] + own_part);
      if (x < width && y + r < height) STORE_SAMPLE(out, (y + r) * width + x, v);
    } else {
      state[at] = total[r];
      if (BEST) state[at + state_plane] = best[r];
      state[at + 2 * state_plane] = sum[r];
    }
#endif
  }
}

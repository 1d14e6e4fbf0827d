// Matching on tensor cores (DAB07 eq. 5 on 8-bit samples): SSD = |a|^2 + |b|^2 - 2 ab, and the products ab of 16
// reference patches with 8 neighbouring candidates are one small matrix product.
//
// One warp takes a block of 4 x 4 references; the candidates are the union of their windows. Larger
// v = ab - ceil(|b|^2 / 2) is better, and SSD = |a|^2 - 2v - (|b|^2 mod 2). Three stages:
//   bound    maxima of v over disjoint bins of candidates; the GROUP-th largest maximum is a bound that GROUP
//            candidates certainly reach
//   scan     every candidate once, branch free: the sign of v - bound becomes a bit of a mask ("hit")
//   select   hits are compacted, their SSD is computed exactly, sorted by (SSD, row, column) and cut to GROUP
// A reference with too many hits (flat areas, ties) is put on a list for the general kernel.
//
// Options: STEP, RADIUS, GROUP (8, 16, 32), MARGIN, BLOCKS_X and BLOCKS_Y (warps of a work-group), MATCH_RESIDENT
// (work-groups per multiprocessor).

constexpr int SIDE = 2 * RADIUS + 1;
constexpr int SPAN = 3 * STEP;  // from the first to the last reference of a block
constexpr int UNION_ROWS = SPAN + SIDE;
constexpr int UNION_TILES = (SPAN + SIDE + 7) / 8;  // of 8 columns
constexpr int CHUNKS = (UNION_ROWS + 15) / 16;      // of 16 rows, a mask each
constexpr int LAST_ROWS = UNION_ROWS - 16 * (CHUNKS - 1);
constexpr int MASKS = CHUNKS * UNION_TILES;
constexpr int WARPS = BLOCKS_X * BLOCKS_Y;

// The bound looks at part of the union window, in blocks of 8 rows and columns: where all four windows overlap, but
// no more than 32 x 32 of it; or at everything where they hardly do.
constexpr bool INNER = 2 * RADIUS - SPAN >= 8;
constexpr int INNER_END = (2 * RADIUS + 8) / 8;
constexpr bool CAPPED = INNER_END - SPAN / 8 > 4;
constexpr int BOUND_X0 = !INNER ? 0 : CAPPED ? (RADIUS + SPAN / 2 - 12) / 8 : SPAN / 8;
constexpr int BOUND_X1 = !INNER ? UNION_TILES : CAPPED ? BOUND_X0 + 4 : INNER_END;
constexpr int BOUND_Y0 = INNER ? 8 * BOUND_X0 : 0;
constexpr int BOUND_Y1 = INNER ? 8 * BOUND_X1 : (UNION_ROWS + 7) / 8 * 8;

// Left and top reach of the tiles. The last block's origin may lie up to STEP - 1 before its place in the grid.
// Pixels are copied in aligned words; norms are read in pairs, so their origin is even where windows start.
constexpr int LEFT = (RADIUS + STEP + 3) / 4 * 4;
constexpr int NORM_LEFT = LEFT - ((LEFT - RADIUS) & 1);
constexpr int TOP = RADIUS + STEP;
constexpr int TILE_COLS = LEFT - RADIUS + 4 * STEP * (BLOCKS_X - 1) + 8 * UNION_TILES;
constexpr int TILE_ROWS = TOP - RADIUS + 4 * STEP * (BLOCKS_Y - 1) + (BOUND_Y1 > UNION_ROWS ? BOUND_Y1 : UNION_ROWS);
constexpr int QUADS = (TILE_COLS + 4 + 3) / 4;
// Candidate rows 12 to 20 banks apart: the two rows that a fragment reads do not collide.
constexpr int pixel_pitch(int n) { return n % 4 == 0 && n % 32 >= 12 && n % 32 <= 20 ? n : pixel_pitch(n + 1); }
constexpr int PITCH = pixel_pitch(4 * QUADS);
constexpr int NORM_PITCH = (TILE_COLS + 1) / 2 * 2;

constexpr int BINS = GROUP == 8 ? 8 : 16;             // per lane, four lanes per reference
constexpr int MOST_HITS = 4 * GROUP;                  // of one reference
constexpr int LIST = GROUP == 32 ? 640 : 32 * GROUP;  // hits of 8 references
constexpr int WARP_WORDS = 2 * MASKS * 32 + 32 + LIST;

constexpr int INVALID_NORM = 1 << 28;  // as in the norms kernel: no patch fits here
constexpr int NEVER = -(INVALID_NORM / 2);
constexpr uint NO_KEY = 0xffffffffu;

static_assert(GROUP == 8 || GROUP == 16 || GROUP == 32, "");
static_assert(LEFT <= MARGIN && TOP <= MARGIN, "");
static_assert(MASKS <= 64 && 8 * UNION_TILES <= 128 && UNION_ROWS <= 128, "");

typedef unsigned long long Tiles;  // a bit per mask

INLINE int reference_at(int i, int count, int last) { return min(STEP * min(i, count - 1), last); }

// Products of the 16 references with candidates at 8 columns of one row.
INLINE void products(int* c, const uint* a, const uint* rows, int k) {
  uint b[2] = {rows[k & 7], rows[(k + 2) & 7]};
  mma_u8(c, a, b, c);
  b[0] = rows[(k + 4) & 7];
  b[1] = rows[(k + 6) & 7];
  mma_u8(c, a + 4, b, c);
}

// What a lane knows of its two references (rows g and g + 8 of the products), relative to the union window.
struct References {
  int x, y0, y1;
  int norm0, norm1;
  uint a[8];
};

template <bool EDGE>
INLINE void bound_rows(int* best0, int* best1, const References& r, const uint*& pixels, const int*& norms, uint* rows,
                       int y, int out0, int out1) {
  constexpr int HALF = BINS / 2;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    rows[(k + 6) & 7] = pixels[(k + 6) * PITCH];
    int2 n = *(const int2*)(norms + k * NORM_PITCH);
    int u0 = n.x + out0, u1 = n.y + out1, w0 = u0, w1 = u1;
    if (EDGE) {
      if ((uint)(y + k - r.y0) > 2u * RADIUS) u0 = u1 = NEVER;
      if ((uint)(y + k - r.y1) > 2u * RADIUS) w0 = w1 = NEVER;
    }
    int c[4] = {0, 0, 0, 0};
    products(c, r.a, rows, k);
    const int bin = k & (HALF - 1);
    best0[bin] = add_max(c[0], u0, best0[bin]);
    best0[HALF + bin] = add_max(c[1], u1, best0[HALF + bin]);
    best1[bin] = add_max(c[2], w0, best1[bin]);
    best1[HALF + bin] = add_max(c[3], w1, best1[HALF + bin]);
  }
  pixels += 8 * PITCH;
  norms += 8 * NORM_PITCH;
}

INLINE int2 find_bounds(const References& r, const uint* pixels, const int* norms, uint max_ssd) {
  const int t = threadIdx.x & 3;
  int best0[BINS], best1[BINS];
#pragma unroll
  for (int i = 0; i < BINS; i++) best0[i] = best1[i] = NEVER;
#pragma unroll 1
  for (int tile = BOUND_X0; tile < BOUND_X1; tile++) {
    const uint* p = pixels + 8 * tile + BOUND_Y0 * PITCH;
    const int* n = norms + 8 * tile + BOUND_Y0 * NORM_PITCH;
    const int x = 8 * tile + 2 * t;
    const int out0 = (uint)(x - r.x) <= 2u * RADIUS ? 0 : NEVER, out1 = (uint)(x + 1 - r.x) <= 2u * RADIUS ? 0 : NEVER;
    uint rows[8];
#pragma unroll
    for (int i = 0; i < 6; i++) rows[i] = p[i * PITCH];
    if constexpr (INNER) {
      bound_rows<true>(best0, best1, r, p, n, rows, BOUND_Y0, out0, out1);
#pragma unroll 1
      for (int y = BOUND_Y0 + 8; y < BOUND_Y1 - 8; y += 8)
        bound_rows<false>(best0, best1, r, p, n, rows, y, out0, out1);
      if constexpr (BOUND_Y1 - 8 > BOUND_Y0) bound_rows<true>(best0, best1, r, p, n, rows, BOUND_Y1 - 8, out0, out1);
    } else {
#pragma unroll 1
      for (int y = BOUND_Y0; y < BOUND_Y1; y += 8) bound_rows<true>(best0, best1, r, p, n, rows, y, out0, out1);
    }
  }
  // SSD <= max_ssd implies v >= norm - 1 - max_ssd / 2.
  const int reach = (int)(max_ssd / 2) + 1;
  return make_int2(max(quad_kth_largest<BINS, GROUP>(best0), r.norm0 - reach),
                   max(quad_kth_largest<BINS, GROUP>(best1), r.norm1 - reach));
}

// Bits of the rows of a chunk, two per row from the top, that lie in the window of a reference at row `y`.
INLINE uint rows_inside(int y, int chunk) {
  int first = max(y - 16 * chunk, 0), last = min(y + 2 * RADIUS - 16 * chunk, 15);
  return first > 15 || last < 0 ? 0u : (~0u >> (2 * first)) & (~0u << (30 - 2 * last));
}

// Marks the hits among 16 (or ROWS) x 8 candidates: lane (g, t) gets those of columns 2t, 2t + 1.
template <int ROWS> INLINE uint2 scan_tile(const References& r, const uint* pixels, const int* norms, int2 bound) {
  uint rows[8], m0 = 0, m1 = 0;
#pragma unroll
  for (int i = 0; i < 6; i++) rows[i] = pixels[i * PITCH];
#pragma unroll
  for (int k = 0; k < ROWS; k++) {
    rows[(k + 6) & 7] = pixels[(k + 6) * PITCH];
    int2 n = *(const int2*)(norms + k * NORM_PITCH);
    int c[4] = {n.x - bound.x, n.y - bound.x, n.x - bound.y, n.y - bound.y};
    products(c, r.a, rows, k);
    m0 = __funnelshift_l(c[0], m0, 1);
    m0 = __funnelshift_l(c[1], m0, 1);
    m1 = __funnelshift_l(c[2], m1, 1);
    m1 = __funnelshift_l(c[3], m1, 1);
  }
  if (ROWS == 16) return make_uint2(~m0, ~m1);
  constexpr int EMPTY = (32 - 2 * ROWS) & 31;
  return make_uint2(~m0 << EMPTY, ~m1 << EMPTY);
}

// Exact SSD of two patches from their products and the norms.
INLINE uint exact_ssd(const uint* a, uint norm_a, const uint* b, int half_norm_b) {
  uint ab = 0, odd = 0;
#pragma unroll
  for (int r = 0; r < 8; r++) {
    uint b0 = b[r * PITCH], b1 = b[r * PITCH + 4];
    ab = __dp4a(a[r * PITCH], b0, ab);
    ab = __dp4a(a[r * PITCH + 4], b1, ab);
    odd ^= b0 ^ b1;
  }
  // |b|^2 = 2 ceil(|b|^2 / 2) - (|b|^2 mod 2), and |b|^2 is odd if an odd number of samples is.
  uint parity = __popc(odd & 0x01010101u) & 1;
  return norm_a - 2 * half_norm_b - parity - 2 * ab;
}

KERNEL __launch_bounds__(32 * WARPS, MATCH_RESIDENT)
    match_tensor(const uchar* __restrict__ guide, const int* __restrict__ norm, ushort* __restrict__ matches,
                 uint* __restrict__ difficult, int columns, int rows_of_references, int last_x, int last_y,
                 int first_row, int last_row, int pitch, uint max_ssd) {
  DYNAMIC_LOCAL(local);
  uint* pixels = (uint*)local;
  int* norms = (int*)(pixels + (TILE_ROWS + 7) * PITCH);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;

  // The tiles: at every column a word of four pixels, and -ceil(|b|^2 / 2).
  const int block_x = blockIdx.x * (4 * STEP * BLOCKS_X),
            block_y = (first_row / 4 + blockIdx.y * BLOCKS_Y) * (4 * STEP);
  const uchar* guide_at = guide + (long long)(block_y - TOP + MARGIN) * pitch + block_x - LEFT + MARGIN;
  for (int i = threadIdx.x; i < (TILE_ROWS + 7) * QUADS; i += 32 * WARPS) {
    int r = i / QUADS, q = i - r * QUADS;
    const uint* from = (const uint*)(guide_at + (long long)r * pitch + 4 * q);
    uint a = __ldg(from), b = __ldg(from + 1);
    *(uint4*)(pixels + r * PITCH + 4 * q) =
        make_uint4(a, __funnelshift_r(a, b, 8), __funnelshift_r(a, b, 16), __funnelshift_r(a, b, 24));
  }
  const int* norm_at = norm + (long long)(block_y - TOP + MARGIN) * pitch + block_x - NORM_LEFT + MARGIN;
  for (int i = threadIdx.x; i < TILE_ROWS * NORM_PITCH; i += 32 * WARPS) {
    int r = i / NORM_PITCH, c = i - r * NORM_PITCH;
    norms[i] = -((__ldg(norm_at + (long long)r * pitch + c) + 1) >> 1);
  }
  __syncthreads();

  const int bx = blockIdx.x * BLOCKS_X + warp % BLOCKS_X, by = first_row / 4 + blockIdx.y * BLOCKS_Y + warp / BLOCKS_X;
  if (4 * bx >= columns || 4 * by >= last_row) return;
  // Origin of this block of references: even, and not behind its first reference.
  const int origin_x = min(4 * STEP * bx, last_x & ~1), origin_y = min(4 * STEP * by, last_y & ~1);
  // Of the union window, in the tiles.
  const int window_y = origin_y - RADIUS - (block_y - TOP), pixel_x = origin_x - RADIUS - (block_x - LEFT),
            norm_x = origin_x - RADIUS - (block_x - NORM_LEFT);
  const uint* window = pixels + window_y * PITCH + pixel_x;
  const int* window_norms = norms + window_y * NORM_PITCH + norm_x;

  References r;
  r.x = reference_at(4 * bx + (g & 3), columns, last_x) - origin_x;
  r.y0 = reference_at(4 * by + (g >> 2), rows_of_references, last_y) - origin_y;
  r.y1 = reference_at(4 * by + 2 + (g >> 2), rows_of_references, last_y) - origin_y;
#pragma unroll
  for (int q = 0; q < 4; q++) {
    int at = (RADIUS + 2 * q + (t >> 1)) * PITCH + RADIUS + r.x + 4 * (t & 1);
    r.a[(q >> 1) * 4 + (q & 1) * 2] = window[r.y0 * PITCH + at];
    r.a[(q >> 1) * 4 + (q & 1) * 2 + 1] = window[r.y1 * PITCH + at];
  }
  r.norm0 = -window_norms[(RADIUS + r.y0) * NORM_PITCH + RADIUS + r.x];
  r.norm1 = -window_norms[(RADIUS + r.y1) * NORM_PITCH + RADIUS + r.x];

  const uint* candidates = window + (t >> 1) * PITCH + g + 4 * (t & 1);
  const int* candidate_norms = window_norms + 2 * t;
  const int2 bound = find_bounds(r, candidates, candidate_norms, max_ssd);

  // ---- scan
  uint* masks = (uint*)(norms + TILE_ROWS * NORM_PITCH) + warp * WARP_WORDS;
  uint* table = masks + 2 * MASKS * 32;  // place and norm of the 16 references
  uint* list = table + 32;
  uint count = 0;  // hits of this lane: first reference in the low half, second in the high
  Tiles filled0 = 0, filled1 = 0;
#pragma unroll 1
  for (int chunk = 0; chunk < CHUNKS; chunk++) {
    const uint inside0 = rows_inside(r.y0, chunk), inside1 = rows_inside(r.y1, chunk);
#pragma unroll 1
    for (int tile = 0; tile < UNION_TILES; tile++) {
      const uint* p = candidates + 16 * chunk * PITCH + 8 * tile;
      const int* n = candidate_norms + 16 * chunk * NORM_PITCH + 8 * tile;
      uint2 m;
      if (LAST_ROWS == 16 || chunk < CHUNKS - 1)
        m = scan_tile<16>(r, p, n, bound);
      else
        m = scan_tile<LAST_ROWS>(r, p, n, bound);
      const int x = 8 * tile + 2 * t;
      const uint inside =
          ((uint)(x - r.x) <= 2u * RADIUS ? 0xaaaaaaaau : 0u) | ((uint)(x + 1 - r.x) <= 2u * RADIUS ? 0x55555555u : 0u);
      m.x &= inside0 & inside;
      m.y &= inside1 & inside;
      const int s = chunk * UNION_TILES + tile;
      masks[s * 32 + lane] = m.x;
      masks[(MASKS + s) * 32 + lane] = m.y;
      count += (uint)__popc(m.x) + ((uint)__popc(m.y) << 16);
      if (m.x) filled0 |= (Tiles)1 << s;
      if (m.y) filled1 |= (Tiles)1 << s;
    }
  }

  // ---- select
  if (t == 0) {
    // Exact norms: the tile has them halved.
    const int* exact = norm + (long long)(origin_y + MARGIN) * pitch + origin_x + MARGIN;
    ((int2*)table)[g] = make_int2((RADIUS + r.y0) * 128 + RADIUS + r.x, __ldg(exact + (long long)r.y0 * pitch + r.x));
    ((int2*)table)[8 + g] =
        make_int2((RADIUS + r.y1) * 128 + RADIUS + r.x, __ldg(exact + (long long)r.y1 * pitch + r.x));
  }
  uint in_quad = count + __shfl_xor_sync(WARP, count, 1);
  in_quad += __shfl_xor_sync(WARP, in_quad, 2);
  bool hard0 = (in_quad & 0xffffu) > MOST_HITS, hard1 = (in_quad >> 16) > MOST_HITS;
  if (hard0) count &= 0xffff0000u;
  if (hard1) count &= 0xffffu;
  uint up_to = count;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    uint o = __shfl_up_sync(WARP, up_to, s);
    if (lane >= s) up_to += o;
  }
  uint total = __shfl_sync(WARP, up_to, 31);
  // A full list hands over all eight references.
  if ((total & 0xffffu) > LIST) {
    hard0 = true;
    count &= 0xffff0000u;
    up_to &= 0xffff0000u;
    total &= 0xffff0000u;
  }
  if ((total >> 16) > LIST) {
    hard1 = true;
    count &= 0xffffu;
    up_to &= 0xffffu;
    total &= 0xffffu;
  }
  const uint quad_start = __shfl_sync(WARP, up_to - count, lane & ~3),
             quad_hits = __shfl_sync(WARP, up_to, lane | 3) - quad_start;
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const int shift = 16 * half;
    int at = (up_to - count) >> shift & 0xffffu, left = count >> shift & 0xffffu;
    const int hits = total >> shift & 0xffffu;
    Tiles filled = half ? filled1 : filled0;
    const uint* mask = masks + half * MASKS * 32 + lane;
    uint m = 0, code = 0;
#pragma unroll 1
    while (left-- > 0) {
      if (!m) {
        int s = 63 - __clzll((long long)filled);
        filled ^= (Tiles)1 << s;
        int chunk = s / UNION_TILES;
        m = mask[s * 32];
        code = (uint)(g << 14) + (chunk << 11) + 8 * (s - chunk * UNION_TILES) + 2 * t;
      }
      int b = __clz(m);
      m ^= 0x80000000u >> b;
      list[at++] = code + ((b >> 1) << 7) + (b & 1);
    }
    __syncwarp();
    // The order of the contract: the reference patch, then SSD, row, column.
#pragma unroll 1
    for (int i = lane; i < hits; i += 32) {
      uint e = list[i];
      int2 ref = ((const int2*)table)[8 * half + (e >> 14)];
      int x = e & 127, y = e >> 7 & 127, rx = ref.x & 127, ry = ref.x >> 7;
      uint ssd = exact_ssd(window + ry * PITCH + rx, ref.y, window + y * PITCH + x, window_norms[y * NORM_PITCH + x]);
      uint number = (y - ry + RADIUS) * SIDE + x - rx + RADIUS;
      list[i] = x == rx && y == ry ? number : ssd > max_ssd ? NO_KEY : (ssd << 16) + number + (1u << 15);
    }
    __syncwarp();
    const uint* mine = list + (quad_start >> shift & 0xffffu) + t;
    const int n = (int)(quad_hits >> shift & 0xffffu) - t;
    uint key[GROUP];
    const bool many = __any_sync(WARP, n > 2 * GROUP);
#pragma unroll
    for (int i = 0; i < GROUP / 2; i++) key[i] = 4 * i < n ? mine[4 * i] : NO_KEY;
    if (many) {
#pragma unroll
      for (int i = GROUP / 2; i < GROUP; i++) key[i] = 4 * i < n ? mine[4 * i] : NO_KEY;
      sort<GROUP>(key);
    } else {
#pragma unroll
      for (int i = GROUP / 2; i < GROUP; i++) key[i] = NO_KEY;
      sort<GROUP / 2>(key);
    }
#pragma unroll
    for (int s = 1; s <= 2; s <<= 1) {
      uint best[GROUP];
#pragma unroll
      for (int i = 0; i < GROUP; i++) best[i] = min(key[i], __shfl_xor_sync(WARP, key[GROUP - 1 - i], s));
      bitonic_merge<GROUP>(best);
#pragma unroll
      for (int i = 0; i < GROUP; i++) key[i] = best[i];
    }
    __syncwarp();
    const int ix = 4 * bx + (g & 3), iy = 4 * by + 2 * half + (g >> 2);
    if (ix < columns && iy < last_row) {
      const uint reference = (uint)(iy - first_row) * columns + ix;
      constexpr int PART = GROUP / 4;
      uint out[PART / 2];
#pragma unroll
      for (int i = 0; i < PART; i++) {
        uint k = t & 2 ? (t & 1 ? key[3 * PART + i] : key[2 * PART + i]) : (t & 1 ? key[PART + i] : key[i]);
        uint number = k == NO_KEY ? 0xffffu : k & 0x7fffu;
        if (i & 1)
          out[i >> 1] |= number << 16;
        else
          out[i >> 1] = number;
      }
      uint* to = (uint*)(matches + (size_t)reference * GROUP) + t * (PART / 2);
#pragma unroll
      for (int i = 0; i < PART / 2; i++) to[i] = out[i];
      if (t == 0 && (half ? hard1 : hard0)) difficult[1 + atomicAdd(difficult, 1u)] = reference;
    }
  }
}

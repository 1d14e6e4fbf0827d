// Matching of context ridge on tensor cores: SSD = |a|^2 + |b|^2 - 2 ab of 6 x 6 bytes, and the products ab of 16
// reference patches with 8 neighbouring candidates are two small matrix products.
//
// A work-group takes 4 x 4 references; the candidates are the union of their windows. Two stages:
//   distances  every warp has 8 columns of candidates, row by row: the distances to all 16 references go to local
//              memory, exact, in 16 bits; 65535 is too far, or no candidate
//   select     a warp has a reference: a threshold that lets MOST to 128 candidates through is found by counting,
//              they are sorted by (distance, number), as far as the group depends on it, and cut
//
// The numbers of a group are those of the reference and come first in its row; their order is free, but where there are
// fewer candidates than MOST. Rows end in 0xffff.
//
// Options: STEP (even), RADIUS, MOST (a multiple of 16, 96 at most), MARGIN, WARPS (8 or 16), PARTS (in which a column of
// candidates is done), MATCH_RESIDENT (work-groups per multiprocessor).

constexpr int SIDE = 2 * RADIUS + 1;
constexpr int SPAN = 3 * STEP;  // from the first to the last reference, at most
constexpr int UNION = SPAN + SIDE;
constexpr int TILES = (UNION + 7) / 8;  // of 8 columns

// Pixels: at every column a word of four. A fragment reads two rows, three apart, which must not collide.
constexpr int pixel_pitch(int n) { return n % 4 == 0 && 3 * n % 32 >= 12 && 3 * n % 32 <= 20 ? n : pixel_pitch(n + 1); }
constexpr int PITCH = pixel_pitch(8 * TILES + 4);
constexpr int QUADS = PITCH / 4;
// Norms, in runs of rows down a column.
constexpr int NORM_PITCH = (UNION + 1) / 2 * 2;
constexpr int RUNS = 32 * WARPS / NORM_PITCH;
constexpr int RUN = (UNION + RUNS - 1) / RUNS;
constexpr int TILE_ROWS = RUN * RUNS + 5;
constexpr int INVALID_NORM = 1 << 28;  // no patch fits here

// Distances of a reference: rows of pairs that begin at even columns of the union, so that one entry is beside the
// window: the last or, where the window begins at an odd column, the first.
constexpr int ROW_PAIRS = RADIUS + 1;
constexpr int PAIRS = SIDE * ROW_PAIRS;
constexpr int REFERENCE_WORDS = (PAIRS + 31 + 3) / 4 * 4;
constexpr int OWN = 2 * (RADIUS * ROW_PAIRS) + RADIUS;  // the reference itself, if its column is even

constexpr int KEYS = 128;
constexpr int OTHERS = MOST - 1;          // wanted beside the reference itself
constexpr int WORDS = (PAIRS + 31) / 32;  // pairs of a lane
constexpr int MASKS = (WORDS + 15) / 16;  // a bit for each of them
constexpr int FARTHEST = 0x7c00;          // largest threshold
constexpr int MOST_SSD = 65534;
constexpr uint NO_KEY = 0xffffffffu;

static_assert(STEP % 2 == 0 && MOST % 16 == 0 && MOST <= 96 && 2 * PAIRS < 4096, "");
static_assert(WARPS * KEYS <= TILE_ROWS * PITCH && TILES * PARTS <= 2 * WARPS, "");

// Stores of a warp, 8 references in a row, fall on different banks.
INLINE int distances_at(int q) {
  return q * REFERENCE_WORDS + ((4 * q + ROW_PAIRS * STEP * (q >> 2) + STEP / 2 * (q & 3) - REFERENCE_WORDS * q) & 31);
}

// ---- distances

// One of the two references of a lane, and its window in the lane's two columns.
struct Window {
  uint* to;  // distances to the candidates of row 0 of the union
  int y, norm;
  bool inside;  // the columns are in the window
  uint beside;  // ones where they are not
};

INLINE void put(const Window& r, int y, int2 norms, int ab0, int ab1) {
  const bool in = y >= SPAN && y < SIDE ? r.inside : r.inside && (uint)(y - r.y) < (uint)SIDE;
  const uint d = pack_saturated(norms.x + r.norm - 2 * ab0, norms.y + r.norm - 2 * ab1) | r.beside;
  if (in) r.to[y * ROW_PAIRS] = d;
}

// Rows FIRST to LAST of 8 columns of candidates. Lane (g, t) has rows 3 (t / 2) to 3 (t / 2) + 2 of what is compared,
// columns from 4 (t % 2) on.
template <int FIRST, int LAST>
INLINE void column(const uint* a, const Window* r, const uint* pixels, const int* norms) {
  uint rows[3] = {pixels[FIRST * PITCH], pixels[(FIRST + 1) * PITCH], 0};
#pragma unroll
  for (int y = FIRST; y < LAST; y++) {
    const int k = y - FIRST;
    rows[(k + 2) % 3] = pixels[(y + 2) * PITCH];
    const int2 n = *(const int2*)(norms + y * NORM_PITCH);
    const uint b[2] = {rows[k % 3], rows[(k + 1) % 3]};
    const int zero[4] = {0, 0, 0, 0};
    int ab[4];
    mma_u8(ab, a, b, zero);
    mma_u8_more(ab, a + 4, rows[(k + 2) % 3]);
    put(r[0], y, n, ab[0], ab[1]);
    put(r[1], y, n, ab[2], ab[3]);
  }
}

// ---- select

// Candidates not farther than a threshold, in units of two; and which of the lane's they are.
INLINE int count(const uint* v, int threshold, uint* masks) {
  const uint t = (uint)threshold * 0x10001u;
  int n = 0;
#pragma unroll
  for (int m = 0; m < MASKS; m++) {
    masks[m] = 0;
#pragma unroll
    for (int j = 16 * m; j < min(16 * m + 16, WORDS); j++) masks[m] |= h2le_mask(v[j], t) & (0x10001u << (j & 15));
    n += __popc(masks[m]);
  }
  return (int)__reduce_add_sync(WARP, (uint)n);
}

// Candidates not farther than `most`.
INLINE int count_exactly(const uint* d, int most) {
  uint n = 0;
#pragma unroll 1
  for (int i = threadIdx.x & 31; i < PAIRS; i += 32) n += ((int)(d[i] & 0xffffu) <= most) + ((int)(d[i] >> 16) <= most);
  return (int)__reduce_add_sync(WARP, n);
}

// Where no threshold in units of two will do (ties, few candidates): all that are nearer than the last one wanted, then
// equally far ones in order. Fewer than OTHERS are not farther than `below`. Returns how many keys there are.
INLINE int take_exactly(uint* list, const uint* d, int below, int above) {
  const int lane = threadIdx.x & 31;
  const uint before = (1u << lane) - 1;
#pragma unroll 1
  while (above - below > 1) {
    const int middle = (below + above) >> 1;
    if (count_exactly(d, middle) < OTHERS)
      below = middle;
    else
      above = middle;
  }
  int nearer = 0, equal = count_exactly(d, above - 1);
#pragma unroll 1
  for (int i = lane; i < PAIRS + lane; i += 32) {
    const uint pair = i < PAIRS ? d[i] : 0xffffffffu;
    const int d0 = pair & 0xffffu, d1 = pair >> 16;
    const uint n0 = __ballot_sync(WARP, d0 < above), n1 = __ballot_sync(WARP, d1 < above),
               e0 = __ballot_sync(WARP, d0 == above), e1 = __ballot_sync(WARP, d1 == above);
    int n = nearer + __popc(n0 & before) + __popc(n1 & before), e = equal + __popc(e0 & before) + __popc(e1 & before);
    if (d0 <= above) {
      const int at = d0 < above ? n++ : e++;
      if (at < KEYS - 1) list[at] = ((uint)d0 << 12) + 2 * i + 1;
    }
    if (d1 <= above) {
      const int at = d1 < above ? n : e;
      if (at < KEYS - 1) list[at] = ((uint)d1 << 12) + 2 * i + 2;
    }
    nearer += __popc(n0) + __popc(n1);
    equal += __popc(e0) + __popc(e1);
  }
  return min(equal, KEYS - 1);
}

// One step of a bitonic network over 128 keys, four in a lane: runs of SIZE, STRIDE apart.
template <int SIZE, int STRIDE> INLINE void sort_step(uint* k) {
  const int lane = threadIdx.x & 31;
  const bool ascending = SIZE == KEYS || (lane & (SIZE / 4)) == 0;
  if constexpr (STRIDE >= 4) {
    const bool larger = ((lane & (STRIDE / 4)) != 0) == ascending;
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const uint o = __shfl_xor_sync(WARP, k[r], STRIDE / 4);
      k[r] = (k[r] < o) != larger ? k[r] : o;
    }
  } else {
#pragma unroll
    for (int r = 0; r < 4; r++) {
      if (r & STRIDE) continue;
      const uint x = k[r], y = k[r | STRIDE];
      const bool swap = (y < x) == (SIZE == 2 ? (r & 2) == 0 : ascending);
      k[r] = swap ? y : x;
      k[r | STRIDE] = swap ? x : y;
    }
  }
}
template <int SIZE, int STRIDE, int LAST> INLINE void sort_merge(uint* k) {
  sort_step<SIZE, STRIDE>(k);
  if constexpr (STRIDE > LAST) sort_merge<SIZE, STRIDE / 2, LAST>(k);
}
// Into sets of 16, each before the next.
INLINE void sort_sets(uint* k) {
  sort_merge<2, 1, 1>(k);
  sort_merge<4, 2, 1>(k);
  sort_merge<8, 4, 1>(k);
  sort_merge<16, 8, 1>(k);
  sort_merge<32, 16, 1>(k);
  sort_merge<64, 32, 1>(k);
  sort_merge<128, 64, 16>(k);
}

// Keys (distance, entry + 1) of the nearest candidates of a reference and, first, its own, which is 0. `last` is the
// threshold that was good for a neighbour, or negative. Returns how many there are, or MOST if more.
INLINE int nearest(uint* keys, const uint* d, uint* list, int& last) {
  const int lane = threadIdx.x & 31;
  // As halves that are never negative: distances from 63490 on are no numbers, and not counted.
  uint v[WORDS], masks[MASKS];
#pragma unroll
  for (int j = 0; j < WORDS; j++)
    v[j] = 32 * j + 31 < PAIRS || lane + 32 * j < PAIRS ? d[lane + 32 * j] >> 1 & 0x7fff7fffu : 0x7fff7fffu;
  int threshold = last;
  if (threshold < 0) {
    // Each lane has one that is not farther.
    uint least = v[0];
#pragma unroll
    for (int j = 1; j < WORDS; j++) least = h2min(least, v[j]);
    threshold = (int)min(__reduce_max_sync(WARP, min(least & 0xffffu, least >> 16)), (uint)FARTHEST);
  }
  int below = -1, above = FARTHEST + 1, n_below = 0, n_above = 0, step = threshold / 16 + 1, n;
  bool even = false;
#pragma unroll 1
  while (true) {
    n = count(v, threshold, masks);
    if (n >= OTHERS && n < KEYS) break;
    if (n < OTHERS)
      below = threshold, n_below = n;
    else
      above = threshold, n_above = n;
    if (above - below <= 1) break;
    if (above > FARTHEST) {
      threshold = min(threshold + step, FARTHEST);
    } else if (below < 0) {
      threshold = max(threshold - step, 0);
    } else if (even) {
      threshold = (below + above) >> 1;
    } else {
      const float part = __fdividef((float)((OTHERS + KEYS) / 2 - n_below), (float)(n_above - n_below));
      threshold = min(max(below + (int)(part * (float)(above - below)), below + 1), above - 1);
    }
    step *= 2;
    even = !even;
  }
  ((uint4*)list)[lane] = make_uint4(NO_KEY, NO_KEY, NO_KEY, NO_KEY);
  __syncwarp();
  if (n >= OTHERS && n < KEYS) {
    last = threshold;
    int mine = 0;
#pragma unroll
    for (int m = 0; m < MASKS; m++) mine += __popc(masks[m]);
    int up_to = mine;
#pragma unroll
    for (int s = 1; s < 32; s <<= 1) {
      const int o = __shfl_up_sync(WARP, up_to, s);
      if (lane >= s) up_to += o;
    }
    uint* to = list + (up_to - mine);
    const ushort* from = (const ushort*)(d + lane);
#pragma unroll
    for (int m = 0; m < MASKS; m++) {
      uint mask = masks[m];
#pragma unroll 1
      while (mask) {
        const int b = 31 - __clz(mask), i = (16 * m + (b & 15)) * 64 + (b >> 4);
        mask ^= 1u << b;
        *to++ = ((uint)from[i] << 12) + i + 2 * lane + 1;
      }
    }
  } else {
    last = -1;
    n = take_exactly(list, d, 2 * below + 1, above > FARTHEST ? MOST_SSD : 2 * above + 1);
  }
  __syncwarp();
  const uint4 k = ((const uint4*)list)[lane];
  keys[0] = k.x;
  keys[1] = k.y;
  keys[2] = k.z;
  keys[3] = lane == 31 ? 0 : k.w;
  sort_sets(keys);
  if (n < OTHERS) sort_merge<KEYS, 8, 1>(keys);
  return min(n + 1, MOST);
}

KERNEL __launch_bounds__(32 * WARPS, MATCH_RESIDENT)
    ridge_match_tensor(const uint* __restrict__ guide, ushort* __restrict__ lists, int columns, int last_x, int last_y,
                       int offset, int first_row, int last_row, int pitch, int least, int spread) {
  DYNAMIC_LOCAL(local);
  uint* distances = (uint*)local;
  uint* pixels = distances + 16 * REFERENCE_WORDS;
  int* norms = (int*)(pixels + TILE_ROWS * PITCH);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int block_x = 4 * blockIdx.x, block_y = first_row + 4 * blockIdx.y;
  // The first reference, and the first candidate.
  const int origin_x = reference_at(block_x, offset, last_x), origin_y = reference_at(block_y, offset, last_y);
  const int x0 = origin_x - RADIUS, y0 = origin_y - RADIUS;

  // What lies outside of the picture is never compared and may be anything.
  const int last_word = ((last_y + 5 + MARGIN) * pitch + last_x + 5 + MARGIN) >> 2;
  for (int i = threadIdx.x; i < TILE_ROWS * QUADS; i += 32 * WARPS) {
    const int r = i / QUADS, q = i - r * QUADS;
    const int at = (min(max(y0 + r, 0), last_y + 5) + MARGIN) * pitch + x0 + 4 * q + MARGIN;
    const int word = at >> 2, shift = 8 * (at & 3);
    const uint a = __ldg(guide + min(max(word, 0), last_word)), b = __ldg(guide + min(max(word + 1, 0), last_word)),
               c = __ldg(guide + min(max(word + 2, 0), last_word));
    const uint four = __funnelshift_r(a, b, shift), next = __funnelshift_r(b, c, shift);
    ((uint4*)pixels)[i] = make_uint4(four, __funnelshift_r(four, next, 8), __funnelshift_r(four, next, 16),
                                     __funnelshift_r(four, next, 24));
  }
  __syncthreads();
  if (threadIdx.x < RUNS * NORM_PITCH) {
    const int run = threadIdx.x / NORM_PITCH, c = threadIdx.x - run * NORM_PITCH;
    const bool inside = (uint)(x0 + c) <= (uint)last_x;
    const uint* from = pixels + run * RUN * PITCH + c;
    uint squares[6] = {0, 0, 0, 0, 0, 0}, sum = 0;
#pragma unroll
    for (int r = 0; r < RUN + 5; r++) {
      const uint w0 = from[r * PITCH], w1 = from[r * PITCH + 4] & 0xffffu;
      const uint s = __dp4a(w0, w0, __dp4a(w1, w1, 0u));
      sum += s - squares[r % 6];
      squares[r % 6] = s;
      const int y = run * RUN + r - 5;
      if (r >= 5 && y < UNION)
        norms[y * NORM_PITCH + c] = inside && (uint)(y0 + y) <= (uint)last_y ? (int)sum : INVALID_NORM;
    }
  }
  __syncthreads();

#pragma unroll 1
  for (int task = warp; task < TILES * PARTS; task += WARPS) {
    const int part = task / TILES, c0 = 8 * (task - part * TILES);
    uint a[6];
    Window r[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int q = g + 8 * h;
      const int x = reference_at(block_x + (q & 3), offset, last_x) - origin_x,
                y = reference_at(block_y + (q >> 2), offset, last_y) - origin_y;
      const uint* at = pixels + (RADIUS + y + 3 * (t >> 1)) * PITCH + RADIUS + x + 4 * (t & 1);
      // Six of eight columns are compared.
#pragma unroll
      for (int i = 0; i < 3; i++) a[2 * i + h] = at[i * PITCH] & (t & 1 ? 0xffffu : 0xffffffffu);
      const int c = c0 + 2 * t - (x & ~1);
      r[h].to = distances + distances_at(q) - y * ROW_PAIRS + (c >> 1);
      r[h].y = y;
      r[h].norm = norms[(RADIUS + y) * NORM_PITCH + RADIUS + x];
      r[h].inside = (uint)c < (uint)SIDE;
      r[h].beside = x & 1 ? (c == 0 ? 0xffffu : 0u) : (c == SIDE - 1 ? 0xffff0000u : 0u);
    }
    const uint* candidates = pixels + 3 * (t >> 1) * PITCH + c0 + g + 4 * (t & 1);
    const int* candidate_norms = norms + c0 + 2 * t;
    if (PARTS == 1)
      column<0, UNION>(a, r, candidates, candidate_norms);
    else if (part == 0)
      column<0, UNION / 2>(a, r, candidates, candidate_norms);
    else
      column<UNION / 2, UNION>(a, r, candidates, candidate_norms);
  }
  __syncthreads();

  uint* list = pixels + warp * KEYS;
  int last = -1;
#pragma unroll 1
  for (int q = warp * (16 / WARPS); q < (warp + 1) * (16 / WARPS); q++) {
    const int ix = block_x + (q & 3), iy = block_y + (q >> 2);
    if (ix >= columns || iy >= last_row) continue;
    const int odd = (reference_at(ix, offset, last_x) - origin_x) & 1;
    uint* d = distances + distances_at(q);
    // The reference is in its group, whatever is as near.
    if (lane == 0) ((ushort*)d)[OWN + odd] = 0xffffu;
    __syncwarp();
    uint keys[4];
    const int found = nearest(keys, d, list, last);
    // How many of them are the group: see GroupSize.
    const uint far =
        (__reduce_max_sync(WARP, 4 * lane < least ? max(max(keys[0], keys[1]), max(keys[2], keys[3])) : 0u) >> 12) *
        spread;
    uint near = 0;
#pragma unroll
    for (int r = 0; r < 4; r++) near += 4 * lane + r >= least && 4 * lane + r < found && (keys[r] >> 12 << 8) <= far;
    near = __reduce_add_sync(WARP, near);
    const int size = found <= least ? found : min(found, least + ((int)near + 8) / 16 * 16);
    uint out[4];
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const int entry = (int)(keys[r] & 4095u) - 1, row = entry / (2 * ROW_PAIRS);
      out[r] = 4 * lane + r >= size ? 0xffffu : keys[r] == 0 ? RADIUS * SIDE + RADIUS : (uint)(entry - row - odd);
    }
    if (4 * lane < MOST)
      ((uint2*)(lists + ((size_t)iy * columns + ix) * MOST))[lane] =
          make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
    __syncwarp();
  }
}

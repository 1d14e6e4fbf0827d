// Exact noise variances of the coefficients of a group whose patches overlap (Makinen et al. 2020), relative to those
// of patches that do not.
//
// The covariance of one atom at two patches is the product of its autocorrelations in x and y at their distance.
// With Haar across the group, the variance of a node's coefficient is 1 + 2 / size (pairs within its halves - pairs
// across them). The sum over many pairs of such products, for all 8 x 8 atoms, is a matrix product: rows are the
// atoms in x, columns those in y, and the pairs of patches are summed over.
//
// Each lane finds the distances of some pairs and leaves them as codes of 4 bits; four pairs that a lane needs for one
// product are a word. Autocorrelations at two distances, as a pair of halves, come from a table by 8 bits of code.

constexpr int CODES = 144;         // words of one warp
constexpr int TABLE_STRIDE = 257;  // words from atom to atom: different banks
constexpr int TABLE = 8 * TABLE_STRIDE;

// Positions are (y << 12) + (x << 4). The difference of two, with 8 added to both parts, is Y0X0 in hexadecimal if the
// patches overlap; 0 if not.
INLINE uint distance(uint a, uint b) {
  uint d = a - b + 0x8080u;
  return d & ~0xf0f0u ? 0u : d;
}

// [atom][second code, first code]: the autocorrelations at both distances. Code 0 is no overlap, 8 is distance 0.
INLINE void load_correlation(uint* table, const float* autocorrelation) {
  for (int i = threadIdx.x; i < 8 * 256; i += blockDim.x) {
    const int atom = i >> 8, d = (i & 15) - 8, e = (i >> 4 & 15) - 8;
    const float a = d == -8 ? 0.f : autocorrelation[8 * (d < 0 ? -d : d) + atom];
    const float b = e == -8 ? 0.f : autocorrelation[8 * (e < 0 ? -e : e) + atom];
    table[atom * TABLE_STRIDE + (i & 255)] = pack(a, b);
  }
}

template <int N> struct Exact {
  static constexpr bool WHITE = false;
  uint v[N];
  INLINE uint of(const Exact& e, int k) { return e.v[k]; }

  // Where the codes lie: pairs of patches; quads, two at a time; then nodes with halves of 4, 8 and 16.
  static constexpr int PAIRS = 0, QUADS_OF = 16, HALVES4 = 32, HALVES8 = 48, HALVES16 = 80;

  // Codes of the pairs (r, l), (r, l + 1), (s, k), (s, k + 1): bytes x, y of the first two, x, y of the others.
  INLINE uint four(const uint* positions, int r, int l, int s, int k) {
    uint2 p = *(const uint2*)(positions + l), q = *(const uint2*)(positions + k);
    uint a = distance(positions[r], p.x), b = distance(positions[r], p.y);
    uint c = distance(positions[s], q.x), d = distance(positions[s], q.y);
    return __byte_perm(a >> 4 | b, c >> 4 | d, 0x5410);
  }

  INLINE void encode(const uint* positions, uint* codes) {
    const int lane = threadIdx.x & 31, t = lane & 3, i = lane >> 2;
    if (lane < N / 2) {
      // The x code twice, so that both halves of the table's word are the same.
      uint d = distance(positions[2 * lane + 1], positions[2 * lane]);
      codes[PAIRS + lane] = d | (d >> 4 & 15u);
    }
    if constexpr (N >= 4) {
      // Lanes below 16: halves of 4. Lanes above: quads, of which the first two columns of pairs are read.
      const int node = i & 3, first = 8 * node, quad = first + 4 * (t >> 1);
      const bool halves = lane < 16;
      const int r = halves ? first + 4 + (t >> 1) : quad + 2 + (t & 1), l = halves ? first + 2 * (t & 1) : quad;
      if (8 * node < N)
        codes[(halves ? HALVES4 : QUADS_OF) + (lane & 15)] = four(positions, r, l, halves ? r + 2 : r, l);
    }
    if constexpr (N >= 16) {
      const int first = 16 * (i >> 2), r = first + 8 + 2 * (i & 3), l = first + 2 * t;
      if (lane < N) codes[HALVES8 + lane] = four(positions, r, l, r + 1, l);
    }
    if constexpr (N >= 32) {
      codes[HALVES16 + lane] = four(positions, 16 + i, 2 * t, 16 + i, 8 + 2 * t);
      codes[HALVES16 + 32 + lane] = four(positions, 24 + i, 2 * t, 24 + i, 8 + 2 * t);
    }
  }

  template <int BYTE> INLINE uint look_up(const uint* table, uint code) {
    constexpr int SHIFT = 8 * BYTE - 2;
    return *(const uint*)((const char*)table + ((SHIFT < 0 ? code << 2 : code >> (SHIFT < 0 ? 0 : SHIFT)) & 0x3fcu));
  }

  // Sum over the pairs across the halves of a node, 16 at a time.
  template <int PRODUCTS> INLINE float2 across(const uint* codes, const uint* table) {
    float f[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
    for (int m = 0; m < PRODUCTS; m++) {
      uint c = codes[4 * m + (threadIdx.x & 3)];
      uint a[4] = {look_up<0>(table, c), 0u, look_up<2>(table, c), 0u},
           b[2] = {look_up<1>(table, c), look_up<3>(table, c)};
      mma_float16(f, a, b, f);
    }
    return make_float2(f[0], f[1]);
  }

  // The same for two neighbouring quads at once, the second in the lower rows of the product.
  INLINE float4 across_quads(const uint* codes, const uint* table) {
    const int t = threadIdx.x & 3;
    uint c = codes[t], x = look_up<0>(table, c);
    uint a[4] = {t < 2 ? x : 0u, t < 2 ? 0u : x, 0u, 0u}, b[2] = {look_up<1>(table, c), 0u};
    float f[4] = {0.f, 0.f, 0.f, 0.f};
    mma_float16(f, a, b, f);
    return make_float4(f[0], f[1], f[2], f[3]);
  }

  // One pair: atom g in x, 2t and 2t + 1 in y.
  INLINE uint one_pair(uint code, const uint* table, const uint* whole_table) {
    const uint* atoms = whole_table + 2 * (threadIdx.x & 3) * TABLE_STRIDE;
    uint y0 = look_up<1>(atoms, code), y1 = look_up<1>(atoms + TABLE_STRIDE, code);
    // The y byte is the code and 0: the second half has the value.
    return h2mul(look_up<0>(table, code), __byte_perm(y0, y1, 0x7632));
  }

  // A combination that cancels keeps clear of 0 / 0; the same in the reference.
  INLINE uint relative(float a, float b) { return pack(fmaxf(a, 1e-6f), fmaxf(b, 1e-6f)); }
  INLINE uint node(float2 halves, float2 across, float factor) {
    return relative(1.f + factor * (halves.x - across.x), 1.f + factor * (halves.y - across.y));
  }

  __device__ __forceinline__ void find(const uint* positions, const uint* whole_table, uint* codes) {
    const uint one = 0x3c003c00u;
    if constexpr (N == 1) {
      v[0] = one;
      return;
    }
    encode(positions, codes);
    __syncwarp();
    const uint* table = whole_table + (threadIdx.x >> 2 & 7) * TABLE_STRIDE;
    if constexpr (N == 2) {
      uint c = one_pair(codes[PAIRS], table, whole_table);
      v[0] = h2add(one, c);
      v[1] = h2sub(one, c);
    } else if constexpr (N >= 4) {
      float2 within[N / 4];
#pragma unroll
      for (int q = 0; q < N; q += 4) {
        uint a = one_pair(codes[PAIRS + q / 2], table, whole_table),
             b = one_pair(codes[PAIRS + q / 2 + 1], table, whole_table);
        v[q + 1] = h2sub(one, a);
        v[q + 3] = h2sub(one, b);
        within[q / 4] = make_float2(low(a) + low(b), high(a) + high(b));
      }
#pragma unroll
      for (int q = 0; q < N; q += 8) {
        float4 c = across_quads(codes + QUADS_OF + q / 2, table);
        v[q + 2] = node(within[q / 4], make_float2(c.x, c.y), 0.5f);
        within[q / 4].x += c.x;
        within[q / 4].y += c.y;
        if constexpr (N > 4) {
          v[q + 6] = node(within[q / 4 + 1], make_float2(c.z, c.w), 0.5f);
          within[q / 4 + 1].x += c.z;
          within[q / 4 + 1].y += c.w;
        }
      }
      if constexpr (N >= 8) level<4>(within, codes + HALVES4, table);
      if constexpr (N >= 16) level<8>(within, codes + HALVES8, table);
      if constexpr (N >= 32) level<16>(within, codes + HALVES16, table);
      v[0] = relative(1.f + 2.f / N * within[0].x, 1.f + 2.f / N * within[0].y);
    }
  }

  // Nodes with halves of H patches, from the sums within them; leaves the sums within the nodes.
  template <int H> __device__ __forceinline__ void level(float2* within, const uint* codes, const uint* table) {
    constexpr int PRODUCTS = H * H / 16;
#pragma unroll
    for (int i = 0; i < N; i += 2 * H) {
      float2 c = across<PRODUCTS>(codes + i / (2 * H) * PRODUCTS * 4, table), a = within[i / 4],
             b = within[(i + H) / 4];
      float2 halves = make_float2(a.x + b.x, a.y + b.y);
      v[i + H] = node(halves, c, 1.f / H);
      within[i / 4] = make_float2(halves.x + c.x, halves.y + c.y);
    }
  }
};

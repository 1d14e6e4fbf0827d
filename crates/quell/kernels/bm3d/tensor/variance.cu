// Exact noise variances of the coefficients of a group whose patches overlap (Makinen et al. 2020), relative to those
// of patches that do not.
//
// The covariance of one atom at two patches is the product of its autocorrelations in x and y at their distance.
// With Haar across the group, the variance of a node's coefficient is 1 + 2 / size (pairs within its halves - pairs
// across them). The sum over many pairs of such products, for all 8 x 8 atoms, is a matrix product: rows are the
// atoms in x, columns those in y, and the pairs of patches are summed over.

// Positions are (y << 12) + (x << 4). The difference of two, with 8 added to both parts, is Y0X0 in hexadecimal if the
// patches overlap; its bytes are then byte offsets into the table.
INLINE uint distance(uint a, uint b) {
  uint d = a - b + 0x8080u;
  return d & ~0xf0f0u ? 0u : d;
}

// [distance + 8][atom]; distance -8 is for pairs that do not overlap.
INLINE void load_correlation(ushort* table, const float* autocorrelation) {
  for (int i = threadIdx.x; i < 128; i += blockDim.x) {
    int d = i / 8 - 8;
    table[i] = d == -8 ? 0 : (ushort)pack(autocorrelation[8 * (d < 0 ? -d : d) + i % 8], 0.f);
  }
}

template <int N> struct Exact {
  static constexpr bool WHITE = false;
  uint v[N];
  INLINE uint of(const Exact& e, int k) { return e.v[k]; }

  // Autocorrelations of this lane's atom g at two distances: in x, and in y.
  INLINE uint in_x(const char* table, uint a, uint b) {
    return *(const ushort*)(table + (a & 0xffu)) | (uint) * (const ushort*)(table + (b & 0xffu)) << 16;
  }
  INLINE uint in_y(const char* table, uint a, uint b) {
    return *(const ushort*)(table + (a >> 8)) | (uint) * (const ushort*)(table + (b >> 8)) << 16;
  }

  // Both patches of a pair node: atoms g in x, 2t and 2t + 1 in y.
  INLINE uint one_pair(const uint* positions, const ushort* correlation, int i) {
    const int g = threadIdx.x >> 2 & 7, t = threadIdx.x & 3;
    uint d = distance(positions[i + 1], positions[i]);
    uint x = *(const ushort*)((const char*)(correlation + g) + (d & 0xffu));
    uint y = *(const uint*)((const char*)(correlation + 2 * t) + (d >> 8));
    return h2mul(x | x << 16, y);
  }

  // Sum over the pairs across two halves of H patches.
  template <int H> INLINE float2 across(const uint* positions, const char* table, int first) {
    const int t = threadIdx.x & 3;
    const uint *left = positions + first, *right = left + H;
    float f[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
    for (int m = 0; m < H * H / 16; m++) {
      uint d[4];
      if (H == 4) {
        uint2 l = *(const uint2*)(left + 2 * (t & 1));
        uint a = right[t >> 1], b = right[2 + (t >> 1)];
        d[0] = distance(a, l.x), d[1] = distance(a, l.y), d[2] = distance(b, l.x), d[3] = distance(b, l.y);
      } else if (H == 8) {
        uint2 l = *(const uint2*)(left + 2 * t), r = *(const uint2*)(right + 2 * m);
        d[0] = distance(r.x, l.x), d[1] = distance(r.x, l.y), d[2] = distance(r.y, l.x), d[3] = distance(r.y, l.y);
      } else {
        uint2 l = *(const uint2*)(left + 2 * t), h = *(const uint2*)(left + 8 + 2 * t);
        uint r = right[m];
        d[0] = distance(r, l.x), d[1] = distance(r, l.y), d[2] = distance(r, h.x), d[3] = distance(r, h.y);
      }
      uint a[4] = {in_x(table, d[0], d[1]), 0u, in_x(table, d[2], d[3]), 0u};
      uint b[2] = {in_y(table, d[0], d[1]), in_y(table, d[2], d[3])};
      mma_float16(f, a, b, f);
    }
    return make_float2(f[0], f[1]);
  }

  // The same for two neighbouring quads at once, the second in the lower rows of the product.
  INLINE float4 across_quads(const uint* positions, const char* table, int first) {
    const int t = threadIdx.x & 3;
    const uint* quad = positions + first + 4 * (t >> 1);
    uint2 l = *(const uint2*)quad;
    uint r = quad[2 + (t & 1)], d = distance(r, l.x), e = distance(r, l.y), x = in_x(table, d, e);
    uint a[4] = {t < 2 ? x : 0u, t < 2 ? 0u : x, 0u, 0u}, b[2] = {in_y(table, d, e), 0u};
    float f[4] = {0.f, 0.f, 0.f, 0.f};
    mma_float16(f, a, b, f);
    return make_float4(f[0], f[1], f[2], f[3]);
  }

  // A combination that cancels keeps clear of 0 / 0; the same in the reference.
  INLINE uint relative(float a, float b) { return pack(fmaxf(a, 1e-6f), fmaxf(b, 1e-6f)); }
  INLINE uint node(float2 halves, float2 across, float factor) {
    return relative(1.f + factor * (halves.x - across.x), 1.f + factor * (halves.y - across.y));
  }

  __device__ __forceinline__ void find(const uint* positions, const ushort* correlation) {
    const uint one = 0x3c003c00u;
    if constexpr (N == 1) {
      v[0] = one;
    } else if constexpr (N == 2) {
      uint c = one_pair(positions, correlation, 0);
      v[0] = h2add(one, c);
      v[1] = h2max(h2sub(one, c), both(1e-6f));
    } else {
      const char* table = (const char*)(correlation + (threadIdx.x >> 2 & 7));
      float2 within[N / 4];
#pragma unroll
      for (int q = 0; q < N; q += 4) {
        uint a = one_pair(positions, correlation, q), b = one_pair(positions, correlation, q + 2);
        v[q + 1] = h2max(h2sub(one, a), both(1e-6f));
        v[q + 3] = h2max(h2sub(one, b), both(1e-6f));
        within[q / 4] = make_float2(low(a) + low(b), high(a) + high(b));
      }
#pragma unroll
      for (int q = 0; q < N; q += 8) {
        float4 c = across_quads(positions, table, q);
        v[q + 2] = node(within[q / 4], make_float2(c.x, c.y), 0.5f);
        within[q / 4].x += c.x;
        within[q / 4].y += c.y;
        if constexpr (N > 4) {
          v[q + 6] = node(within[q / 4 + 1], make_float2(c.z, c.w), 0.5f);
          within[q / 4 + 1].x += c.z;
          within[q / 4 + 1].y += c.w;
        }
      }
      if constexpr (N >= 8) level<4>(within, positions, table);
      if constexpr (N >= 16) level<8>(within, positions, table);
      if constexpr (N >= 32) level<16>(within, positions, table);
      v[0] = relative(1.f + 2.f / N * within[0].x, 1.f + 2.f / N * within[0].y);
    }
  }

  // Nodes with halves of H patches, from the sums within them; leaves the sums within the nodes.
  template <int H> __device__ __forceinline__ void level(float2* within, const uint* positions, const char* table) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * H) {
      float2 c = across<H>(positions, table, i), a = within[i / 4], b = within[(i + H) / 4];
      float2 halves = make_float2(a.x + b.x, a.y + b.y);
      v[i + H] = node(halves, c, 1.f / H);
      within[i / 4] = make_float2(halves.x + c.x, halves.y + c.y);
    }
  }
};

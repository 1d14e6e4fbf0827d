// The collaborative filter on tensor cores (DAB07 eq. 7 to 11): groups of up to 32 patches of 8 x 8 in registers.
//
// One warp filters one group at a time, the 16 groups of a block of 4 x 4 references in turn; a work-group is a
// stack of such blocks over common tiles in local memory: the noisy picture, the basic estimate, and the sums.
//
// Lane (g, t) holds row g, columns t and t + 4 of every patch as a pair of halves, the centre of the range taken off:
// one load without bank conflicts per patch. The two-dimensional transform is two small matrix products, which also
// do the first two Haar stages across the group: with A = [[C, C], [C, -C]] patches x, y become C(x + y), C(x - y).
// Coefficient (row g, columns 2t and 2t + 1) then lies in lane (g, t).
//
// Haar is not normalised: a coefficient over m patches has the noise variance m sigma^2. Where the coefficients are:
//   0 the sum; 4i + 2 over 4 patches; multiples of 4: twice the lowest set bit; 4i + 1 and 4i + 3 over 2, doubled.
//
// Options: STEP, RADIUS, GROUP (8, 16, 32), MARGIN, BLOCKS (warps), WIENER, EXACT, DEVIATION (weight 1 / sqrt(kept)),
// FILTER_RESIDENT (work-groups per multiprocessor), COUNTED (samples are averages of as many frames as `counts` says).

constexpr int SIDE = 2 * RADIUS + 1;
constexpr int LEFT = (RADIUS + STEP + 3) / 4 * 4;
constexpr int TOP = RADIUS + STEP;
// Rows of a patch land on different banks if the pitch is 4 modulo 8.
constexpr int tile_pitch(int n) { return n % 8 == 4 ? n : tile_pitch(n + 1); }
constexpr int PITCH = tile_pitch(LEFT + 3 * STEP + RADIUS + 8);
constexpr int ROWS = TOP + 3 * STEP + RADIUS + 8 + 4 * STEP * (BLOCKS - 1);
constexpr int QUADS = PITCH / 4;
constexpr int TILE = ROWS * PITCH * 4;  // bytes
constexpr int TILES = WIENER ? 2 : 1;   // before the sums
constexpr int THREADS = 32 * BLOCKS;
// Sums are integers: adding them in any order gives the same. The unit leaves room for every patch of a work-group
// to fall on one pixel with weight 1 and 256 grey levels.
constexpr int BLOCKS_LOG2 = BLOCKS > 4 ? 3 : BLOCKS > 2 ? 2 : BLOCKS > 1 ? 1 : 0;
constexpr int GROUP_LOG2 = GROUP == 32 ? 5 : GROUP == 16 ? 4 : 3;
constexpr int UNIT_LOG2 = 19 - BLOCKS_LOG2 - GROUP_LOG2;
constexpr float UNIT = 1 << (UNIT_LOG2 > 13 ? 13 : UNIT_LOG2);
// Coefficients are scaled so that the square of the largest, 65280 for a white group of 32, is a half; by powers of two,
// one for each direction, so that the matrices are as exact as they can be.
constexpr float SCALE_X = 1.f / 16, SCALE_Y = 1.f / 32, SCALE = SCALE_X * SCALE_Y, SCALE2 = SCALE * SCALE;
// The least noise whose reciprocal is still a half.
constexpr float LEAST_NOISE = 6.2e-5f;

constexpr int WARP_WORDS = 64 + (EXACT ? CODES : 0);  // offsets and positions of a group, codes of its distances

static_assert(BLOCKS <= 8 && LEFT <= MARGIN && TOP <= MARGIN, "");

// Layout of the constants, floats: forward matrix (row u is atom u), inverse matrix (row x gives sample x), window,
// autocorrelation [distance][atom], then scalars.
enum { FORWARD = 0, INVERSE = 64, WINDOW = 128, AUTOCORRELATION = 136, SIGMA = 200, STRENGTH = 201, CENTRE_GAIN = 202 };

struct Constants {
  uint forward1, forward2, inverse1, inverse2;
  float sigma, strength;  // lambda or mu2
  float centre;           // what the centre adds to coefficient (0, 0) of one patch, scaled; lane 0 only, else 0
};

// Noise variance of coefficient k of a group of N patches, without correlation.
constexpr int noise_of(int n, int k) { return k == 0 ? n : k & 1 ? (n >= 4 ? 8 : 2) : 2 * (k & -k); }

// First product of patches i and i + 1, which are the second operand and come out transposed.
INLINE void first_product(uint* d, uint x, uint y, uint mx, uint my) {
  uint a[4] = {mx, mx, my, negate2(my)}, b[2] = {x, y};
  mma_half16(d, a, b);
}

// Patches to coefficients.
template <int N> INLINE void analyse(uint* x, uint m1, uint m2) {
  if constexpr (N < 4) {
    uint d[2], e[2];
    first_product(d, x[0], N == 2 ? x[N - 1] : 0u, m1, m1);
    mma_half8(e, d, &m2);
    x[0] = e[0];
    if (N == 2) x[N - 1] = e[1];
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      uint d[4];
      first_product(d, x[i], x[i + 1], m1, m1);
      first_product(d + 2, x[i + 2], x[i + 3], m1, m1);
      uint plus[2] = {m2, m2}, minus[2] = {m2, negate2(m2)}, s[2], q[2];
      mma_half16(s, d, plus);   // sum of four, d01 + d23
      mma_half16(q, d, minus);  // difference of the halves, d01 - d23
      x[i] = s[0];
      x[i + 2] = q[0];
      x[i + 1] = h2add(s[1], q[1]);
      x[i + 3] = h2sub(s[1], q[1]);
    }
#pragma unroll
    for (int s = 4; s < N; s <<= 1) {
#pragma unroll
      for (int i = 0; i < N; i += 2 * s) {
        uint a = x[i], b = x[i + s];
        x[i] = h2add(a, b);
        x[i + s] = h2sub(a, b);
      }
    }
  }
}

INLINE void add_patch(float a, float b, float factor, uint at) {
  // Round to an integer by adding 1.5 * 2^23; the mantissa is then the integer.
  local_add<0>(at, (int)(__float_as_uint(a * factor + 12582912.f) - 0x4b400000u));
  local_add<16>(at, (int)(__float_as_uint(b * factor + 12582912.f) - 0x4b400000u));
}

// Coefficients to windowed patches, N times too large, weighted and added to the sums.
template <int N> INLINE void synthesise(uint* x, const uint* offsets, float weight, uint m1, uint m2, uint sums) {
  const float factor = weight * (UNIT / N) / SCALE, zero[4] = {0.f, 0.f, 0.f, 0.f};
  float f[4];
  if constexpr (N < 4) {
    uint d[4];
    first_product(d, x[0], N == 2 ? x[N - 1] : 0u, m1, m1);
    d[2] = d[3] = 0u;
    uint b[2] = {m2, m2};
    mma_float16(f, d, b, zero);
    add_patch(f[0], f[1], factor, sums + offsets[0]);
    if (N == 2) add_patch(f[2], f[3], factor, sums + offsets[N - 1]);
  } else {
#pragma unroll
    for (int s = N / 2; s >= 4; s >>= 1) {
      const uint c = both((float)(N / (2 * s)));
#pragma unroll
      for (int i = 0; i < N; i += 2 * s) {
        uint a = x[i], b = x[i + s];
        x[i] = h2fma(b, c, a);
        x[i + s] = h2fma(b, negate2(c), a);
      }
    }
    // Patches 0 and 1 are T + c D2 +- c e1, patches 2 and 3 are T - c D2 +- c e2, with c = N / 4.
    const uint mc = h2mul(m1, both(N / 4.f)), mh = h2mul(m1, both(N / 8.f));
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      uint4 o = *(const uint4*)(offsets + i);
      uint d[4], plus[2] = {m2, m2}, minus[2] = {m2, negate2(m2)};
      first_product(d, x[i], h2add(x[i + 1], x[i + 3]), m1, mh);
      first_product(d + 2, x[i + 2], h2sub(x[i + 1], x[i + 3]), mc, mh);
      mma_float16(f, d, plus, zero);
      add_patch(f[0], f[1], factor, sums + o.x);
      add_patch(f[2], f[3], factor, sums + o.y);
      mma_float16(f, d, minus, zero);
      add_patch(f[0], f[1], factor, sums + o.z);
      add_patch(f[2], f[3], factor, sums + o.w);
    }
  }
}

template <int N> INLINE void load_offsets(uint* o, const uint* offsets) {
  if constexpr (N >= 4) {
#pragma unroll
    for (int k = 0; k < N; k += 4) *(uint4*)(o + k) = *(const uint4*)(offsets + k);
  } else {
#pragma unroll
    for (int k = 0; k < N; k++) o[k] = offsets[k];
  }
}

// Relative variances, where they are 1.
template <int N> struct White {
  static constexpr bool WHITE = true;
  INLINE uint of(const White&, int) { return 0x3c003c00u; }
};

// Hard threshold; returns the variance kept in this lane.
template <int N, class V> INLINE float threshold(uint* x, const V& v, const Constants& c) {
  uint kept = 0;
  float sum = 0.f;
  const uint centre = pack(c.centre * N, 0.f);
#pragma unroll
  for (int k = 0; k < N; k++) {
    uint y = k == 0 ? h2add(x[k], centre) : x[k], keep;
    if constexpr (V::WHITE) {
      keep = h2gt_abs(y, both(c.strength * c.sigma * SCALE * sqrtf((float)noise_of(N, k))));
      kept = h2add(kept, keep);
    } else {
      const float t = c.strength * c.strength * c.sigma * c.sigma * SCALE2 * noise_of(N, k);
      uint relative = V::of(v, k);
      keep = h2gt(h2mul(y, y), h2mul(relative, both(t)));
      kept = h2fma(keep, relative, kept);
    }
    if ((k & 7) == 7 || k == N - 1) {
      sum += low(kept) + high(kept);
      kept = 0;
    }
    // The mean of the group stays as it is.
    if (k == 0 && (threadIdx.x & 31) == 0) keep = (keep & 0xffff0000u) | 0x3c00u;
    x[k] = h2mul(x[k], keep);
  }
  return sum;
}

// Wiener weights 1 - n / (b^2 + n) from the pilot, in place; returns the variance kept in this lane.
template <int N, class V> INLINE float wiener(uint* b, const V& v, const Constants& c) {
  const uint one = 0x3c003c00u;
  uint kept = 0;
  float sum = 0.f;
  const uint centre = pack(c.centre * N, 0.f);
#pragma unroll
  for (int k = 0; k < N; k++) {
    const float n = c.strength * c.sigma * c.sigma * SCALE2 * noise_of(N, k);
    uint noise = both(-fmaxf(n, LEAST_NOISE)), relative = 0;
    if constexpr (!V::WHITE) {
      relative = V::of(v, k);
      noise = h2min(h2mul(noise, relative), both(-LEAST_NOISE));
    }
    uint y = k == 0 ? h2add(b[k], centre) : b[k];
    // The reciprocal of b^2 + n: a guess from the bits, then Halley's step; the constant is the best for it, with an
    // error of 0.07 % at most.
    uint d = h2fma(negate2(y), y, noise), r = 0xf7aff7afu - d, e = h2fma(d, r, one);
    r = h2fma(r, h2fma(e, e, e), r);
    uint w = h2fma(r, noise, one);
    uint w2 = V::WHITE ? w : h2mul(w, relative);
    kept = h2fma(w, w2, kept);
    if ((k & 7) == 7 || k == N - 1) {
      sum += low(kept) + high(kept);
      kept = 0;
    }
    // The mean of the group stays as it is.
    if (k == 0 && (threadIdx.x & 31) == 0) w = (w & 0xffff0000u) | 0x3c00u;
    b[k] = w;
  }
  return sum;
}

INLINE float warp_sum(float v) {
#pragma unroll
  for (int s = 16; s >= 1; s >>= 1) v += __shfl_xor_sync(WARP, v, s);
  return v;
}

// One group: returns its weight.
template <int N>
INLINE float filter_group(const Constants& c, const uint* offsets, uint* scratch, const uint* correlation, uint tile,
                          uint sums) {
#if EXACT
  Exact<N> v;
  v.find(offsets + 32, correlation, scratch);
#else
  White<N> v;
#endif
  uint x[N];
  float kept;
  if constexpr (WIENER) {
    uint b[N];
    {
      uint o[N];
      load_offsets<N>(o, offsets);
#pragma unroll
      for (int k = 0; k < N; k++) {
        b[k] = local_load<TILE>(tile + o[k]);
        x[k] = local_load<0>(tile + o[k]);
      }
    }
    analyse<N>(b, c.forward1, c.forward2);
    kept = wiener<N>(b, v, c);
    analyse<N>(x, c.forward1, c.forward2);
#pragma unroll
    for (int k = 0; k < N; k++) x[k] = h2mul(x[k], b[k]);
  } else {
    {
      uint o[N];
      load_offsets<N>(o, offsets);
#pragma unroll
      for (int k = 0; k < N; k++) x[k] = local_load<0>(tile + o[k]);
    }
    analyse<N>(x, c.forward1, c.forward2);
    kept = threshold<N>(x, v, c);
  }
  kept = fmaxf(warp_sum(kept), 1.f);
  const float weight = DEVIATION ? rsqrtf(kept) : reciprocal(kept);
  synthesise<N>(x, offsets, weight, c.inverse1, c.inverse2, sums);
  return weight;
}

// A plane of halves to a tile of pairs (x, x + 4).
INLINE void load_tile(uint* tile, const ushort* plane, int pitch) {
  for (int i = threadIdx.x; i < ROWS * QUADS; i += THREADS) {
    int r = i / QUADS, q = i - r * QUADS;
    const uint2* from = (const uint2*)(plane + (long long)r * pitch + 4 * q);
    uint2 a = __ldg(from), b = __ldg(from + 1);
    *(uint4*)(tile + r * PITCH + 4 * q) = make_uint4(__byte_perm(a.x, b.x, 0x5410), __byte_perm(a.x, b.x, 0x7632),
                                                     __byte_perm(a.y, b.y, 0x5410), __byte_perm(a.y, b.y, 0x7632));
  }
}

INLINE Constants load_constants(const float* c) {
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, column = (g >> 1) + 4 * (g & 1);
  const float *f = c + FORWARD + 8 * g, *iy = c + INVERSE + 8 * g, *ix = c + INVERSE + 8 * column;
  const float wy = c[WINDOW + g], wx = c[WINDOW + column];
  Constants k;
  k.forward1 = pack(SCALE_X * f[t], SCALE_X * f[t + 4]);
  k.forward2 = pack(SCALE_Y * f[2 * t], SCALE_Y * f[2 * t + 1]);
  k.inverse1 = pack(wy * iy[2 * t], wy * iy[2 * t + 1]);
  k.inverse2 = pack(wx * ix[2 * t], wx * ix[2 * t + 1]);
  k.sigma = c[SIGMA];
  k.strength = c[STRENGTH];
  k.centre = lane == 0 ? c[CENTRE_GAIN] * SCALE : 0.f;
  return k;
}

KERNEL __launch_bounds__(THREADS, FILTER_RESIDENT)
    filter_tensor(const ushort* __restrict__ noisy, const ushort* __restrict__ basic,
                  const ushort* __restrict__ matches, float* __restrict__ sums, float* __restrict__ weights,
                  const float* __restrict__ constants, int columns, int last_x, int last_y, int first_row, int last_row,
                  int pitch
#if COUNTED
                  ,
                  const float* __restrict__ counts, int first_count, int count_pitch
#endif
    ) {
  DYNAMIC_LOCAL(local);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int x0 = 4 * STEP * blockIdx.x - LEFT, y0 = 4 * STEP * (first_row / 4 + BLOCKS * blockIdx.y) - TOP;
  const long long origin = (long long)(y0 + MARGIN) * pitch + x0 + MARGIN;
  int* tile_sums = (int*)(local + TILES * TILE);
  uint* offsets = (uint*)(local + (TILES + 1) * TILE) + WARP_WORDS * warp;
  uint *positions = offsets + 32, *scratch = positions + 32;
  uint* correlation = (uint*)(local + (TILES + 1) * TILE) + WARP_WORDS * BLOCKS;

  load_tile((uint*)local, noisy + origin, pitch);
  if (WIENER) load_tile((uint*)(local + TILE), basic + origin, pitch);
  for (int i = threadIdx.x; i < TILE / 16; i += THREADS) ((int4*)tile_sums)[i] = make_int4(0, 0, 0, 0);
#if EXACT
  load_correlation(correlation, constants + AUTOCORRELATION);
#endif
  const Constants constant = load_constants(constants);
  const int bx = blockIdx.x, by = first_row / 4 + blockIdx.y * BLOCKS + warp;
  const int nx = min(4, columns - 4 * bx), ny = min(4, last_row - 4 * by), groups = ny > 0 ? nx * ny : 0;
  // This lane's part of a patch at offset 0.
  const uint lane_at = (g * PITCH + t) * 4;
  const uint tile = opaque(local_address(local) + lane_at), tile_out = opaque(local_address(tile_sums) + lane_at);
  const ushort* list = matches + (size_t)(4 * by - first_row) * columns * GROUP + 4 * bx * GROUP + (lane & (GROUP - 1));
  uint next = groups > 0 ? __ldg(list) : 0xffffu;
  __syncthreads();

#pragma unroll 1
  for (int i = 0, jx = 0, jy = 0; i < groups; i++) {
    const uint number = lane < GROUP ? next : 0xffffu;
    const int ref_x = min(STEP * (4 * bx + jx), last_x), ref_y = min(STEP * (4 * by + jy), last_y);
    Constants c = constant;
#if COUNTED
    // The middle of the reference patch speaks for the group.
    c.sigma *= rsqrtf(__ldg(counts + first_count + (ref_y + 4) * count_pitch + ref_x + 4));
#endif
    if (++jx == nx) {
      jx = 0;
      jy++;
    }
    if (i + 1 < groups) next = __ldg(list + (jy * columns + jx) * GROUP);
    const int count = __popc(__ballot_sync(WARP, number != 0xffffu));
    const int dy = number / SIDE, dx = number - dy * SIDE;
    const int y = ref_y - RADIUS + dy - y0, x = ref_x - RADIUS + dx - x0;
    offsets[lane] = 4 * (y * PITCH + x);
    positions[lane] = (y << 12) + (x << 4);
    __syncwarp();
    float weight;
    int n;
#define GROUP_OF(N)                                                             \
  {                                                                             \
    n = N;                                                                      \
    weight = filter_group<N>(c, offsets, scratch, correlation, tile, tile_out); \
  }
    if (GROUP >= 32 && count >= 32)
      GROUP_OF((GROUP >= 32 ? 32 : 8))
    else if (GROUP >= 16 && count >= 16)
      GROUP_OF((GROUP >= 16 ? 16 : 8))
    else if (count >= 8)
      GROUP_OF(8)
    else if (count >= 4)
      GROUP_OF(4)
    else if (count >= 2)
      GROUP_OF(2)
    else
      GROUP_OF(1)
#undef GROUP_OF
    if (lane < n) add_global(weights + origin + (long long)y * pitch + x, weight);
    __syncwarp();
  }

  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * QUADS; i += THREADS) {
    int r = i / QUADS, q = i - r * QUADS;
    int4 v = *(const int4*)(tile_sums + r * PITCH + 4 * q);
    if (v.x | v.y | v.z | v.w)
      add_global4(sums + origin + (long long)r * pitch + 4 * q,
                  make_float4(v.x * (1.f / UNIT), v.y * (1.f / UNIT), v.z * (1.f / UNIT), v.w * (1.f / UNIT)));
  }
}

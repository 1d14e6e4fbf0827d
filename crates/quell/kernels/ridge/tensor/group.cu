// A round of context ridge on tensor cores: the formulas of `Plan` for patches of 4 x 4, groups of up to MOST patches.
//
// A work-group has BLOCK_X x BLOCK_Y references over common tiles in local memory: x and z as a pair of halves at every
// pixel, the sums as integers, the residues. The planes are less by the middle of the range, where halves are finest. A warp takes one group at a time.
//
// Patches come in units of eight: lane (g, t) holds pixels g and g + 8 of patches 2t and 2t + 1. The same registers are
// both factors of X'X and Z'X, and Xh comes out where the pixels came from. Groups are filled up to a multiple of 16
// with patches of zeros.
//
// The inverse of the 16 x 16 matrix is that of 8 x 8 blocks, whose products are in three parts of tf32: as good as
// floats.
//
// Options: STEP, RADIUS, MOST (a multiple of 16, 96 at most), MARGIN, BLOCK_X, BLOCK_Y, WARPS, GROUP_RESIDENT (work-groups
// per multiprocessor), COUNTED (the picture is an average of as many frames as `counts` says).

constexpr int SIDE = 2 * RADIUS + 1;
// Two rows of a patch land on different banks.
constexpr int tile_pitch(int n) { return n % 4 == 0 && n % 32 >= 4 && n % 32 <= 28 ? n : tile_pitch(n + 1); }
constexpr int PITCH = tile_pitch(3 + STEP * (BLOCK_X - 1) + 2 * RADIUS + 4);
constexpr int ROWS = STEP * (BLOCK_Y - 1) + 2 * RADIUS + 4;
constexpr int QUADS = PITCH / 4;
// Four more rows are the patch of zeros; what is added there is lost.
constexpr int TILE = (ROWS + 4) * PITCH * 4;  // bytes
constexpr uint NOWHERE = ROWS * PITCH * 4;
// Byte offsets of the tiles.
constexpr int NUMERATOR = TILE, ALL = 2 * TILE, FRESH = 3 * TILE, RESIDUE = 4 * TILE;
constexpr int LISTS = (4 * TILE + TILE / 2 + 15) / 16 * 16;
constexpr int THREADS = 32 * WARPS;
constexpr int GROUPS = BLOCK_X * BLOCK_Y;
constexpr int UNITS = MOST / 8;
constexpr int LIST_WORDS = MOST / 2;

// Sums are integers: adding them in any order gives the same. A patch weighs 1 - tau at most, and a group has no more
// than 16 patches over a pixel: in units of (1 - tau) / UNIT there is room for 2^31 / (16 GROUPS UNIT) = 256 grey levels
// in every patch, and for 512 in one.
constexpr float UNIT = 8192.f;
constexpr float WEIGHT_UNIT = 16777216.f;
// x is larger by this in the tile, and the matrices that it is multiplied with smaller: they are halves as well.
constexpr float LARGER = 16.f;
// Residues are in 4096ths of sigma^2.
constexpr float RESIDUE_UNIT = 4096.f;
// Added to a float this makes its last bit 1: the rest of the mantissa is the integer.
constexpr float MAGIC = 12582912.f;
constexpr int MAGIC_BITS = 0x4b400000;

static_assert(MARGIN % 4 == 0 && MOST % 16 == 0 && MOST <= 96 && GROUPS <= 64 && TILE < 60000, "");

// A float as two numbers of 11 bits.
struct Split {
  uint high, low;
};
INLINE Split split(float v) {
  const uint high = __float_as_uint(v) & 0xffffe000u;
  return {high, __float_as_uint(v - __uint_as_float(high))};
}

// c + [X; W] Y for 8 x 8 blocks X, W, Y, where lane (g, t) has row g, columns 2t and 2t + 1 of X, W and of Y'.
INLINE void add_products(float* c, const Split* x, const Split* w, const Split* y) {
  const uint high[4] = {x[0].high, w[0].high, x[1].high, w[1].high}, low[4] = {x[0].low, w[0].low, x[1].low, w[1].low};
  const uint y_high[2] = {y[0].high, y[1].high}, y_low[2] = {y[0].low, y[1].low};
  mma_tf32(c, low, y_high);
  mma_tf32(c, high, y_low);
  mma_tf32(c, high, y_high);
}
INLINE void add_product(float* c, const Split* x, const Split* y) {
  const Split zero[2] = {{0, 0}, {0, 0}};
  add_products(c, x, zero, y);
}

// The inverse of a symmetric positive block, by sweeps over 2 x 2 pivots.
INLINE void invert8(float* p) {
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = 8 * i + t, column = (lane & ~3) | i, pivot = 9 * i;
    const float a0 = __shfl_sync(WARP, p[0], row), a1 = __shfl_sync(WARP, p[1], row);
    const float b0 = __shfl_sync(WARP, p[0], row + 4), b1 = __shfl_sync(WARP, p[1], row + 4);
    const float a = __shfl_sync(WARP, p[0], pivot), b = __shfl_sync(WARP, p[1], pivot),
                c = __shfl_sync(WARP, p[1], pivot + 4);
    const float s0 = __shfl_sync(WARP, p[0], column), s1 = __shfl_sync(WARP, p[1], column);
    const float determinant = fmaf(a, c, -b * b);
    float r = reciprocal(determinant);
    r *= fmaf(-determinant, r, 2.f);
    const float ia = c * r, ib = -b * r, ic = a * r;
    const bool first = g == 2 * i, second = g == 2 * i + 1;
    float v0 = fmaf(ia, s0, ib * s1), v1 = fmaf(ib, s0, ic * s1);
    v0 = first ? -ia : second ? -ib : v0;
    v1 = first ? -ib : second ? -ic : v1;
    p[0] = fmaf(-v1, b0, fmaf(-v0, a0, first || second ? 0.f : p[0]));
    p[1] = fmaf(-v1, b1, fmaf(-v0, a1, first || second ? 0.f : p[1]));
    if (t == i) {
      p[0] = v0;
      p[1] = v1;
    }
  }
  p[0] = -p[0];
  p[1] = -p[1];
}

// The inverse of [P B; B' C]: left[0..1] is P, left[2..3] is B', right[2..3] is C, and the same of the result, with
// right[0..1] its B.
INLINE void invert16(float* left, float* right) {
  invert8(left);
  const Split p[2] = {split(left[0]), split(left[1])}, b[2] = {split(left[2]), split(left[3])};
  float pb[4] = {0.f, 0.f, 0.f, 0.f}, bp[4] = {0.f, 0.f, 0.f, 0.f};
  add_product(bp, b, p);  // B' P^-1
  add_product(pb, p, b);  // P^-1 B
  const Split minus[2] = {split(-bp[0]), split(-bp[1])}, w[2] = {split(pb[0]), split(pb[1])};
  float s[4] = {right[2], right[3], 0.f, 0.f};
  add_product(s, minus, b);  // C - B' P^-1 B
  invert8(s);
  const Split q[2] = {split(s[0]), split(s[1])};
  float v[4] = {0.f, 0.f, 0.f, 0.f};
  add_product(v, w, q);
  const Split vs[2] = {split(v[0]), split(v[1])};
  float j[4] = {left[0], left[1], 0.f, 0.f};
  add_products(j, vs, q, w);
  left[0] = j[0];
  left[1] = j[1];
  left[2] = -j[2];
  left[3] = -j[3];
  right[0] = -v[0];
  right[1] = -v[1];
  right[2] = s[0];
  right[3] = s[1];
}

// What is the same for all groups of a channel and round.
struct Round {
  float sigma, tau;
  float lambda, mu;  // ridge parameter per pixel and per patch
};

// One group: where its patches are, two to a word, and the mean residue in units of sigma^2.
INLINE void regress(const uint* list, int k, float residue, const Round& round, uint pixel, uint corner) {
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, pairs = (k + 15) / 16;
  uint at[UNITS];
#pragma unroll
  for (int u = 0; u < UNITS; u += 2) {
    const uint2 two = *(const uint2*)(list + t * UNITS + u);
    at[u] = two.x + pixel * 0x10001u;
    at[u + 1] = two.y + pixel * 0x10001u;
  }
  uint x[2][UNITS], z[2][UNITS];
  float sum_x[4] = {0.f, 0.f, 0.f, 0.f}, sum_z[4] = {0.f, 0.f, 0.f, 0.f};
  const uint ones[2] = {0x3c003c00u, 0x3c003c00u};
#pragma unroll
  for (int u = 0; u < UNITS; u += 2) {
    if (u >= 2 * pairs) continue;
#pragma unroll
    for (int v = u; v < u + 2; v++) {
      const uint a = at[v] & 0xffffu, b = at[v] >> 16;
      const uint a0 = local_load<0>(a), b0 = local_load<0>(b);
      const uint a1 = local_load<8 * PITCH>(a), b1 = local_load<8 * PITCH>(b);
      x[0][v] = __byte_perm(a0, b0, 0x5410);
      z[0][v] = __byte_perm(a0, b0, 0x7632);
      x[1][v] = __byte_perm(a1, b1, 0x5410);
      z[1][v] = __byte_perm(a1, b1, 0x7632);
    }
  }
#pragma unroll
  for (int u = 0; u < UNITS; u += 2) {
    if (u >= 2 * pairs) continue;
    const uint fx[4] = {x[0][u], x[1][u], x[0][u + 1], x[1][u + 1]},
               fz[4] = {z[0][u], z[1][u], z[0][u + 1], z[1][u + 1]};
    mma_float16(sum_x, fx, ones, sum_x);
    mma_float16(sum_z, fz, ones, sum_z);
  }
  const float part = reciprocal((float)k);
  const float mean_z[2] = {sum_z[0] * part, sum_z[2] * part};
  const uint mx[2] = {both(sum_x[0] * part), both(sum_x[2] * part)}, mz[2] = {both(mean_z[0]), both(mean_z[1])};

  // [Xc' Xc] in columns 0 to 7 and 8 to 15, and [Zc' Xc] likewise.
  float left[4] = {0.f, 0.f, 0.f, 0.f}, right[4] = {0.f, 0.f, 0.f, 0.f};
  float zx[2][4] = {{0.f, 0.f, 0.f, 0.f}, {0.f, 0.f, 0.f, 0.f}};
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    if (u >= 2 * pairs) continue;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      x[h][u] = h2sub(x[h][u], mx[h]);
      z[h][u] = h2sub(z[h][u], mz[h]);
    }
  }
  // Zeros once more, where the group ends within sixteen.
  if (k & 15) {
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      if (u >= 2 * pairs) continue;
      const uint keep = (8 * u + 2 * t < k ? 0xffffu : 0u) | (8 * u + 2 * t + 1 < k ? 0xffff0000u : 0u);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        x[h][u] &= keep;
        z[h][u] &= keep;
      }
    }
  }
#pragma unroll
  for (int u = 0; u < UNITS; u += 2) {
    if (u >= 2 * pairs) continue;
    const uint fx[4] = {x[0][u], x[1][u], x[0][u + 1], x[1][u + 1]},
               fz[4] = {z[0][u], z[1][u], z[0][u + 1], z[1][u + 1]};
    const uint upper[2] = {x[0][u], x[0][u + 1]}, lower[2] = {x[1][u], x[1][u + 1]};
    mma_float16(left, fx, upper, left);
    mma_float16(right, fx, lower, right);
    mma_float16(zx[0], fz, upper, zx[0]);
    mma_float16(zx[1], fz, lower, zx[1]);
  }

  const float one0 = g == 2 * t ? 1.f : 0.f, one1 = g == 2 * t + 1 ? 1.f : 0.f;  // the diagonal
  const float diagonal = fmaf(one0, left[0] + right[2], one1 * (left[1] + right[3]));
  const float trace = (float)__reduce_add_sync(WARP, (uint)__float2int_rn(diagonal * (1.f / (LARGER * LARGER))));
  const float noise = fmaxf(1.f - square_root(residue), round.tau + 1e-6f),
              deviation = round.sigma * fmaxf(noise, 0.03f);
  const float ridge =
      LARGER * LARGER * fmaxf(fmaf(round.mu, (float)k, 16.f * round.lambda) * deviation * deviation, 1e-6f * trace);
  left[0] = fmaf(one0, ridge, left[0]);
  left[1] = fmaf(one1, ridge, left[1]);
  right[2] = fmaf(one0, ridge, right[2]);
  right[3] = fmaf(one1, ridge, right[3]);
  invert16(left, right);
  float variance = 0.f;
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const float one = e & 1 ? one1 : one0;
    const float l = fmaf(-ridge, left[e], e < 2 ? one : 0.f), r = fmaf(-ridge, right[e], e < 2 ? 0.f : one);
    variance = fmaf(l, l, fmaf(r, r, variance));
  }
  variance = (float)__reduce_add_sync(WARP, (uint)__float2int_rn(variance * 1048576.f)) * (1.f / 1048576.f);
  const float weight = __fdividef((float)k * (1.f / MOST), 1.f + variance);
  const float kept = weight * (1.f - fminf(__fdividef(round.tau, noise), 0.999f));

  // Q' = (Zc' Xc) A, by weight and in units of the sums.
  float q[2][4] = {{0.f, 0.f, 0.f, 0.f}, {0.f, 0.f, 0.f, 0.f}};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const Split upper[2] = {split(zx[i][0]), split(zx[i][1])}, lower[2] = {split(zx[i][2]), split(zx[i][3])};
    const float* a = i ? right : left;
#pragma unroll
    for (int n = 0; n < 2; n++) {
      const Split block[2] = {split(a[2 * n]), split(a[2 * n + 1])};
      add_products(q[n], upper, lower, block);
    }
  }
  const float f = __fdividef(kept * UNIT, 1.f - round.tau);
  const uint factors[4] = {pack(q[0][0] * f, q[0][1] * f), pack(q[0][2] * f, q[0][3] * f),
                           pack(q[1][0] * f, q[1][1] * f), pack(q[1][2] * f, q[1][3] * f)};
  const float c0 = fmaf(mean_z[0], f, MAGIC), c1 = fmaf(mean_z[1], f, MAGIC), start[4] = {c0, c0, c1, c1};
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    if (u >= 2 * pairs) continue;
    const uint patches[2] = {transpose8(x[0][u]), transpose8(x[1][u])};
    float xh[4];
    mma_float16(xh, factors, patches, start);
    const uint a = at[u] & 0xffffu, b = at[u] >> 16;
    local_add<NUMERATOR>(a, __float_as_int(xh[0]) - MAGIC_BITS);
    local_add<NUMERATOR>(b, __float_as_int(xh[1]) - MAGIC_BITS);
    local_add<NUMERATOR + 8 * PITCH>(a, __float_as_int(xh[2]) - MAGIC_BITS);
    local_add<NUMERATOR + 8 * PITCH>(b, __float_as_int(xh[3]) - MAGIC_BITS);
  }
  const int all = __float2int_rn(weight * WEIGHT_UNIT), fresh = __float2int_rn(kept * WEIGHT_UNIT);
#pragma unroll
  for (int j = lane; j < LIST_WORDS; j += 32) {
    const uint a = list[j] & 0xffffu, b = list[j] >> 16;
    if (a != NOWHERE) {
      local_add<ALL>(corner + a, all);
      local_add<FRESH>(corner + a, fresh);
    }
    if (b != NOWHERE) {
      local_add<ALL>(corner + b, all);
      local_add<FRESH>(corner + b, fresh);
    }
  }
}

// Four samples of a row from column `x` on, a multiple of four; zeros outside.
INLINE float4 load4(const float* row, int x, int width, int pitch) {
  if ((pitch & 3) == 0 && x >= 0 && x + 4 <= (width + 3) / 4 * 4) return __ldg((const float4*)(row + x));
  float v[4];
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] = (uint)(x + i) < (uint)width ? __ldg(row + x + i) : 0.f;
  return make_float4(v[0], v[1], v[2], v[3]);
}

INLINE uint residue_of(float v, float scale) { return (uint)__float2int_rn(fminf(v * scale, 65535.f)); }

INLINE void add4(float* row, int x, int pitch, int4 v, float unit) {
  if (!(v.x | v.y | v.z | v.w)) return;
  if ((pitch & 3) == 0) {
    add_global4(row + x, make_float4(v.x * unit, v.y * unit, v.z * unit, v.w * unit));
  } else {
    if (v.x) add_global(row + x, v.x * unit);
    if (v.y) add_global(row + x + 1, v.y * unit);
    if (v.z) add_global(row + x + 2, v.z * unit);
    if (v.w) add_global(row + x + 3, v.w * unit);
  }
}

KERNEL __launch_bounds__(THREADS, GROUP_RESIDENT)
    ridge_group_tensor(const float* __restrict__ x, const float* __restrict__ z, const float* __restrict__ residue,
                       const ushort* __restrict__ lists, float* __restrict__ numerators, float* __restrict__ all,
                       float* __restrict__ fresh, int columns, int last_x, int last_y, int offset, int first_row,
                       int last_row, int pitch, float sigma, float tau, float lambda, float mu, int first, float middle
#if COUNTED
                       ,
                       const float* __restrict__ counts, int first_count, int count_pitch
#endif
    ) {
  DYNAMIC_LOCAL(local);
  __shared__ int next;
  uint* tile = (uint*)local;
  ushort* tile_residues = (ushort*)(local + RESIDUE);
  uint* tile_lists = (uint*)(local + LISTS);
  const int lane = threadIdx.x & 31, g = lane >> 2;
  const int block_x = BLOCK_X * blockIdx.x, block_y = first_row + BLOCK_Y * blockIdx.y;
  const int width = last_x + 4, height = last_y + 4;
  const int x0 = (reference_at(block_x, offset, last_x) - RADIUS) & ~3,
            y0 = reference_at(block_y, offset, last_y) - RADIUS;

  const float scale = RESIDUE_UNIT / (sigma * sigma);
  for (int i = threadIdx.x; i < (ROWS + 4) * QUADS; i += THREADS) {
    const int r = i / QUADS, c = x0 + 4 * (i - r * QUADS), y = y0 + r;
    uint4 out = make_uint4(0, 0, 0, 0);
    uint2 e = make_uint2(0, 0);
    if (r < ROWS && (uint)y < (uint)height) {
      const int row = (y + MARGIN) * pitch + MARGIN;
      const float4 a = load4(x + row, c, width, pitch), b = load4(z + row, c, width, pitch);
      out = make_uint4(pack(LARGER * (a.x - middle), b.x - middle), pack(LARGER * (a.y - middle), b.y - middle),
                       pack(LARGER * (a.z - middle), b.z - middle), pack(LARGER * (a.w - middle), b.w - middle));
      if (!first) {
        const float4 v = load4(residue + row, c, width, pitch);
        e = make_uint2(residue_of(v.x, scale) | residue_of(v.y, scale) << 16,
                       residue_of(v.z, scale) | residue_of(v.w, scale) << 16);
      }
    }
    ((uint4*)tile)[i] = out;
    ((uint2*)tile_residues)[i] = e;
  }
  for (int i = threadIdx.x; i < 3 * TILE / 16; i += THREADS) ((int4*)(local + NUMERATOR))[i] = make_int4(0, 0, 0, 0);
  // Where the patches are; the words of a lane lie together.
  for (int i = threadIdx.x; i < GROUPS * LIST_WORDS; i += THREADS) {
    const int group = i / LIST_WORDS, j = i - group * LIST_WORDS;
    const int ix = block_x + group % BLOCK_X, iy = block_y + group / BLOCK_X;
    uint pair = NOWHERE * 0x10001u;
    if (ix < columns && iy < last_row) {
      const uint numbers = __ldg((const uint*)lists + ((size_t)iy * columns + ix) * LIST_WORDS + j);
      const int corner =
          (reference_at(iy, offset, last_y) - RADIUS - y0) * PITCH + reference_at(ix, offset, last_x) - RADIUS - x0;
      const uint a = numbers & 0xffffu, b = numbers >> 16;
      const uint to_a = a == 0xffffu ? NOWHERE : 4 * (corner + a / SIDE * PITCH + a % SIDE),
                 to_b = b == 0xffffu ? NOWHERE : 4 * (corner + b / SIDE * PITCH + b % SIDE);
      pair = to_a | to_b << 16;
    }
    tile_lists[group * LIST_WORDS + (j & 3) * UNITS + (j >> 2)] = pair;
  }
  if (threadIdx.x == 0) next = WARPS;
  __syncthreads();

  const Round round = {sigma, tau, lambda, mu};
  const uint corner = local_address(tile), pixel = corner + ((g >> 2) * PITCH + (g & 3)) * 4;
#pragma unroll 1
  for (int group = threadIdx.x >> 5; group < GROUPS;) {
    const uint* list = tile_lists + group * LIST_WORDS;
    // Patches from bit 24 on, their residues below.
    uint sum = 0;
#pragma unroll
    for (int j = lane; j < LIST_WORDS; j += 32) {
      const uint a = list[j] & 0xffffu, b = list[j] >> 16;
      sum += ((a != NOWHERE) + (b != NOWHERE)) << 24;
      sum += tile_residues[a / 4] + tile_residues[b / 4];
    }
    sum = __reduce_add_sync(WARP, sum);
    const int k = sum >> 24;
    if (k) {
      float mean = (float)(sum & 0xffffffu) * __fdividef(1.f / RESIDUE_UNIT, (float)k);
      Round own = round;
#if COUNTED
      // The middle of the reference patch speaks for the group.
      const int ref_x = reference_at(block_x + group % BLOCK_X, offset, last_x),
                ref_y = reference_at(block_y + group / BLOCK_X, offset, last_y);
      const float frames = __ldg(counts + first_count + (ref_y + 2) * count_pitch + ref_x + 2);
      mean *= frames;
      own.sigma *= rsqrtf(frames);
#endif
      regress(list, k, mean, own, pixel, corner);
    }
    int taken = 0;
    if (lane == 0) taken = atomicAdd(&next, 1);
    group = __shfl_sync(WARP, taken, 0);
  }

  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * QUADS; i += THREADS) {
    const int r = i / QUADS, c = x0 + 4 * (i - r * QUADS), row = (y0 + r + MARGIN) * pitch + MARGIN;
    add4(numerators + row, c, pitch, ((const int4*)(local + NUMERATOR))[i], (1.f - tau) * (1.f / UNIT));
    add4(all + row, c, pitch, ((const int4*)(local + ALL))[i], 1.f / WEIGHT_UNIT);
    add4(fresh + row, c, pitch, ((const int4*)(local + FRESH))[i], 1.f / WEIGHT_UNIT);
  }
}

// The instructions that context ridge needs beyond those of BM3D: PTX on a GPU, plain C++ in the emulator.
#pragma once

#ifdef QUELL_EMULATOR

// The second half of `mma_u8`: 16 bytes deep, added to what is there.
INLINE void mma_u8_more(int* d, const uint* a, uint b) {
  struct More {
    const uint* a;
    uint b;
    int* d;
  } x{a, b, d};
  emulator::meet(
      [](void** p) {
        int A[16][16], B[16][8];
        for (int l = 0; l < 32; l++) {
          auto* x = (More*)p[l];
          int g = l >> 2, t = l & 3;
          for (int i = 0; i < 4; i++) {
            A[g][4 * t + i] = x->a[0] >> 8 * i & 255;
            A[g + 8][4 * t + i] = x->a[1] >> 8 * i & 255;
            B[4 * t + i][g] = x->b >> 8 * i & 255;
          }
        }
        for (int l = 0; l < 32; l++)
          for (int r = 0; r < 4; r++) {
            int m = (l >> 2) + 8 * (r >> 1), n = 2 * (l & 3) + (r & 1);
            for (int k = 0; k < 16; k++) ((More*)p[l])->d[r] += A[m][k] * B[k][n];
          }
      },
      &x);
}
INLINE void mma_tf32(float* d, const uint* a, const uint* b) {
  struct Factors {
    const uint *a, *b;
    float* d;
  } x{a, b, d};
  emulator::meet(
      [](void** p) {
        float A[16][8], B[8][8];
        // The hardware does not look at the last 13 bits.
        auto cut = [](uint v) { return __uint_as_float(v & 0xffffe000u); };
        for (int l = 0; l < 32; l++) {
          auto* x = (Factors*)p[l];
          int g = l >> 2, t = l & 3;
          for (int r = 0; r < 4; r++) A[g + 8 * (r & 1)][t + 4 * (r >> 1)] = cut(x->a[r]);
          for (int r = 0; r < 2; r++) B[t + 4 * r][g] = cut(x->b[r]);
        }
        for (int l = 0; l < 32; l++)
          for (int r = 0; r < 4; r++) {
            int m = (l >> 2) + 8 * (r >> 1), n = 2 * (l & 3) + (r & 1);
            double s = ((Factors*)p[l])->d[r];
            for (int k = 0; k < 8; k++) s += (double)A[m][k] * B[k][n];
            ((Factors*)p[l])->d[r] = (float)s;
          }
      },
      &x);
}
INLINE uint transpose8(uint v) {
  struct Pair {
    uint from, to;
  } x{v, 0};
  emulator::meet(
      [](void** p) {
        for (int l = 0; l < 32; l++) {
          int g = l >> 2, t = l & 3, shift = 16 * (g & 1);
          auto at = [&](int row) { return ((Pair*)p[4 * row + (g >> 1)])->from >> shift & 0xffffu; };
          ((Pair*)p[l])->to = at(2 * t) | at(2 * t + 1) << 16;
        }
      },
      &x);
  return x.to;
}
INLINE uint pack_saturated(int lo, int hi) { return (uint)max(min(lo, 65535), 0) | (uint)max(min(hi, 65535), 0) << 16; }
INLINE uint h2le_mask(uint a, uint b) {
  return (low(a) <= low(b) ? 0xffffu : 0u) | (high(a) <= high(b) ? 0xffff0000u : 0u);
}
INLINE float square_root(float x) { return sqrtf(x); }

#else  // a GPU

INLINE void mma_u8_more(int* d, const uint* a, uint b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}
// Adds a product of 16 x 8 and 8 x 8 matrices to what is there: lane (g, t) has columns t and t + 4 of the first, rows
// t and t + 4 of the second.
INLINE void mma_tf32(float* d, const uint* a, const uint* b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// An 8 x 8 matrix of halves, two neighbours of a row in each lane.
INLINE uint transpose8(uint v) {
  uint r;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0,%1;" : "=r"(r) : "r"(v));
  return r;
}
// Two numbers as 16 bits each, those beyond as the nearest that fits.
INLINE uint pack_saturated(int lo, int hi) {
  uint r;
  asm("cvt.pack.sat.u16.s32 %0,%1,%2;" : "=r"(r) : "r"(hi), "r"(lo));
  return r;
}
// All bits of a half that is not larger; none of one that is no number.
INLINE uint h2le_mask(uint a, uint b) {
  uint r;
  asm("set.le.u32.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE float square_root(float x) {
  float r;
  asm("sqrt.approx.ftz.f32 %0,%1;" : "=f"(r) : "f"(x));
  return r;
}

#endif

// Where reference `i` is along a side: on the grid, or at the first or the last place.
INLINE int reference_at(int i, int offset, int last) {
  return min(offset == 0 ? STEP * i : i == 0 ? 0 : offset + STEP * (i - 1), last);
}

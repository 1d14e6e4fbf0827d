// The instructions that the fast kernels are made of: tensor-core products, packed halves, copies. PTX on a GPU,
// plain C++ in the emulator.
#pragma once
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;

#define WARP 0xffffffffu
#define INLINE static __device__ __forceinline__

#ifdef QUELL_EMULATOR

#define KERNEL extern "C" void
#define DYNAMIC_LOCAL(name) unsigned char* name = emulator::local

namespace emulator {
static float half_to_float(uint h) {
  uint16_t s = (uint16_t)h;
  _Float16 x;
  memcpy(&x, &s, 2);
  return (float)x;
}
static uint float_to_half(float f) {
  _Float16 x = (_Float16)f;
  uint16_t h;
  memcpy(&h, &x, 2);
  return h;
}
}
INLINE uint pack(float lo, float hi) { return emulator::float_to_half(lo) | emulator::float_to_half(hi) << 16; }
INLINE float low(uint a) { return emulator::half_to_float(a & 0xffff); }
INLINE float high(uint a) { return emulator::half_to_float(a >> 16); }
INLINE uint h2add(uint a, uint b) { return pack(low(a) + low(b), high(a) + high(b)); }
INLINE uint h2sub(uint a, uint b) { return pack(low(a) - low(b), high(a) - high(b)); }
INLINE uint h2mul(uint a, uint b) { return pack(low(a) * low(b), high(a) * high(b)); }
INLINE uint h2fma(uint a, uint b, uint c) {
  return pack((float)((double)low(a) * low(b) + low(c)), (float)((double)high(a) * high(b) + high(c)));
}
INLINE uint h2gt(uint a, uint b) { return pack(low(a) > low(b) ? 1.f : 0.f, high(a) > high(b) ? 1.f : 0.f); }
INLINE uint h2gt_abs(uint a, uint b) { return h2gt(a & 0x7fff7fffu, b); }
INLINE uint h2max(uint a, uint b) { return pack(fmaxf(low(a), low(b)), fmaxf(high(a), high(b))); }
INLINE uint h2min(uint a, uint b) { return pack(fminf(low(a), low(b)), fminf(high(a), high(b))); }
INLINE float reciprocal(float x) { return 1.f / x; }

namespace emulator {
struct Product {
  const uint *a, *b;
  const void* c;
  void* d;
};
static void operands(void** p, float A[16][16], float B[16][8], int depth) {
  for (int l = 0; l < 32; l++) {
    auto* x = (Product*)p[l];
    int g = l >> 2, t = l & 3;
    for (int r = 0; r < depth / 4; r++) {
      A[g + 8 * (r & 1)][8 * (r >> 1) + 2 * t] = low(x->a[r]);
      A[g + 8 * (r & 1)][8 * (r >> 1) + 2 * t + 1] = high(x->a[r]);
    }
    for (int r = 0; r < depth / 8; r++) {
      B[8 * r + 2 * t][g] = low(x->b[r]);
      B[8 * r + 2 * t + 1][g] = high(x->b[r]);
    }
  }
}
template <int DEPTH, class Store> static void product(void** p, Store store) {
  float A[16][16], B[16][8];
  operands(p, A, B, DEPTH);
  for (int l = 0; l < 32; l++) {
    auto* x = (Product*)p[l];
    float o[4];
    for (int r = 0; r < 4; r++) {
      int m = (l >> 2) + 8 * (r >> 1), n = 2 * (l & 3) + (r & 1);
      double s = 0;
      for (int k = 0; k < DEPTH; k++) s += (double)A[m][k] * B[k][n];
      o[r] = (float)s;
    }
    store(x, o);
  }
}
}
INLINE void mma_u8(int* d, const uint* a, const uint* b, const int* c) {
  int out[4];
  emulator::Product x{a, b, c, out};
  emulator::meet(
      [](void** p) {
        int A[16][32], B[32][8];
        for (int l = 0; l < 32; l++) {
          auto* x = (emulator::Product*)p[l];
          int g = l >> 2, t = l & 3;
          for (int r = 0; r < 4; r++)
            for (int i = 0; i < 4; i++) A[g + 8 * (r & 1)][16 * (r >> 1) + 4 * t + i] = x->a[r] >> 8 * i & 255;
          for (int r = 0; r < 2; r++)
            for (int i = 0; i < 4; i++) B[16 * r + 4 * t + i][g] = x->b[r] >> 8 * i & 255;
        }
        for (int l = 0; l < 32; l++) {
          auto* x = (emulator::Product*)p[l];
          for (int r = 0; r < 4; r++) {
            int m = (l >> 2) + 8 * (r >> 1), n = 2 * (l & 3) + (r & 1), s = ((const int*)x->c)[r];
            for (int k = 0; k < 32; k++) s += A[m][k] * B[k][n];
            ((int*)x->d)[r] = s;
          }
        }
      },
      &x);
  memcpy(d, out, sizeof out);
}
INLINE void mma_half16(uint* d, const uint* a, const uint* b) {
  uint out[2];
  emulator::Product x{a, b, nullptr, out};
  emulator::meet(
      [](void** p) {
        emulator::product<16>(p, [](emulator::Product* x, float* o) {
          ((uint*)x->d)[0] = pack(o[0], o[1]);
          ((uint*)x->d)[1] = pack(o[2], o[3]);
        });
      },
      &x);
  memcpy(d, out, sizeof out);
}
INLINE void mma_half8(uint* d, const uint* a, const uint* b) {
  uint out[2];
  emulator::Product x{a, b, nullptr, out};
  emulator::meet(
      [](void** p) {
        emulator::product<8>(p, [](emulator::Product* x, float* o) {
          ((uint*)x->d)[0] = pack(o[0], o[1]);
          ((uint*)x->d)[1] = pack(o[2], o[3]);
        });
      },
      &x);
  memcpy(d, out, sizeof out);
}
INLINE void mma_float16(float* d, const uint* a, const uint* b, const float* c) {
  float out[4];
  emulator::Product x{a, b, c, out};
  emulator::meet(
      [](void** p) {
        emulator::product<16>(p, [](emulator::Product* x, float* o) {
          for (int i = 0; i < 4; i++) ((float*)x->d)[i] = o[i] + ((const float*)x->c)[i];
        });
      },
      &x);
  memcpy(d, out, sizeof out);
}
INLINE void copy16(void* d, const void* s) {
  if (((uintptr_t)d | (uintptr_t)s) & 15) emulator::fail("misaligned 16-byte copy");
  memcpy(d, s, 16);
}
INLINE void copies_done() {}
INLINE void add_global(float* p, float v) { *p += v; }
INLINE void add_global4(float* p, float4 v) {
  if ((uintptr_t)p & 15) emulator::fail("misaligned 16-byte reduction");
  p[0] += v.x;
  p[1] += v.y;
  p[2] += v.z;
  p[3] += v.w;
}
INLINE int add_max(int a, int b, int c) { return max(a + b, c); }
// Local memory is addressed by byte offsets, so that a constant part can sit in the instruction.
INLINE uint local_address(const void* p) { return (uint)((const unsigned char*)p - emulator::local); }
template <int AT> INLINE uint local_load(uint a) {
  uint v;
  memcpy(&v, emulator::local + a + AT, 4);
  return v;
}
template <int AT> INLINE void local_add(uint a, int v) {
  int s;
  memcpy(&s, emulator::local + a + AT, 4);
  s += v;
  memcpy(emulator::local + a + AT, &s, 4);
}
INLINE uint opaque(uint v) { return v; }

#else  // a GPU

#define KERNEL extern "C" __global__ void
#define DYNAMIC_LOCAL(name) extern __shared__ __align__(128) unsigned char name[]

INLINE uint pack(float lo, float hi) {
  uint r;
  asm("cvt.rn.f16x2.f32 %0,%1,%2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
INLINE float low(uint a) {
  float r;
  asm("{.reg .b16 l,h; mov.b32 {l,h},%1; cvt.f32.f16 %0,l;}" : "=f"(r) : "r"(a));
  return r;
}
INLINE float high(uint a) {
  float r;
  asm("{.reg .b16 l,h; mov.b32 {l,h},%1; cvt.f32.f16 %0,h;}" : "=f"(r) : "r"(a));
  return r;
}
INLINE uint h2add(uint a, uint b) {
  uint r;
  asm("add.rn.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2sub(uint a, uint b) {
  uint r;
  asm("sub.rn.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2mul(uint a, uint b) {
  uint r;
  asm("mul.rn.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2fma(uint a, uint b, uint c) {
  uint r;
  asm("fma.rn.f16x2 %0,%1,%2,%3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// 1 where a > b, else 0.
INLINE uint h2gt(uint a, uint b) {
  uint r;
  asm("set.gt.f16x2.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2gt_abs(uint a, uint b) {
  uint r;
  asm("{.reg .b32 t; abs.f16x2 t,%1; set.gt.f16x2.f16x2 %0,t,%2;}" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2max(uint a, uint b) {
  uint r;
  asm("max.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE uint h2min(uint a, uint b) {
  uint r;
  asm("min.f16x2 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
INLINE float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0,%1;" : "=f"(r) : "f"(x));
  return r;
}

// Products of 16 x K and K x 8 matrices, spread over the warp as the PTX manual draws it: lane (g, t) = (lane / 4,
// lane % 4) holds rows g and g + 8 of the result, columns 2t and 2t + 1.
INLINE void mma_u8(int* d, const uint* a, const uint* b, const int* c) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
INLINE void mma_half16(uint* d, const uint* a, const uint* b) {
  uint z = 0;
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%8};"
      : "=r"(d[0]), "=r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(z));
}
INLINE void mma_half8(uint* d, const uint* a, const uint* b) {
  uint z = 0;
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3},{%4},{%5,%5};"
      : "=r"(d[0]), "=r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(z));
}
INLINE void mma_float16(float* d, const uint* a, const uint* b, const float* c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Asynchronous copy to local memory.
INLINE void copy16(void* d, const void* s) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"((uint)__cvta_generic_to_shared(d)), "l"(s) : "memory");
}
INLINE void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }

INLINE void add_global(float* p, float v) { asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p), "f"(v) : "memory"); }
INLINE void add_global4(float* p, float4 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
#else
  add_global(p, v.x);
  add_global(p + 1, v.y);
  add_global(p + 2, v.z);
  add_global(p + 3, v.w);
#endif
}
INLINE int add_max(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900
  return __viaddmax_s32(a, b, c);
#else
  return max(a + b, c);
#endif
}
INLINE uint local_address(const void* p) { return (uint)__cvta_generic_to_shared(p); }
template <int AT> INLINE uint local_load(uint a) {
  uint r;
  asm("ld.shared.u32 %0,[%1+%2];" : "=r"(r) : "r"(a), "n"(AT));
  return r;
}
template <int AT> INLINE void local_add(uint a, int v) {
  asm volatile("red.shared.add.u32 [%0+%2],%1;" ::"r"(a), "r"(v), "n"(AT) : "memory");
}
// Keeps the assembler from taking a lane's address apart again.
INLINE uint opaque(uint v) { return __shfl_sync(WARP, v, threadIdx.x & 31); }

#endif

INLINE uint negate2(uint a) { return a ^ 0x80008000u; }
INLINE uint both(float v) { return pack(v, v); }

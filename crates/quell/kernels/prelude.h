// One source, two languages: CUDA C++ (NVRTC, and the emulator) and OpenCL C 1.2 or newer. The kernels behind this
// are written in what both share; whatever they call differently has one name here.
//
// Work-groups are one-dimensional. Pointers name their memory in every signature: GLOBAL, LOCAL_PTR or TABLE.
// OpenCL wants local arrays (LOCAL) declared at the top of a kernel. Constants come as macros.
#ifndef QUELL_PRELUDE
#define QUELL_PRELUDE

#ifdef __OPENCL_VERSION__

#define KERNEL(items) __kernel __attribute__((reqd_work_group_size(items, 1, 1))) void
// Functions hold barriers and arrays in registers: they must not be calls.
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_PTR __local
#define TABLE __constant
#define RESTRICT restrict
#define ITEM ((int)get_local_id(0))
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define GROUPS_X ((int)get_num_groups(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_GLOBAL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define MIN(a, b) min((a), (b))
#define MAX(a, b) max((a), (b))
#define FMIN(a, b) fmin((a), (b))
#define FMAX(a, b) fmax((a), (b))
#define FMA(a, b, c) fma((a), (b), (c))
#define SATURATE(a) clamp((a), 0.0f, 1.0f)
#define RSQRT(a) rsqrt(a)
#define SQRT(a) sqrt(a)
// To the nearest integer.
#define ROUND(a) convert_int_rte(a)
#define LOCAL_ADD(p, v) atomic_add((p), (v))
#define UINT4(a, b, c, d) ((uint4)((a), (b), (c), (d)))
// Local memory that LOAD2 and LOAD4 take several floats of at a time.
#define ALIGN16 __attribute__((aligned(16)))
#define LOAD2(p) vload2(0, (p))
#define LOAD4(p) vload4(0, (p))

#else

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
#ifndef QUELL_EMULATOR  // where the system has it
typedef unsigned long long ulong;
#endif
#define KERNEL(items) extern "C" __global__ void __launch_bounds__(items)
#define FN static __device__ __forceinline__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_PTR
#define TABLE static __device__ const
#define RESTRICT __restrict__
#define ITEM ((int)threadIdx.x)
#define GROUP_X ((int)blockIdx.x)
#define GROUP_Y ((int)blockIdx.y)
#define GROUPS_X ((int)gridDim.x)
#define BARRIER() __syncthreads()
#define BARRIER_GLOBAL() __syncthreads()
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define FMIN(a, b) fminf((a), (b))
#define FMAX(a, b) fmaxf((a), (b))
#define FMA(a, b, c) fmaf((a), (b), (c))
#define UINT4(a, b, c, d) make_uint4((a), (b), (c), (d))
#define ALIGN16 __align__(16)
#define LOAD2(p) (*(const float2*)(p))
#define LOAD4(p) (*(const float4*)(p))
#define SQRT(a) sqrtf(a)
#ifdef QUELL_EMULATOR
#define ROUND(a) ((int)nearbyintf(a))
#define RSQRT(a) (1.0f / sqrtf(a))
#define SATURATE(a) fminf(fmaxf((a), 0.0f), 1.0f)
FN int LOCAL_ADD(int* p, int v) {
  int old = *p;
  *p += v;
  return old;
}
#else
#define ROUND(a) __float2int_rn(a)
#define RSQRT(a) rsqrtf(a)
#define SATURATE(a) __saturatef(a)
#define LOCAL_ADD(p, v) atomicAdd((p), (v))
#endif

#endif

// Rounded one by one, so that every device has the same bits. OpenCL needs FP_CONTRACT OFF as well.
#if defined(__OPENCL_VERSION__) || defined(QUELL_EMULATOR)
#define MUL_ROUNDED(a, b) ((a) * (b))
#define ADD_ROUNDED(a, b) ((a) + (b))
#else
#define MUL_ROUNDED(a, b) __fmul_rn((a), (b))
#define ADD_ROUNDED(a, b) __fadd_rn((a), (b))
#endif

#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")

// c + the products of the four bytes of a and b.
#if defined(QUELL_PTX)
FN uint DOT4(uint a, uint b, uint c) {
  uint d;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
FN uint DOT4(uint a, uint b, uint c) { return c + dot_4x8packed_uu_uint(a, b); }
#elif !defined(__OPENCL_VERSION__) && !defined(QUELL_EMULATOR)
FN uint DOT4(uint a, uint b, uint c) { return __dp4a(a, b, c); }
#else
FN uint DOT4(uint a, uint b, uint c) {
  return c + (a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) + (a >> 16 & 255) * (b >> 16 & 255) +
         (a >> 24) * (b >> 24);
}
#endif

// a / b within a few units of the last place, for ordinary b.
#if defined(QUELL_PTX) || (!defined(__OPENCL_VERSION__) && !defined(QUELL_EMULATOR))
FN float DIVIDE(float a, float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  return a * r;
}
#else
#define DIVIDE(a, b) ((a) / (b))
#endif

// Adds to global memory; other work-groups may add to the same place, in any order.
#if defined(QUELL_PTX)
FN void GLOBAL_ADD(GLOBAL float* p, float v) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"((ulong)p), "f"(v) : "memory");
}
#elif !defined(__OPENCL_VERSION__)
#ifdef QUELL_EMULATOR
FN void GLOBAL_ADD(float* p, float v) { *p += v; }
#else
FN void GLOBAL_ADD(float* p, float v) { atomicAdd(p, v); }
#endif
#elif defined(QUELL_FLOAT_ATOMICS) && defined(__opencl_c_ext_fp32_global_atomic_add)
#pragma OPENCL EXTENSION cl_ext_float_atomics : enable
FN void GLOBAL_ADD(GLOBAL float* p, float v) {
  atomic_fetch_add_explicit((volatile GLOBAL atomic_float*)p, v, memory_order_relaxed, memory_scope_device);
}
#else
FN void GLOBAL_ADD(GLOBAL float* p, float v) {
  volatile GLOBAL uint* q = (volatile GLOBAL uint*)p;
  // The first comparison mostly fails and brings the live value: no plain read beside others' atomic writes.
  uint old = 0, seen;
  do {
    seen = old;
    old = atomic_cmpxchg(q, seen, as_uint(as_float(seen) + v));
  } while (old != seen);
}
#endif

// Samples of a plane: float or, with PLANE_HALF, half. NVRTC has no header for halves, so they go through PTX.
#if !defined(PLANE_HALF) || PLANE_HALF == 0
typedef float plane_t;
#define LOAD_PLANE(p, i) ((p)[i])
#define STORE_PLANE(p, i, v) ((p)[i] = (v))
#define STORE_PLANE4(p, i, a, b, c, d) ((p)[i] = (a), (p)[(i) + 1] = (b), (p)[(i) + 2] = (c), (p)[(i) + 3] = (d))
#elif defined(__OPENCL_VERSION__)
typedef half plane_t;
#define LOAD_PLANE(p, i) vload_half((i), (p))
#define STORE_PLANE(p, i, v) vstore_half((v), (i), (p))
#define STORE_PLANE4(p, i, a, b, c, d) vstore_half4((float4)((a), (b), (c), (d)), 0, (p) + (i))
#else
typedef ushort plane_t;
#ifdef QUELL_EMULATOR
FN float LOAD_PLANE(const ushort* p, int i) {
  _Float16 h;
  memcpy(&h, p + i, 2);
  return (float)h;
}
FN void STORE_PLANE(ushort* p, int i, float v) {
  _Float16 h = (_Float16)v;
  memcpy(p + i, &h, 2);
}
FN void STORE_PLANE4(ushort* p, int i, float a, float b, float c, float d) {
  STORE_PLANE(p, i, a), STORE_PLANE(p, i + 1, b), STORE_PLANE(p, i + 2, c), STORE_PLANE(p, i + 3, d);
}
#else
FN float LOAD_PLANE(const ushort* p, int i) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(p[i]));
  return v;
}
FN void STORE_PLANE(ushort* p, int i, float v) {
  ushort h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
  p[i] = h;
}
FN uint two_halves(float a, float b) {
  uint h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
  return h;
}
FN void STORE_PLANE4(ushort* p, int i, float a, float b, float c, float d) {
  *(uint2*)(p + i) = make_uint2(two_halves(a, b), two_halves(c, d));
}
#endif
#endif

#endif

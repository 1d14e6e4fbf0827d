// Runs CUDA kernels on the processor: every thread of a block is a fiber, and the lanes of a warp meet wherever
// the hardware would make them meet (shuffles, votes, tensor-core products, barriers). One block at a time, no
// parallelism: for tests, where no GPU is at hand.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __constant__ static
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
};
struct int2 {
  int x, y;
};
struct uint2 {
  unsigned x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct uchar4 {
  unsigned char x, y, z, w;
};
static inline int2 make_int2(int a, int b) { return {a, b}; }
static inline uint2 make_uint2(unsigned a, unsigned b) { return {a, b}; }
static inline int4 make_int4(int a, int b, int c, int d) { return {a, b, c, d}; }
static inline uint4 make_uint4(unsigned a, unsigned b, unsigned c, unsigned d) { return {a, b, c, d}; }
static inline float2 make_float2(float a, float b) { return {a, b}; }
static inline float4 make_float4(float a, float b, float c, float d) { return {a, b, c, d}; }

static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

constexpr size_t STACK = 128 * 1024;
constexpr size_t LOCAL = 256 * 1024;
alignas(128) static unsigned char local[LOCAL];

#if !defined(__x86_64__)
#error "the emulator switches stacks by hand and knows x86-64 only"
#endif
// Saves the callee-saved registers on the old stack and takes up the new one.
extern "C" void quell_emulator_switch(void** save, void* to);
asm(R"(
.text
.globl quell_emulator_switch
.hidden quell_emulator_switch
quell_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Fiber {
  void* sp;
  unsigned char* stack;
  bool done;
};
struct Warp {
  void* args[32];
  int arrived;
  int gone;
  uint64_t meetings;
};
static std::vector<Fiber> fibers;
static std::vector<Warp> warps;
static std::function<void()>* body;
static void* scheduler;
static int current, alive, at_barrier, votes, last_votes;
static uint64_t barriers;

[[noreturn]] static void fail(const char* what) {
  fprintf(stderr, "emulator: %s (block %u,%u thread %d)\n", what, blockIdx.x, blockIdx.y, current);
  abort();
}
static void yield() { quell_emulator_switch(&fibers[current].sp, scheduler); }
static void entry() {
  (*body)();
  fibers[current].done = true;
  yield();
  abort();
}
static int lane() { return current & 31; }

// The whole warp brings its arguments; the last to arrive does the work for all.
static void meet(void (*work)(void**), void* arg) {
  Warp& w = warps[current >> 5];
  if (w.gone) fail("a warp-wide operation after some lanes have left");
  w.args[lane()] = arg;
  if (++w.arrived == 32) {
    w.arrived = 0;
    if (work) work(w.args);
    w.meetings++;
  } else {
    for (uint64_t m = w.meetings; w.meetings == m;) yield();
  }
}

static void release() {
  if (at_barrier && at_barrier == alive) {
    at_barrier = 0;
    last_votes = votes;
    votes = 0;
    barriers++;
  }
}
static void barrier(int vote) {
  at_barrier++;
  votes += vote;
  uint64_t b = barriers;
  release();
  while (barriers == b) yield();
}

static void run_block(int n) {
  alive = n;
  at_barrier = votes = 0;
  for (auto& w : warps) w = Warp{};
  for (int i = 0; i < n; i++) {
    Fiber& f = fibers[i];
    f.done = false;
    void** s = (void**)(((uintptr_t)f.stack + STACK) & ~(uintptr_t)63);
    *--s = nullptr;
    *--s = (void*)entry;
    for (int k = 0; k < 6; k++) *--s = nullptr;
    f.sp = s;
  }
  while (alive) {
    for (int i = 0; i < n; i++) {
      if (fibers[i].done) continue;
      current = i;
      threadIdx = {(unsigned)i, 0, 0};
      quell_emulator_switch(&scheduler, fibers[i].sp);
      if (fibers[i].done) {
        alive--;
        warps[i >> 5].gone++;
        release();
      }
    }
  }
}

static void launch(unsigned gx, unsigned gy, unsigned items, std::function<void()> f) {
  gridDim = {gx, gy, 1};
  blockDim = {items, 1, 1};
  while (fibers.size() < items) fibers.push_back({nullptr, (unsigned char*)malloc(STACK), false});
  warps.assign((items + 31) / 32, Warp{});
  body = &f;
  for (unsigned y = 0; y < gy; y++)
    for (unsigned x = 0; x < gx; x++) {
      blockIdx = {x, y, 0};
      run_block((int)items);
    }
}

// Calls a kernel with arguments that lie behind pointers, as the driver interface passes them.
template <class... A, size_t... I> void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
  kernel(*(A*)args[I]...);
}
template <class... A> void start(void (*kernel)(A...), unsigned gx, unsigned gy, unsigned items, void** args) {
  launch(gx, gy, items, [&] { call(kernel, args, std::index_sequence_for<A...>{}); });
}

struct Word {
  uint32_t value;
  int from;
  uint32_t result;
};
static uint32_t shuffle(uint32_t v, int from) {
  Word w{v, from, 0};
  meet(
      [](void** p) {
        for (int i = 0; i < 32; i++) {
          auto* x = (Word*)p[i];
          x->result = ((Word*)p[x->from & 31])->value;
        }
      },
      &w);
  return w.result;
}
template <class F> static uint32_t reduce(uint32_t v, F f) {
  Word w{v, 0, 0};
  static F combine = f;
  meet(
      [](void** p) {
        uint32_t r = ((Word*)p[0])->value;
        for (int i = 1; i < 32; i++) r = combine(r, ((Word*)p[i])->value);
        for (int i = 0; i < 32; i++) ((Word*)p[i])->result = r;
      },
      &w);
  return w.result;
}
static uint32_t ballot(bool b) {
  Word w{b, 0, 0};
  meet(
      [](void** p) {
        uint32_t m = 0;
        for (int i = 0; i < 32; i++) m |= ((Word*)p[i])->value << i;
        for (int i = 0; i < 32; i++) ((Word*)p[i])->result = m;
      },
      &w);
  return w.result;
}
template <class T> static uint32_t bits(T v) {
  uint32_t u;
  static_assert(sizeof(T) == 4, "");
  memcpy(&u, &v, 4);
  return u;
}
template <class T> static T value(uint32_t u) {
  T v;
  memcpy(&v, &u, 4);
  return v;
}

}  // namespace emulator

// The names of CUDA.
static inline void __syncthreads() { emulator::barrier(0); }
static inline int __syncthreads_count(int p) {
  emulator::barrier(p != 0);
  return emulator::last_votes;
}
static inline int __syncthreads_or(int p) { return __syncthreads_count(p) > 0; }
static inline void __syncwarp(unsigned = ~0u) { emulator::meet(nullptr, nullptr); }
static inline void __threadfence_block() {}
template <class T> static T __shfl_sync(unsigned, T v, int from) {
  return emulator::value<T>(emulator::shuffle(emulator::bits(v), from));
}
template <class T> static T __shfl_xor_sync(unsigned m, T v, int mask) {
  return __shfl_sync(m, v, emulator::lane() ^ mask);
}
template <class T> static T __shfl_up_sync(unsigned m, T v, int d) {
  int l = emulator::lane();
  return __shfl_sync(m, v, l < d ? l : l - d);
}
static inline unsigned __ballot_sync(unsigned, bool b) { return emulator::ballot(b); }
static inline int __any_sync(unsigned, bool b) { return emulator::ballot(b) != 0; }
static inline int __all_sync(unsigned, bool b) { return emulator::ballot(b) == ~0u; }
static inline unsigned __reduce_add_sync(unsigned, unsigned v) {
  return emulator::reduce(v, [](uint32_t a, uint32_t b) { return a + b; });
}
static inline unsigned __reduce_min_sync(unsigned, unsigned v) {
  return emulator::reduce(v, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
}
static inline unsigned __reduce_max_sync(unsigned, unsigned v) {
  return emulator::reduce(v, [](uint32_t a, uint32_t b) { return a < b ? b : a; });
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(unsigned long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? hi << s | lo >> (32 - s) : hi;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? lo >> s | hi << (32 - s) : lo;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  uint64_t v = (uint64_t)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(v >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return r;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}
static inline unsigned __float_as_uint(float f) { return emulator::bits(f); }
static inline int __float_as_int(float f) { return (int)emulator::bits(f); }
static inline float __uint_as_float(unsigned u) { return emulator::value<float>(u); }
static inline float __int_as_float(int u) { return emulator::value<float>((unsigned)u); }
static inline int __float2int_rn(float f) { return (int)lrintf(f); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
template <class T> static T __ldg(const T* p) { return *p; }
template <class T, class U> static T atomicAdd(T* p, U v) {
  T old = *p;
  *p = old + v;
  return old;
}
template <class T, class U> static T atomicMax(T* p, U v) {
  T old = *p;
  if ((T)v > old) *p = v;
  return old;
}
template <class T, class U> static T atomicMin(T* p, U v) {
  T old = *p;
  if ((T)v < old) *p = v;
  return old;
}
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

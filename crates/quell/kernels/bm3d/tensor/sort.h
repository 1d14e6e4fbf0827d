// Sorting networks in registers.
#pragma once

template <class T> INLINE void in_order(T& a, T& b) {
  T lo = min(a, b), hi = max(a, b);
  a = lo;
  b = hi;
}

// Batcher's odd-even merge sort, ascending.
template <int LO, int N, int STRIDE, class T> struct OddEvenMerge {
  INLINE void run(T* r) {
    if constexpr (2 * STRIDE < N) {
      OddEvenMerge<LO, N, 2 * STRIDE, T>::run(r);
      OddEvenMerge<LO + STRIDE, N, 2 * STRIDE, T>::run(r);
#pragma unroll
      for (int i = LO + STRIDE; i + STRIDE < LO + N; i += 2 * STRIDE) in_order(r[i], r[i + STRIDE]);
    } else {
      in_order(r[LO], r[LO + STRIDE]);
    }
  }
};
template <int LO, int N, class T> struct OddEvenSort {
  INLINE void run(T* r) {
    if constexpr (N > 1) {
      OddEvenSort<LO, N / 2, T>::run(r);
      OddEvenSort<LO + N / 2, N / 2, T>::run(r);
      OddEvenMerge<LO, N, 1, T>::run(r);
    }
  }
};
template <int N, class T> INLINE void sort(T* r) { OddEvenSort<0, N, T>::run(r); }

// From bitonic to ascending.
template <int N, class T> INLINE void bitonic_merge(T* r) {
#pragma unroll
  for (int s = N / 2; s >= 1; s >>= 1) {
#pragma unroll
    for (int i = 0; i < N; i++)
      if (!(i & s)) in_order(r[i], r[i + s]);
  }
}

// The K-th largest of the 4 N values of a quad of lanes, for K = N or K = 2 N. The same in all four lanes.
template <int N, int K> INLINE int quad_kth_largest(int* r) {
  static_assert(K == N || K == 2 * N, "");
  const int t = threadIdx.x & 3;
  sort<N>(r);
  int m[N], least = 0;
  if constexpr (K == 2 * N) {
    // Two lanes merge into one ascending run, the lower half in the even lane, the upper in the odd one.
#pragma unroll
    for (int i = 0; i < N; i++) {
      int o = __shfl_xor_sync(WARP, r[N - 1 - i], 1);
      m[i] = t & 1 ? max(r[i], o) : min(r[i], o);
    }
    bitonic_merge<N>(m);
    // Of two ascending runs A and B of length L, max(A[i], B[L - 1 - i]) are the L largest.
#pragma unroll
    for (int i = 0; i < N; i++) {
      int v = max(m[i], __shfl_xor_sync(WARP, m[N - 1 - i], 3));
      least = i ? min(least, v) : v;
    }
    return min(least, __shfl_xor_sync(WARP, least, 1));
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) m[i] = max(r[i], __shfl_xor_sync(WARP, r[N - 1 - i], 1));
    bitonic_merge<N>(m);
#pragma unroll
    for (int i = 0; i < N; i++) {
      int v = max(m[i], __shfl_xor_sync(WARP, m[N - 1 - i], 2));
      least = i ? min(least, v) : v;
    }
    return least;
  }
}

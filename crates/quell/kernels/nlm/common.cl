// What the kernels of NL-means share: weights, sums over patches, rounding.
//
// Options: SEARCH and RADIUS (of the window and of a patch), WEIGHT (0 bisquare, 1 its fourth power, 2 exponential),
// BEST (1: the pixel itself weighs as much as the best of the others, and LEAST at least).

#define SIDE (2 * SEARCH + 1)
#define PATCH (2 * RADIUS + 1)

#if defined(__OPENCL_VERSION__)
#define CLAMP01(v) clamp((v), 0.0f, 1.0f)
#elif defined(QUELL_EMULATOR)
#define CLAMP01(v) fminf(fmaxf((v), 0.0f), 1.0f)
#else
#define CLAMP01(v) __saturatef(v)
#endif

#if defined(QUELL_PTX) || (!defined(__OPENCL_VERSION__) && !defined(QUELL_EMULATOR))
FN float EXP2(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
#elif defined(__OPENCL_VERSION__)
#define EXP2(v) native_exp2(v)
#else
#define EXP2(v) exp2f(v)
#endif

#if WEIGHT == 2
// `slope` and `offset` are for powers of two.
FN float weight(float distance, float slope, float offset) { return EXP2(FMIN(FMA(-slope, distance, offset), 0.0f)); }
#else
FN float weight(float distance, float slope, float offset) {
  const float u = CLAMP01(FMA(slope, distance, offset));
  const float v = FMA(-u, u, 1.0f), square = v * v;
#if WEIGHT == 0
  return square;
#else
  const float fourth = square * square;
  return fourth * fourth;
#endif
}
#endif

// sums[i] = values[i] + ... + values[i + PATCH - 1] for i < n: a sum that ends at a multiple of PATCH and one that
// begins there (van Herk). As many additions as a running sum, and no difference of large numbers. `n` is a constant.
#define BOX(sums, values, n)                                                     \
  do {                                                                           \
    float tail_ = 0.0f, head_ = 0.0f;                                            \
    UNROLL for (int i_ = ((n) - 1) / PATCH * PATCH + PATCH - 1; i_ >= 0; i_--) { \
      tail_ = (i_ + 1) % PATCH == 0 ? values[i_] : values[i_] + tail_;           \
      if (i_ < (n)) sums[i_] = tail_;                                            \
    }                                                                            \
    UNROLL for (int j_ = PATCH; j_ < (n) + PATCH - 1; j_++) {                    \
      head_ = j_ % PATCH == 0 ? values[j_] : head_ + values[j_];                 \
      if ((j_ + 1) % PATCH != 0) sums[j_ - PATCH + 1] += head_;                  \
    }                                                                            \
  } while (0)

// Of the kernels that write samples: SAMPLE, WHOLE (1: rounded and clipped to `white`, which is in scope).
#if WHOLE
#define STORE_SAMPLE(out, at, v) ((out)[at] = (SAMPLE)(FMIN(FMAX((v), 0.0f), white) + 0.5f))
#else
#define STORE_SAMPLE(out, at, v) ((out)[at] = (v))
#endif

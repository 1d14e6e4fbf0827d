// The transform of a row or column of a patch, with the matrices as literals: unrolled, so that they become constants
// of the instructions and zeros cost nothing.
//
// Options: PATCH, FORWARD and INVERSE (matrices by rows; the inverse has the aggregation window in its rows),
// SYMMETRIC (rows are alternately even and odd), COUNTED (samples are averages of frames, and it is known of how many).

#define PATCH_PIXELS (PATCH * PATCH)
#define SIDE (2 * RADIUS + 1)
#define NO_MATCH 0xffff

TABLE float forward_matrix[PATCH_PIXELS] = {FORWARD};
TABLE float inverse_matrix[PATCH_PIXELS] = {INVERSE};

// v = FORWARD v.
FN void transform(float* v) {
#if SYMMETRIC
  float even[(PATCH + 1) / 2], odd[(PATCH + 1) / 2];
  UNROLL for (int i = 0; i < (PATCH + 1) / 2; i++) {
    even[i] = 2 * i + 1 == PATCH ? v[i] : v[i] + v[PATCH - 1 - i];
    odd[i] = v[i] - v[PATCH - 1 - i];
  }
  UNROLL for (int u = 0; u < PATCH; u++) {
    float sum = 0;
    UNROLL for (int i = 0; i < (PATCH + 1 - u % 2) / 2; i++) {
      sum = FMA(forward_matrix[u * PATCH + i], u % 2 ? odd[i] : even[i], sum);
    }
    v[u] = sum;
  }
#else
  float from[PATCH];
  UNROLL for (int i = 0; i < PATCH; i++) from[i] = v[i];
  UNROLL for (int u = 0; u < PATCH; u++) {
    float sum = 0;
    UNROLL for (int i = 0; i < PATCH; i++) {
      if (forward_matrix[u * PATCH + i] != 0.0f) sum = FMA(forward_matrix[u * PATCH + i], from[i], sum);
    }
    v[u] = sum;
  }
#endif
}

// v = INVERSE v.
FN void transform_back(float* v) {
  float from[PATCH];
  UNROLL for (int u = 0; u < PATCH; u++) from[u] = v[u];
#if SYMMETRIC
  UNROLL for (int i = 0; i < (PATCH + 1) / 2; i++) {
    float even = 0, odd = 0;
    UNROLL for (int u = 0; u < PATCH; u += 2) even = FMA(inverse_matrix[i * PATCH + u], from[u], even);
    UNROLL for (int u = 1; u < PATCH; u += 2) odd = FMA(inverse_matrix[i * PATCH + u], from[u], odd);
    v[i] = 2 * i + 1 == PATCH ? even : even + odd;
    if (2 * i + 1 != PATCH) v[PATCH - 1 - i] = even - odd;
  }
#else
  UNROLL for (int i = 0; i < PATCH; i++) {
    float sum = 0;
    UNROLL for (int u = 0; u < PATCH; u++) {
      if (inverse_matrix[i * PATCH + u] != 0.0f) sum = FMA(inverse_matrix[i * PATCH + u], from[u], sum);
    }
    v[i] = sum;
  }
#endif
}

// The patches of a group: the largest power of two that the list holds.
FN int group_size(GLOBAL const ushort* RESTRICT list) {
  int m = 1;
  UNROLL for (int s = 2; s <= GROUP; s *= 2) {
    if (list[s - 1] != NO_MATCH) m = s;
  }
  return m;
}

// Element of the first sample of a patch, given the number of its displacement.
FN int patch_at(int number, int x, int y, int pitch) {
  return plane_at(x + number % SIDE - RADIUS, y + number / SIDE - RADIUS, pitch);
}

// Of how many frames the middle of a patch is the average; rows of `counts` are `pitch` apart.
FN float frames_at(GLOBAL const float* RESTRICT counts, int x, int y, int pitch) {
  return counts[(y + PATCH / 2) * pitch + x + PATCH / 2];
}

// What a group counts, given the variance kept in units of the noise variance: nothing left counts as one coefficient.
FN float weight_of(float kept) {
#if DEVIATION
  return RSQRT(FMAX(kept, 1.0f));
#else
  return 1.0f / FMAX(kept, 1.0f);
#endif
}

// Collaborative filtering (DAB07 eq. 7 to 11) of groups of up to 32 patches with Haar or Walsh-Hadamard across them.
//
// One work-group per reference patch. Patches are transformed along columns and rows in local memory. Then each
// work-item holds one coefficient of all patches in registers, transforms across the group, shrinks, and goes back.
// Filtered patches are added to `sums` with their weight and the aggregation window; of the weight itself one value
// per patch goes to `weights`, and the finish kernel spreads it over the patch.
//
// The transforms across the group are not normalised: a coefficient over `size` patches is sqrt(size) too large, which
// goes into its threshold, and the way back takes 1 / size. Coefficients stay in place: with Haar, k > 0 is the
// difference of the patches k - h .. k - 1 and k .. k + h - 1, h the lowest bit of k.
//
// Where the noise is correlated, `spectrum` has the covariance of the coefficients of two patches by displacement: rows
// down from 0 on, columns right from 1 - SPECTRUM on, atoms (Makinen et al. 2020).
//
// Where samples are averages of frames, `counts` says of how many: their noise variance, and with it `strength`, is as many
// times less.
//
// Options: those of patch.cl, RADIUS, STEP, GROUP, ITEMS, HARD, EXACT, DEVIATION, KEEPS_MEAN, HAAR, SPECTRUM (how far it
// reaches, 0 for white noise).

// An odd pitch of the rows: neither rows nor columns meet in a bank.
#define ROW_PITCH (PATCH | 1)
#define PATCH_PITCH (PATCH * ROW_PITCH)
#define LEAST_VARIANCE 1e-6f

// Number of patches that coefficient k > 0 covers.
#if HAAR
#define SIZE_OF(k) (2 * ((k) & -(k)))
#else
#define SIZE_OF(k) m
#endif

// Coefficients of the m patches at `at`, transformed within each patch.
FN void load_group(GLOBAL const plane_t* RESTRICT plane, LOCAL_PTR const int* at, LOCAL_PTR float* stack, int m,
                   int pitch) {
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    const int k = task / PATCH, x = task % PATCH, from = at[k] + x;
    float v[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) v[i] = LOAD_PLANE(plane, from + i * pitch);
    transform(v);
    LOCAL_PTR float* to = stack + k * PATCH_PITCH + x;
    UNROLL for (int u = 0; u < PATCH; u++) to[u * ROW_PITCH] = v[u];
  }
  BARRIER();
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    LOCAL_PTR float* row = stack + task / PATCH * PATCH_PITCH + task % PATCH * ROW_PITCH;
    float v[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) v[i] = row[i];
    transform(v);
    UNROLL for (int i = 0; i < PATCH; i++) row[i] = v[i];
  }
  BARRIER();
}

// One coefficient of all patches, and zeros behind them. Loads without conditions: there is always something there.
FN void take(LOCAL_PTR const float* coefficient, float* a, int m) {
  UNROLL for (int k = 0; k < GROUP; k++) {
    const float c = coefficient[k * PATCH_PITCH];
    a[k] = k < m ? c : 0.0f;
  }
}

// Every level for the largest group, without conditions: behind the m patches are zeros, and only a sum over all of
// them could come out there as a difference.
FN void across(float* a, int m) {
  UNROLL for (int h = 1; h < GROUP; h *= 2) {
    UNROLL for (int k = 0; k < GROUP; k++) {
      if (HAAR ? k % (2 * h) == 0 : (k & h) == 0) {
        const float b = a[k + h], difference = a[k] - b;
        a[k + h] = (HAAR && k > 0) || h < m ? difference : 0.0f;
        a[k] += b;
      }
    }
  }
}

// What comes out behind the m patches is of no use.
FN void across_back(float* a) {
  UNROLL for (int h = GROUP / 2; h >= 1; h /= 2) {
    UNROLL for (int k = 0; k < GROUP; k++) {
      if (HAAR ? k % (2 * h) == 0 : (k & h) == 0) {
        const float b = a[k + h];
        a[k + h] = a[k] - b;
        a[k] += b;
      }
    }
  }
}

// Shrinks coefficient z over `size` patches; `pilot` is that of the basic estimate and `relative` its noise variance
// in units of that of a single patch. Returns it ready for the way back, and adds the variance that is left.
FN float shrink(float z, float pilot, float relative, float size, float scale, float strength, bool mean,
                float* kept) {
#if HARD
  const bool keep = z * z > strength * relative * size;
  *kept += keep ? relative : 0.0f;
  const float w = keep || mean ? 1.0f : 0.0f;
#else
  const float energy = pilot * pilot;
  float w = DIVIDE(energy, FMAX(energy + strength * relative * size, 1e-30f));
  *kept = FMA(w * w, relative, *kept);
  if (mean) w = 1.0f;
#endif
  return z * (w * scale);
}

#if SPECTRUM
typedef ushort pair_t;
#define NEAR SPECTRUM
#else
typedef uchar pair_t;
#define NEAR PATCH
#endif

#if EXACT
// Pairs of patches near each other, as row and column shift, by the difference that they lie across. A difference of
// h + h patches has room for h * h.
FN int pairs_of(int k) {
  const int h = k & -k;
  return GROUP * (h - 1) / 2 + k / (2 * h) * h * h;
}
#endif

KERNEL(ITEMS) bm3d_filter(GLOBAL const plane_t* RESTRICT noisy, GLOBAL const plane_t* RESTRICT basic,
                          GLOBAL const ushort* RESTRICT matches, GLOBAL const float* RESTRICT tables,
                          GLOBAL float* sums, GLOBAL float* weights, int columns, int last_x, int last_y,
                          int first_row, int pitch, float strength
#if COUNTED
                          ,
                          GLOBAL const float* RESTRICT counts, int first_count, int count_pitch
#endif
#if SPECTRUM
                          ,
                          GLOBAL const float* RESTRICT spectrum
#endif
) {
  LOCAL float stack[GROUP * PATCH_PITCH];
  LOCAL int at[GROUP];
  LOCAL float kept_by[ITEMS];
  LOCAL float partial[8];
#if EXACT
  LOCAL float correlation[PATCH_PIXELS];
  LOCAL int pair_counts[GROUP];
  LOCAL pair_t pairs[GROUP * GROUP / 2 + 1];
#endif
  const int x = MIN(GROUP_X * STEP, last_x), y = MIN((first_row + GROUP_Y) * STEP, last_y);
#if COUNTED
  strength /= frames_at(counts + first_count, x, y, count_pitch);
#endif
  GLOBAL const ushort* list = matches + (GROUP_Y * columns + GROUP_X) * GROUP;
  const int m = group_size(list);
  for (int k = ITEM; k < m; k += ITEMS) at[k] = patch_at(list[k], x, y, pitch);
#if EXACT
  for (int i = ITEM; i < PATCH_PIXELS; i += ITEMS) correlation[i] = tables[i];
  for (int i = ITEM; i < GROUP; i += ITEMS) pair_counts[i] = 0;
#endif
  BARRIER();
#if EXACT
  for (int pair = ITEM; pair < m * m; pair += ITEMS) {
    const int i = pair / m, j = pair % m;
    if (i < j) {
      const int a = list[i], b = list[j];
      int dy = a / SIDE - b / SIDE, dx = a % SIDE - b % SIDE;
#if SPECTRUM
      // The same both ways, but not mirrored.
      dx = dy < 0 ? -dx : dx;
      const int shift = (dy < 0 ? -dy : dy) * (2 * SPECTRUM - 1) + dx + SPECTRUM - 1;
#else
      const int shift = (dy < 0 ? -dy : dy) * 16 + (dx < 0 ? -dx : dx);
#endif
      dy = dy < 0 ? -dy : dy;
      dx = dx < 0 ? -dx : dx;
      if (dy < NEAR && dx < NEAR) {
        // The highest bit in which they differ says where they part.
        int h = 1;
        while ((i ^ j) >= 2 * h) h *= 2;
        const int k = j & -h;
        pairs[pairs_of(k) + LOCAL_ADD(pair_counts + k, 1)] = (pair_t)shift;
      }
    }
  }
#endif

  const bool busy = ITEM < PATCH_PIXELS;
  const int u = busy ? ITEM / PATCH : 0, v = busy ? ITEM % PATCH : 0;
  LOCAL_PTR float* coefficient = stack + u * ROW_PITCH + v;
  float b[GROUP], z[GROUP];
#if HARD
  UNROLL for (int k = 0; k < GROUP; k++) b[k] = 0;
#else
  load_group(basic, at, stack, m, pitch);
  take(coefficient, b, m);
  across(b, m);
  BARRIER();
#endif
  load_group(noisy, at, stack, m, pitch);
  take(coefficient, z, m);
  across(z, m);

  float kept = 0;
#if SPECTRUM
  GLOBAL const float* RESTRICT atom = spectrum + u * PATCH + v;
  const float single = atom[(SPECTRUM - 1) * PATCH_PIXELS];
#else
  const float single = 1.0f;
#endif
#if EXACT
  // Pairs across each difference. The work-item's column of the stack has just been taken: the sums go there.
  NO_UNROLL for (int k = 1; k < m; k++) {
    LOCAL_PTR const pair_t* pair = pairs + pairs_of(k);
    const int n = pair_counts[k];
    float sum = 0;
    NO_UNROLL for (int i = 0; i < n; i++) {
      const int shift = pair[i];
#if SPECTRUM
      sum += atom[shift * PATCH_PIXELS];
#else
      sum = FMA(correlation[(shift >> 4) * PATCH + u], correlation[(shift & 15) * PATCH + v], sum);
#endif
    }
    if (busy) coefficient[k * PATCH_PITCH] = sum;
  }
  // Pairs below each difference, level by level.
  float within[GROUP / 2 + 1];
  UNROLL for (int i = 0; i <= GROUP / 2; i++) within[i] = 0;
  UNROLL for (int h = 1; h < GROUP; h *= 2) {
    UNROLL for (int j = 0; j < GROUP / (2 * h); j++) {
      const int k = 2 * h * j + h;
      const float there = coefficient[k * PATCH_PITCH], sum = k < m ? there : 0.0f;
      const float halves = h > 1 ? within[2 * j] + within[2 * j + 1] : 0.0f;
      within[j] = halves + sum;
      const float relative = FMAX(FMA(halves - sum, 1.0f / (float)h, single), LEAST_VARIANCE);
      z[k] = shrink(z[k], b[k], relative, 2.0f * (float)h, 0.5f / (float)h, strength, false, &kept);
    }
  }
  const float mean_relative = FMAX(FMA(within[0], 2.0f / (float)m, single), LEAST_VARIANCE);
#else
  const float mean_relative = FMAX(single, LEAST_VARIANCE);
  UNROLL for (int k = 1; k < GROUP; k++) {
    const float size = (float)SIZE_OF(k);
    z[k] = shrink(z[k], b[k], mean_relative, size, 1.0f / size, strength, false, &kept);
  }
#endif
  z[0] = shrink(z[0], b[0], mean_relative, (float)m, 1.0f / (float)m, strength, KEEPS_MEAN && ITEM == 0, &kept);
  across_back(z);
  if (busy) {
    UNROLL for (int k = 0; k < GROUP; k++) coefficient[k * PATCH_PITCH] = z[k];
  }
  kept_by[ITEM] = busy ? kept : 0.0f;
  BARRIER();

  if (ITEM < 8) {
    float sum = 0;
    for (int i = ITEM; i < ITEMS; i += 8) sum += kept_by[i];
    partial[ITEM] = sum;
  }
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    LOCAL_PTR float* row = stack + task / PATCH * PATCH_PITCH + task % PATCH * ROW_PITCH;
    float c[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) c[i] = row[i];
    transform_back(c);
    UNROLL for (int i = 0; i < PATCH; i++) row[i] = c[i];
  }
  BARRIER();
  float all = 0;
  UNROLL for (int i = 0; i < 8; i++) all += partial[i];
  const float weight = weight_of(all);
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    const int k = task / PATCH, column = task % PATCH;
    LOCAL_PTR const float* from = stack + k * PATCH_PITCH + column;
    float c[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) c[i] = from[i * ROW_PITCH];
    transform_back(c);
    GLOBAL float* to = sums + at[k] + column;
    UNROLL for (int i = 0; i < PATCH; i++) GLOBAL_ADD(to + i * pitch, weight * c[i]);
  }
  for (int k = ITEM; k < m; k += ITEMS) GLOBAL_ADD(weights + at[k], weight);
}

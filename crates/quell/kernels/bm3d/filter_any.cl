// Collaborative filtering (DAB07 eq. 7 to 11) of any groups with any transforms: what filter.cl does not serve. Slow
// and plain: stages over global memory, one matrix product each.
//
// One work-group per reference patch, as many at a time as have four buffers of GROUP patches in `scratch`. The exact variance
// of coefficient k of atom (u, v) is the sum over all pairs of patches of h_k[i] h_k[j] r_u(|dy|) r_v(|dx|) (Makinen
// et al. 2020). Pairs of one displacement share their r: the h_k[i] h_k[j] are added up by displacement, and what is
// left is a transform of that table by the correlations.
//
// Where the noise is correlated, `spectrum` has the covariance of the coefficients of two patches by displacement, as in
// filter.cl, and pairs are added up one by one. Counts of frames are as there.
//
// Options: those of patch.cl, RADIUS, STEP, GROUP, ITEMS, HARD, EXACT, DEVIATION, KEEPS_MEAN, SPECTRUM.

#define BUFFER (GROUP * PATCH_PIXELS)
#define LEAST_VARIANCE 1e-6f

// Coefficients of the m patches at `at`, transformed within each patch.
FN void load_group(GLOBAL const plane_t* RESTRICT plane, LOCAL_PTR const int* at, GLOBAL float* stack, int m,
                   int pitch) {
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    const int k = task / PATCH, x = task % PATCH, from = at[k] + x;
    float v[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) v[i] = LOAD_PLANE(plane, from + i * pitch);
    transform(v);
    UNROLL for (int u = 0; u < PATCH; u++) stack[k * PATCH_PIXELS + u * PATCH + x] = v[u];
  }
  BARRIER_GLOBAL();
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    float v[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) v[i] = stack[task * PATCH + i];
    transform(v);
    UNROLL for (int i = 0; i < PATCH; i++) stack[task * PATCH + i] = v[i];
  }
  BARRIER_GLOBAL();
}

// to = matrix from, across the patches.
FN void across(GLOBAL const float* RESTRICT matrix, GLOBAL const float* from, GLOBAL float* to, int m) {
  NO_UNROLL for (int i = ITEM; i < m * PATCH_PIXELS; i += ITEMS) {
    const int k = i / PATCH_PIXELS, p = i % PATCH_PIXELS;
    float sum = 0;
    NO_UNROLL for (int j = 0; j < m; j++) sum = FMA(matrix[k * m + j], from[j * PATCH_PIXELS + p], sum);
    to[i] = sum;
  }
  BARRIER_GLOBAL();
}

#if EXACT && !SPECTRUM
// Variances of the coefficients of a group, in units of the noise variance; `table` is overwritten.
FN void variances(GLOBAL const float* RESTRICT correlation, GLOBAL const float* RESTRICT matrix,
                  GLOBAL const ushort* RESTRICT list, GLOBAL float* table, GLOBAL float* relative, int m) {
  NO_UNROLL for (int i = ITEM; i < m * PATCH_PIXELS; i += ITEMS) table[i] = 0;
  BARRIER_GLOBAL();
  // A work-item has its own coefficients, so nobody else adds to their tables.
  NO_UNROLL for (int k = ITEM; k < m; k += ITEMS) {
    NO_UNROLL for (int j = 0; j < m; j++) {
      NO_UNROLL for (int i = 0; i <= j; i++) {
        const int a = list[i], b = list[j];
        int dy = a / SIDE - b / SIDE, dx = a % SIDE - b % SIDE;
        dy = dy < 0 ? -dy : dy;
        dx = dx < 0 ? -dx : dx;
        if (dy < PATCH && dx < PATCH) {
          const float product = matrix[k * m + i] * matrix[k * m + j];
          table[k * PATCH_PIXELS + dy * PATCH + dx] += i == j ? product : 2.0f * product;
        }
      }
    }
  }
  BARRIER_GLOBAL();
  NO_UNROLL for (int i = ITEM; i < m * PATCH_PIXELS; i += ITEMS) {
    const int k = i / PATCH_PIXELS, u = i % PATCH_PIXELS / PATCH, v = i % PATCH;
    float sum = 0;
    NO_UNROLL for (int dy = 0; dy < PATCH; dy++) {
      float row = 0;
      NO_UNROLL for (int dx = 0; dx < PATCH; dx++) {
        row = FMA(correlation[dx * PATCH + v], table[k * PATCH_PIXELS + dy * PATCH + dx], row);
      }
      sum = FMA(correlation[dy * PATCH + u], row, sum);
    }
    relative[i] = FMAX(sum, LEAST_VARIANCE);
  }
  BARRIER_GLOBAL();
}
#endif

#if SPECTRUM
// The same where the noise is correlated; without EXACT, of patches on their own.
FN void variances_of(GLOBAL const float* RESTRICT spectrum, GLOBAL const float* RESTRICT matrix,
                     GLOBAL const ushort* RESTRICT list, GLOBAL float* relative, int m) {
  NO_UNROLL for (int c = ITEM; c < m * PATCH_PIXELS; c += ITEMS) {
    const int k = c / PATCH_PIXELS;
    GLOBAL const float* RESTRICT atom = spectrum + c % PATCH_PIXELS;
#if EXACT
    float sum = 0;
    NO_UNROLL for (int j = 0; j < m; j++) {
      NO_UNROLL for (int i = 0; i <= j; i++) {
        const int a = list[i], b = list[j];
        int dy = a / SIDE - b / SIDE, dx = a % SIDE - b % SIDE;
        // The same both ways, but not mirrored.
        dx = dy < 0 ? -dx : dx;
        dy = dy < 0 ? -dy : dy;
        if (dy < SPECTRUM && dx < SPECTRUM && -dx < SPECTRUM) {
          const float product = matrix[k * m + i] * matrix[k * m + j];
          const float there = atom[(dy * (2 * SPECTRUM - 1) + dx + SPECTRUM - 1) * PATCH_PIXELS];
          sum = FMA(i == j ? product : 2.0f * product, there, sum);
        }
      }
    }
#else
    const float sum = atom[(SPECTRUM - 1) * PATCH_PIXELS];
#endif
    relative[c] = FMAX(sum, LEAST_VARIANCE);
  }
  BARRIER_GLOBAL();
}
#endif

KERNEL(ITEMS) bm3d_filter(GLOBAL const plane_t* RESTRICT noisy, GLOBAL const plane_t* RESTRICT basic,
                          GLOBAL const ushort* RESTRICT matches, GLOBAL const float* RESTRICT tables,
                          GLOBAL float* sums, GLOBAL float* weights, int columns, int last_x, int last_y,
                          int first_row, int pitch, float strength,
#if COUNTED
                          GLOBAL const float* RESTRICT counts, int first_count, int count_pitch,
#endif
#if SPECTRUM
                          GLOBAL const float* RESTRICT spectrum,
#endif
                          GLOBAL float* scratch, int first_reference) {
  LOCAL int at[GROUP];
  LOCAL float kept_by[ITEMS];
  GLOBAL float* first = scratch + GROUP_X * 4 * BUFFER;
  GLOBAL float* second = first + BUFFER;
  GLOBAL float* pilot = second + BUFFER;
  GLOBAL float* relative = pilot + BUFFER;
  const int reference = first_reference + GROUP_X;
  const int x = MIN(reference % columns * STEP, last_x), y = MIN((first_row + reference / columns) * STEP, last_y);
#if COUNTED
  strength /= frames_at(counts + first_count, x, y, count_pitch);
#endif
  GLOBAL const ushort* list = matches + reference * GROUP;
  const int m = group_size(list);
  for (int k = ITEM; k < m; k += ITEMS) at[k] = patch_at(list[k], x, y, pitch);
  BARRIER();
  // Behind the correlations: the matrices for 1, 2, 4, ... patches, each with its inverse.
  GLOBAL const float* matrix = tables + PATCH_PIXELS + 2 * (m * m - 1) / 3;
#if SPECTRUM
  variances_of(spectrum, matrix, list, relative, m);
#elif EXACT
  variances(tables, matrix, list, first, relative, m);
#endif
#if !HARD
  load_group(basic, at, first, m, pitch);
  across(matrix, first, pilot, m);
#endif
  load_group(noisy, at, first, m, pitch);
  across(matrix, first, second, m);
  float kept = 0;
  NO_UNROLL for (int i = ITEM; i < m * PATCH_PIXELS; i += ITEMS) {
    const float z = second[i];
#if EXACT || SPECTRUM
    const float r = relative[i];
#else
    const float r = 1.0f;
#endif
#if HARD
    const bool keep = z * z > strength * r;
    kept += keep ? r : 0.0f;
    float w = keep ? 1.0f : 0.0f;
#else
    const float energy = pilot[i] * pilot[i];
    float w = DIVIDE(energy, FMAX(energy + strength * r, 1e-30f));
    kept = FMA(w * w, r, kept);
#endif
#if KEEPS_MEAN
    if (i == 0) w = 1.0f;
#endif
    second[i] = z * w;
  }
  kept_by[ITEM] = kept;
  BARRIER_GLOBAL();
  across(matrix + m * m, second, first, m);
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    float c[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) c[i] = first[task * PATCH + i];
    transform_back(c);
    UNROLL for (int i = 0; i < PATCH; i++) first[task * PATCH + i] = c[i];
  }
  BARRIER_GLOBAL();
  float all = 0;
  NO_UNROLL for (int i = 0; i < ITEMS; i++) all += kept_by[i];
  const float weight = weight_of(all);
  NO_UNROLL for (int task = ITEM; task < m * PATCH; task += ITEMS) {
    const int k = task / PATCH, column = task % PATCH;
    float c[PATCH];
    UNROLL for (int i = 0; i < PATCH; i++) c[i] = first[k * PATCH_PIXELS + i * PATCH + column];
    transform_back(c);
    GLOBAL float* to = sums + at[k] + column;
    UNROLL for (int i = 0; i < PATCH; i++) GLOBAL_ADD(to + i * pitch, weight * c[i]);
  }
  for (int k = ITEM; k < m; k += ITEMS) GLOBAL_ADD(weights + at[k], weight);
}

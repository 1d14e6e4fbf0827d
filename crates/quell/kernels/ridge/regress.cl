// Groups of noisy patches, regressed on themselves (`Shrink::Regress`), in the place of BM3D's filter. With Yc the patches of a
// group as rows, without their mean, and v = PATCH_PIXELS sigma^2:
//   B = I - (1 + alpha^2) v (Yc Yc' + alpha^2 v I)^-1,   estimate = mean + B Yc,   a weight for every patch.
//
// One work-group per reference patch. `strength` is sigma^2, of averages as many times less as they have frames.
//
// Options: those of patch.cl, RADIUS, STEP, GROUP, ITEMS, ALPHA2.

#define ROW (PATCH_PIXELS | 1)

KERNEL(ITEMS) bm3d_filter(GLOBAL const plane_t* RESTRICT noisy, GLOBAL const plane_t* RESTRICT basic,
                          GLOBAL const ushort* RESTRICT matches, GLOBAL const float* RESTRICT tables,
                          GLOBAL float* sums, GLOBAL float* weights, int columns, int last_x, int last_y, int first_row,
                          int pitch, float strength
#if COUNTED
                          ,
                          GLOBAL const float* RESTRICT counts, int first_count, int count_pitch
#endif
) {
  LOCAL float rows[GROUP * ROW];
  LOCAL float matrix[GROUP * GROUP];
  LOCAL float line[GROUP];
  LOCAL float column[GROUP];
  LOCAL float own[GROUP];
  LOCAL int at[GROUP];
  const int x = MIN(GROUP_X * STEP, last_x), y = MIN((first_row + GROUP_Y) * STEP, last_y);
#if COUNTED
  strength /= frames_at(counts + first_count, x, y, count_pitch);
#endif
  GLOBAL const ushort* list = matches + (GROUP_Y * columns + GROUP_X) * GROUP;
  int m = 1;
  for (int k = 1; k < GROUP; k++) m += list[k] != NO_MATCH ? 1 : 0;
  for (int k = ITEM; k < m; k += ITEMS) at[k] = patch_at(list[k], x, y, pitch);
  BARRIER();
  for (int i = ITEM; i < m * PATCH_PIXELS; i += ITEMS) {
    const int k = i / PATCH_PIXELS, p = i % PATCH_PIXELS;
    rows[k * ROW + p] = LOAD_PLANE(noisy, at[k] + p / PATCH * pitch + p % PATCH);
  }
  BARRIER();
  // A work-item has pixel ITEM of every patch, and ITEM + ITEMS where patches are larger.
  float means[(PATCH_PIXELS + ITEMS - 1) / ITEMS];
  UNROLL for (int q = 0; q * ITEMS < PATCH_PIXELS; q++) {
    const int p = q * ITEMS + ITEM;
    float sum = 0;
    if (p < PATCH_PIXELS) {
      for (int k = 0; k < m; k++) sum += rows[k * ROW + p];
      sum /= (float)m;
      for (int k = 0; k < m; k++) rows[k * ROW + p] -= sum;
    }
    means[q] = sum;
  }
  BARRIER();
  const float noise = (float)PATCH_PIXELS * strength;
  for (int i = ITEM; i < m * m; i += ITEMS) {
    const int a = i / m, b = i % m;
    float sum = a == b ? ALPHA2 * noise : 0.0f;
    for (int p = 0; p < PATCH_PIXELS; p++) sum = FMA(rows[a * ROW + p], rows[b * ROW + p], sum);
    matrix[i] = sum;
  }
  BARRIER();
  // Gauss and Jordan, without pivots.
  NO_UNROLL for (int p = 0; p < m; p++) {
    for (int i = ITEM; i < m; i += ITEMS) {
      line[i] = matrix[p * m + i];
      column[i] = matrix[i * m + p];
    }
    BARRIER();
    const float pivot = DIVIDE(1.0f, line[p]);
    for (int i = ITEM; i < m * m; i += ITEMS) {
      const int a = i / m, b = i % m;
      const float scaled = b == p ? pivot : line[b] * pivot;
      matrix[i] = a == p ? scaled : FMA(-column[a], scaled, b == p ? 0.0f : matrix[i]);
    }
    BARRIER();
  }
  for (int i = ITEM; i < m * m; i += ITEMS) {
    matrix[i] = FMA(-(1.0f + ALPHA2) * noise, matrix[i], i / m == i % m ? 1.0f : 0.0f);
  }
  BARRIER();
  for (int k = ITEM; k < m; k += ITEMS) {
    float norm = (1.0f - 1.0f / (ALPHA2 * ALPHA2)) / (float)m;
    for (int j = 0; j < m; j++) norm = FMA(matrix[k * m + j], matrix[k * m + j], norm);
    own[k] = 1.0f / FMAX(norm, 1.0f / (float)m);
    GLOBAL_ADD(weights + at[k], own[k]);
  }
  BARRIER();
  UNROLL for (int q = 0; q * ITEMS < PATCH_PIXELS; q++) {
    const int p = q * ITEMS + ITEM;
    if (p >= PATCH_PIXELS) continue;
    NO_UNROLL for (int k = 0; k < m; k++) {
      float sum = means[q];
      for (int j = 0; j < m; j++) sum = FMA(matrix[k * m + j], rows[j * ROW + p], sum);
      GLOBAL_ADD(sums + at[k] + p / PATCH * pitch + p % PATCH, own[k] * sum);
    }
  }
}

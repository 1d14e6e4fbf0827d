// Matching (DAB07 eq. 5 and 6) on 8-bit samples: SSD = |a|^2 + |b|^2 - 2 ab with products of four bytes at a time.
// The result is exact: the GROUP patches of least (SSD, row, column), the reference patch first.
//
// A work-group takes NEIGHBOURS reference patches of a row, 32 work-items each. Stages:
//   load      the union of their windows into local memory, a 32-bit word at every column
//   distance  a work-item goes down ROWS candidates of one column; a row of samples is loaded once and serves up to
//             PATCH candidates. Distances are kept in 16 bits; the least of each bin of candidates is remembered
//   bound     the GROUP-th least of the bins: at least GROUP candidates are that near
//   collect   candidates within the bound, as keys: SSD, then number of the displacement. If that are more than
//             there is room for (flat areas, ties), bisection finds a key that lets few enough through
//   sort      each key counts the keys before it, which is its place
//
// Options: PATCH, STEP, RADIUS, GROUP, MARGIN, NEIGHBOURS, ROWS, BAND (candidate rows that local memory holds at
// once, a multiple of ROWS), BINS (per work-item), HITS (room for keys), LIST (references come
// from a list, its length first), LEAST (a group is at least so many, and more where these are as near, see
// `ridge::GroupSize`; 0: cut to a power of two), KEPT (there is room for the groups of all rows, not of those from
// first_row on).
// Out: for each reference the numbers of its displacements in raster order of the window, and NO_MATCH behind them.

#define SIDE (2 * RADIUS + 1)
#define CENTRE_NUMBER (RADIUS * SIDE + RADIUS)
#define NO_MATCH 0xffff
#define LANES 32
#define ITEMS (LANES * NEIGHBOURS)
#define WORDS ((PATCH + 3) / 4)
#define TAIL (0xffffffffu >> (8 * (4 * WORDS - PATCH)))
// Columns of the union of the windows, from a multiple of 4 to a multiple of 4.
#define QUADS (((NEIGHBOURS - 1) * STEP + SIDE + 4 * (WORDS - 1) + 3 + 3) / 4)
#define TILE_COLUMNS (4 * QUADS)
#define TILE_ROWS (BAND + PATCH - 1)
#define BANDS ((SIDE + BAND - 1) / BAND)
#define SEGMENTS (BAND / ROWS)
// Distances, two to a word; rows behind the window, which fill the last segment, are far.
#define PAIRS ((SIDE * BANDS * BAND + 1) / 2)
#define FAR 0xffff
#define BIN_BITS 9  // LANES * BINS is at most 512

// The word of four bytes from byte `at` on, at any alignment.
FN uint word_at(GLOBAL const uint* RESTRICT guide, int at) {
  const uint low = guide[at >> 2], high = guide[(at >> 2) + 1];
  return (uint)((((ulong)high << 32) | low) >> (8 * (at & 3)));
}

// The order of candidates: distance, then row and column; the reference patch before all.
FN uint key_of(uint distance, int number) { return number == CENTRE_NUMBER ? 0 : distance << 16 | (uint)(number + 1); }

// Keeps a key if it is among those up to `most` and there is room; `count` counts all of them.
FN void keep(uint distance, int number, uint most, LOCAL_PTR uint* hits, LOCAL_PTR int* count) {
  const uint key = key_of(distance, number);
  if (key <= most) {
    const int at = LOCAL_ADD(count, 1);
    if (at < HITS) hits[at] = key;
  }
}

// Work-item `lane` of a reference collects its share of the keys up to `most`.
FN void collect(LOCAL_PTR const uint* distances, LOCAL_PTR uint* hits, LOCAL_PTR int* count, int lane, uint most) {
  const uint bound = most >> 16;
  for (int i = lane; i < PAIRS; i += LANES) {
    const uint pair = distances[i], a = pair & 0xffff, b = pair >> 16;
    // Hits are rare: one condition for two.
    if (MIN(a, b) <= bound) {
      if (a <= bound) keep(a, 2 * i, most, hits, count);
      if (b <= bound) keep(b, 2 * i + 1, most, hits, count);
    }
  }
}

// How many keys of the share of a work-item are up to `most`.
FN int count_keys(LOCAL_PTR const uint* distances, int lane, uint most) {
  const uint bound = most >> 16;
  int n = 0;
  for (int i = lane; i < PAIRS; i += LANES) {
    const uint pair = distances[i], a = pair & 0xffff, b = pair >> 16;
    n += a <= bound && key_of(a, 2 * i) <= most ? 1 : 0;
    n += b <= bound && key_of(b, 2 * i + 1) <= most ? 1 : 0;
  }
  return n;
}

KERNEL(ITEMS) bm3d_match(GLOBAL const uint* RESTRICT guide, GLOBAL const int* RESTRICT norms,
                         GLOBAL ushort* RESTRICT matches,
#if LIST
                         GLOBAL const int* RESTRICT list,
#endif
                         int columns, int last_x, int last_y, int offset, int first_row, int width, int height,
                         int pitch, int max_ssd, int spread) {
  LOCAL uint4 quads[TILE_ROWS * QUADS];
  LOCAL uint own[NEIGHBOURS * PATCH * WORDS];
  LOCAL uint all_distances[NEIGHBOURS * PAIRS];
  LOCAL uint all_bins[NEIGHBOURS * LANES * BINS];
  LOCAL uint all_hits[NEIGHBOURS * HITS];
  LOCAL int counts[NEIGHBOURS];
  LOCAL uint bounds[NEIGHBOURS];
  LOCAL int searching;
  const int lane = ITEM % LANES, which = ITEM / LANES;
  LOCAL_PTR const uint* tile = (LOCAL_PTR const uint*)quads;
  LOCAL_PTR uint* distances = all_distances + which * PAIRS;
  LOCAL_PTR uint* bins = all_bins + which * LANES * BINS;
  LOCAL_PTR uint* hits = all_hits + which * HITS;
  LOCAL_PTR ushort* halves = (LOCAL_PTR ushort*)distances;

#if LIST
  const int length = list[0];
  for (int entry = GROUP_X; entry < length; entry += GROUPS_X) {
    const int reference = list[1 + entry], first_column = reference % columns, band_row = reference / columns;
    const int column = first_column;
    BARRIER();
#else
  {
    const int first_column = GROUP_X * NEIGHBOURS, band_row = GROUP_Y;
    // Beyond the last reference the last one is done again, and not stored.
    const int column = MIN(first_column + which, columns - 1);
#endif
    const int x = grid_at(column, STEP, offset, last_x), y = grid_at(first_row + band_row, STEP, offset, last_y);
    const int tile_x = (grid_at(first_column, STEP, offset, last_x) - RADIUS) & ~3, tile_y = y - RADIUS;

    if (lane == 0) {
      counts[which] = 0;
      bounds[which] = (uint)max_ssd;
      // The odd half of the last pair.
      halves[2 * PAIRS - 1] = FAR;
    }
    // The reference patch; bytes beyond it are zero, so that they add nothing to any product.
    for (int i = lane; i < PATCH * WORDS; i += LANES) {
      const uint w = word_at(guide, plane_at(x + 4 * (i % WORDS), y + i / WORDS, pitch));
      own[which * PATCH * WORDS + i] = i % WORDS == WORDS - 1 ? w & TAIL : w;
    }
    // clang-format off: it misplaces the first UNROLL of a block
    uint best[BINS];
    UNROLL for (int b = 0; b < BINS; b++) best[b] = FAR;
    // clang-format on
    const int own_norm = norms[plane_at(x, y, pitch)];

    NO_UNROLL for (int band = 0; band < BANDS; band++) {
      if (band > 0) BARRIER();
      for (int i = ITEM; i < TILE_ROWS * QUADS; i += ITEMS) {
        // Rows behind the window are never used. The words at four columns come out of two aligned ones.
        const int row = tile_y + MIN(band * BAND + i / QUADS, SIDE + PATCH - 2);
        int at = plane_at(tile_x, row, pitch) + 4 * (i % QUADS);
#if RADIUS > MARGIN
        at = MAX(at, 0);
#endif
        const uint low = guide[at >> 2], high = guide[(at >> 2) + 1];
        quads[i] = UINT4(low, low >> 8 | high << 24, low >> 16 | high << 16, low >> 24 | high << 8);
      }
      BARRIER();
      uint patch[PATCH * WORDS];
      UNROLL for (int i = 0; i < PATCH * WORDS; i++) patch[i] = own[which * PATCH * WORDS + i];
      NO_UNROLL for (int task = lane; task < SIDE * SEGMENTS; task += LANES) {
        const int segment = task / SIDE, dx = task - segment * SIDE, first = band * BAND + segment * ROWS;
        LOCAL_PTR const uint* samples = tile + segment * ROWS * TILE_COLUMNS + (x - RADIUS - tile_x) + dx;
        uint products[ROWS];
        UNROLL for (int c = 0; c < ROWS; c++) products[c] = 0;
        UNROLL for (int r = 0; r < ROWS + PATCH - 1; r++) {
          uint w[WORDS];
          UNROLL for (int k = 0; k < WORDS; k++) w[k] = samples[r * TILE_COLUMNS + 4 * k];
          UNROLL for (int c = 0; c < ROWS; c++) {
            if (r - c >= 0 && r - c < PATCH) {
              UNROLL for (int k = 0; k < WORDS; k++) products[c] = DOT4(w[k], patch[(r - c) * WORDS + k], products[c]);
            }
          }
        }
        const int cx = x - RADIUS + dx, cy = y - RADIUS + first, norm = plane_at(cx, cy, pitch);
        LOCAL_PTR ushort* to = halves + first * SIDE + dx;
        UNROLL for (int c = 0; c < ROWS; c++) {
#if RADIUS <= MARGIN
          const int other = norms[norm + c * pitch];
#else
          // The window may reach beyond the margin.
          const bool inside = cx >= 0 && cx <= width - PATCH && cy + c >= 0 && cy + c <= height - PATCH;
          const int other = inside ? norms[norm + c * pitch] : INVALID_NORM;
#endif
          const int distance = MIN(own_norm + other - 2 * (int)products[c], FAR);
          const uint here = c < SIDE - first ? (uint)distance : FAR;
          to[c * SIDE] = (ushort)here;
          best[c % BINS] = MIN(best[c % BINS], here);
        }
      }
    }

    // The one bin that has GROUP - 1 before it (ties by number) holds the bound, if it is not beyond MAX_SSD. Keys of
    // bins are below 2^31, so that the sign of a difference compares them.
    UNROLL for (int b = 0; b < BINS; b++) {
      best[b] = best[b] << BIN_BITS | (uint)(b * LANES + lane);
      bins[b * LANES + lane] = best[b];
    }
    BARRIER();
    int before[BINS];
    UNROLL for (int b = 0; b < BINS; b++) before[b] = 0;
    for (int i = 0; i < LANES * BINS; i++) {
      const uint other = bins[i];
      UNROLL for (int b = 0; b < BINS; b++) before[b] -= (int)(other - best[b]) >> 31;
    }
    UNROLL for (int b = 0; b < BINS; b++) {
      if (before[b] == GROUP - 1) bounds[which] = MIN(best[b] >> BIN_BITS, (uint)max_ssd);
    }
    BARRIER();
    uint most = bounds[which] << 16 | 0xffff;
    collect(distances, hits, counts + which, lane, most);
    BARRIER();

    int crowded = 0;
    UNROLL for (int i = 0; i < NEIGHBOURS; i++) crowded |= counts[i] > HITS;
    if (crowded) {
      // Between `low` and `high` is a key that at least GROUP and at most HITS keys do not exceed: keys are unique.
      int open = counts[which] > HITS;
      uint low = 0, high = most;
      int go_on = 1;
      while (go_on) {
        BARRIER();
        if (open && lane == 0) counts[which] = 0;
        if (ITEM == 0) searching = 0;
        BARRIER();
        const uint middle = low + (high - low) / 2;
        if (open) LOCAL_ADD(counts + which, count_keys(distances, lane, middle));
        BARRIER();
        if (open) {
          const int n = counts[which];
          if (n > HITS) {
            high = middle;
          } else if (n < GROUP) {
            low = middle + 1;
          } else {
            open = 0;
            most = middle;
          }
          if (open) searching = 1;
        }
        BARRIER();
        go_on = searching;
      }
      BARRIER();
      if (lane == 0) counts[which] = 0;
      BARRIER();
      collect(distances, hits, counts + which, lane, most);
      BARRIER();
    }

    const int n = counts[which], found = MIN(n, GROUP);
    // In order, in the place of the bins: there is room for more than GROUP.
    for (int i = lane; i < n; i += LANES) {
      const uint key = hits[i];
      int place = 0;
      for (int j = 0; j < n; j++) place += hits[j] < key ? 1 : 0;
      if (place < GROUP) bins[place] = key;
    }
    BARRIER();
#if LEAST
    // Behind the least, those up to `spread` / 256 times as far as the last of them.
    if (lane == 0) counts[which] = 0;
    BARRIER();
    if (found > LEAST) {
      const uint far = (bins[LEAST - 1] >> 16) * (uint)spread;
      int near = 0;
      for (int i = LEAST + lane; i < found; i += LANES) near += (bins[i] >> 16) << 8 <= far ? 1 : 0;
      if (near > 0) LOCAL_ADD(counts + which, near);
    }
    BARRIER();
    const int group = found > LEAST ? MIN(found, LEAST + (counts[which] + 8) / 16 * 16) : found;
#else
    int group = 1;
    while (2 * group <= found) group *= 2;
#endif
    const int list_row = KEPT ? first_row + band_row : band_row;
#if LIST
    {
#else
    if (first_column + which < columns) {
#endif
      GLOBAL ushort* out = matches + (list_row * columns + column) * GROUP;
      for (int i = lane; i < GROUP; i += LANES) {
        const uint key = i < group ? bins[i] : 0;
        out[i] = (ushort)(i >= group ? NO_MATCH : key == 0 ? CENTRE_NUMBER : (key & 0xffff) - 1);
      }
    }
  }
}

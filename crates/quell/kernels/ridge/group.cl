// A round over groups of patches of 4 x 4 pixels (`ridge::Plan`): every patch of z by one ridge regression on those of x,
// added up with the weight of its group.
//
// A work-group takes BLOCK_X x BLOCK_Y references, TEAMS at a time, 16 work-items each. Values are less those of the
// reference patch, so that sums of squares lose nothing when the mean is taken out of them. Stages of a team:
//   places    of the patches, and how much noise z has left in them
//   Gram      X'X and X'(Z - X), eight patches at a time in local memory, a block of 4 x 4 of both to a work-item
//   inverse   by sweeps without pivots; the matrix stays symmetric, so that a work-item with row i sends one number
//   map       Q = (X'X + D)^-1 X'Z = I - D A + A X'(Z - X): what floats lose of the inverse A counts as much as Z is off X
//   estimate  X Q, sixteen patches at a time, a row of four patches to a work-item, added to a tile in local memory
// The tile has integers, which every device adds up atomically; it goes to the planes once.
//
// Where the picture is an average of frames, `frames` says of how many at every pixel; rows are `count_pitch` apart.
//
// Options: STEP, RADIUS, GROUP, BLOCK_X, BLOCK_Y, TEAMS, MARGIN, COUNTED.

#define SIDE (2 * RADIUS + 1)
#define NO_MATCH 0xffff
#define LANES 16
#define ITEMS (LANES * TEAMS)
#define BATCHES (BLOCK_X * BLOCK_Y / TEAMS)
#define PLACES ((GROUP + 15) / 16 * 16)
#define TILE_COLUMNS ((BLOCK_X - 1) * STEP + 2 * RADIUS + 4)
#define TILE_ROWS ((BLOCK_Y - 1) * STEP + 2 * RADIUS + 4)
#define TILE_PITCH (TILE_COLUMNS | 1)
// Rows of matrices, and teams: neighbours meet in no bank.
#define ROW 20
#define TEAM (16 * ROW + 16)

// The element of a place in a plane, from the tile's first one on.
#define PLANE_OFFSET(place) (((place) >> 8) * pitch + ((place) & 255))

KERNEL(ITEMS) ridge_group(GLOBAL const float* RESTRICT x, GLOBAL const float* RESTRICT z,
                          GLOBAL const float* RESTRICT residue, GLOBAL const ushort* RESTRICT lists,
                          GLOBAL float* numerators, GLOBAL float* all, GLOBAL float* fresh, int columns, int last_x,
                          int last_y, int offset, int first_row, int end_row, int width, int height, int pitch,
                          float sigma, float tau, float lambda, float mu, int first
#if COUNTED
                          ,
                          GLOBAL const float* RESTRICT frames, int first_count, int count_pitch
#endif
) {
  LOCAL int tile[TILE_ROWS * TILE_PITCH];
  ALIGN16 LOCAL float all_patches[TEAMS * TEAM];
  ALIGN16 LOCAL float all_matrices[TEAMS * TEAM];
  ALIGN16 LOCAL float all_means[TEAMS * 2 * LANES];
  LOCAL ushort all_places[TEAMS * PLACES];
  LOCAL int counts[TEAMS];
  const int lane = ITEM % LANES, team = ITEM / LANES;
  LOCAL_PTR float* patches = all_patches + team * TEAM;
  LOCAL_PTR float* matrix = all_matrices + team * TEAM;
  LOCAL_PTR float* means = all_means + team * 2 * LANES;
  LOCAL_PTR ushort* places = all_places + team * PLACES;
  const int tile_x = grid_at(GROUP_X * BLOCK_X, STEP, offset, last_x) - RADIUS;
  const int tile_y = grid_at(first_row + GROUP_Y * BLOCK_Y, STEP, offset, last_y) - RADIUS;
  const int corner = plane_at(tile_x, tile_y, pitch);
  const int pixel = lane / 4 * pitch + lane % 4;
  // The block of a work-item: every other bit, so that one of two neighbours loads what the other does.
  const int a = (lane >> 1 & 1) | (lane >> 2 & 2), b = (lane & 1) | (lane >> 1 & 2);

  // The largest z around here says how fine the integers of the tile can be: a pixel may be in 16 patches of every
  // group, with a weight of up to 1.
  float largest = 1.0f;
  for (int i = ITEM; i < TILE_ROWS * TILE_COLUMNS; i += ITEMS) {
    const int row = i / TILE_COLUMNS, column = i % TILE_COLUMNS;
    tile[row * TILE_PITCH + column] = 0;
    const int px = MIN(MAX(tile_x + column, 0), width - 1), py = MIN(MAX(tile_y + row, 0), height - 1);
    const float value = z[plane_at(px, py, pitch)];
    largest = FMAX(largest, FMAX(value, -value));
  }
  all_patches[ITEM] = largest;
  BARRIER();
  for (int i = 0; i < ITEMS; i++) largest = FMAX(largest, all_patches[i]);
  const float scale = (float)(1 << 30) / (16.0f * BLOCK_X * BLOCK_Y) / largest;

  NO_UNROLL for (int batch = 0; batch < BATCHES; batch++) {
    const int index = batch * TEAMS + team;
    const int column = GROUP_X * BLOCK_X + index % BLOCK_X, row = first_row + GROUP_Y * BLOCK_Y + index / BLOCK_X;
    const bool there = column < columns && row < end_row;
    const int own_x = grid_at(column, STEP, offset, last_x) - tile_x;
    const int own_y = grid_at(row, STEP, offset, last_y) - tile_y;
    const int own = there ? own_y << 8 | own_x : RADIUS << 8 | RADIUS;
    GLOBAL const ushort* list = lists + (there ? row * columns + column : 0) * GROUP;

    // Behind the group comes the reference patch again and again: less itself, that is nothing.
    BARRIER();
    if (lane == 0) counts[team] = 0;
    BARRIER();
    int members = 0;
    float noise = 0;
    for (int i = lane; i < PLACES; i += LANES) {
      const int number = there && i < GROUP ? list[i] : NO_MATCH;
      const bool member = number != NO_MATCH;
      const int place = member ? (number / SIDE + own_y - RADIUS) << 8 | (number % SIDE + own_x - RADIUS) : own;
      places[i] = (ushort)place;
      members += member ? 1 : 0;
      if (member && !first) noise += residue[corner + PLANE_OFFSET(place)];
    }
    if (members > 0) LOCAL_ADD(counts + team, members);
    patches[lane] = noise;
    BARRIER();
    const int k = counts[team];
    int most = 0;
    UNROLL for (int i = 0; i < TEAMS; i++) most = MAX(most, counts[i]);
    const float count = (float)MAX(k, 1), share = 1.0f / count;
    noise = 0;
    UNROLL for (int i = 0; i < LANES; i++) noise += patches[i];
    const float x0 = x[corner + PLANE_OFFSET(own) + pixel], z0 = z[corner + PLANE_OFFSET(own) + pixel];

    float gram[16], cross[16], mean_x = 0, mean_z = 0;
    UNROLL for (int i = 0; i < 16; i++) gram[i] = cross[i] = 0;
    NO_UNROLL for (int start = 0; start < most; start += 8) {
      float xs[8], zs[8];
      UNROLL for (int p = 0; p < 8; p++) {
        const int place = places[start + p], at = corner + PLANE_OFFSET(place) + pixel;
        xs[p] = x[at];
        zs[p] = z[at];
      }
      BARRIER();
      UNROLL for (int p = 0; p < 8; p++) {
        const float vx = xs[p] - x0, vz = zs[p] - z0 - vx;
        patches[p * 32 + lane] = vx;
        patches[p * 32 + 16 + lane] = vz;
        mean_x += vx;
        mean_z += vz;
      }
      BARRIER();
      UNROLL for (int p = 0; p < 8; p++) {
        const float4 left = LOAD4(patches + p * 32 + 4 * a), right = LOAD4(patches + p * 32 + 4 * b);
        const float4 other = LOAD4(patches + p * 32 + 16 + 4 * b);
        const float l[4] = {left.x, left.y, left.z, left.w}, r[4] = {right.x, right.y, right.z, right.w};
        const float o[4] = {other.x, other.y, other.z, other.w};
        UNROLL for (int i = 0; i < 16; i++) {
          gram[i] = FMA(l[i / 4], r[i % 4], gram[i]);
          cross[i] = FMA(l[i / 4], o[i % 4], cross[i]);
        }
      }
    }
    mean_x *= share;
    mean_z *= share;
    means[lane] = mean_x;
    means[LANES + lane] = mean_z;
    UNROLL for (int i = 0; i < 16; i++) matrix[(4 * a + i / 4) * ROW + 4 * b + i % 4] = gram[i];
    BARRIER();

    // Row `lane` of the Gram matrix of patches without their mean.
    float own_row[16], diagonal = 0;
    UNROLL for (int j = 0; j < 16; j++) {
      own_row[j] = FMA(-count * mean_x, means[j], matrix[j * ROW + lane]);
      diagonal = j == lane ? own_row[j] : diagonal;
    }
    patches[lane] = diagonal;
    BARRIER();
    UNROLL for (int i = 0; i < 16; i++) {
      const int r = 4 * a + i / 4, c = 4 * b + i % 4;
      matrix[r * ROW + c] = FMA(-count * means[r], means[LANES + c], cross[i]);
    }
    float trace = 0;
    UNROLL for (int i = 0; i < LANES; i++) trace += patches[i];
#if COUNTED
    // The middle of the reference patch speaks for the group.
    const int middle = (tile_y + own_y + 2) * count_pitch + tile_x + own_x + 2;
    const float deviation = sigma * RSQRT(frames[first_count + middle]);
#else
    const float deviation = sigma;
#endif
    const float t = FMAX(first ? 1.0f : 1.0f - SQRT(noise * share) / deviation, tau + 1e-6f);
    const float left = deviation * FMAX(t, 0.03f);
    const float ridge = FMAX((16.0f * lambda + mu * count) * left * left, FMAX(1e-6f * trace, 1e-30f));
    UNROLL for (int j = 0; j < 16; j++) own_row[j] += j == lane ? ridge : 0.0f;

    // Sweeps: what comes out is less the inverse.
    UNROLL for (int p = 0; p < 16; p++) {
      LOCAL_PTR float* sent = patches + 16 + 16 * (p % 2);
      sent[lane] = own_row[p];
      BARRIER();
      float line[16];
      UNROLL for (int j = 0; j < 4; j++) {
        const float4 four = LOAD4(sent + 4 * j);
        line[4 * j] = four.x, line[4 * j + 1] = four.y, line[4 * j + 2] = four.z, line[4 * j + 3] = four.w;
      }
      const float pivot = DIVIDE(1.0f, line[p]), factor = lane == p ? -pivot : own_row[p] * pivot;
      UNROLL for (int j = 0; j < 16; j++) {
        own_row[j] = j == p ? factor : FMA(-factor, line[j], lane == p ? 0.0f : own_row[j]);
      }
    }
    float variance = 0;
    UNROLL for (int j = 0; j < 16; j++) {
      const float part = FMA(ridge, own_row[j], j == lane ? 1.0f : 0.0f);
      variance = FMA(part, part, variance);
    }
    patches[lane] = variance;

    float map[16];
    UNROLL for (int j = 0; j < 16; j++) map[j] = 0;
    UNROLL for (int i = 0; i < 16; i++) {
      UNROLL for (int j = 0; j < 4; j++) {
        const float4 four = LOAD4(matrix + i * ROW + 4 * j);
        map[4 * j] = FMA(own_row[i], four.x, map[4 * j]);
        map[4 * j + 1] = FMA(own_row[i], four.y, map[4 * j + 1]);
        map[4 * j + 2] = FMA(own_row[i], four.z, map[4 * j + 2]);
        map[4 * j + 3] = FMA(own_row[i], four.w, map[4 * j + 3]);
      }
    }
    BARRIER();
    variance = 0;
    UNROLL for (int i = 0; i < LANES; i++) variance += patches[i];
    const float weight = count / (GROUP * (1.0f + variance));
    const float kept = weight * (1.0f - FMIN(tau / t, 0.999f));
    UNROLL for (int j = 0; j < 16; j++) {
      const float own = FMA(ridge, own_row[j], j == lane ? 1.0f : 0.0f);
      matrix[lane * ROW + j] = kept * scale * (own - map[j]);
    }
    means[LANES + lane] = kept * scale * (z0 + mean_x + mean_z);
    for (int i = lane; i < k; i += LANES) {
      const int at = corner + PLANE_OFFSET(places[i]);
      GLOBAL_ADD(all + at, weight);
      GLOBAL_ADD(fresh + at, kept);
    }

    NO_UNROLL for (int start = 0; start < most; start += 16) {
      float xs[16];
      UNROLL for (int p = 0; p < 16; p++) {
        const int place = places[start + p];
        xs[p] = x[corner + PLANE_OFFSET(place) + pixel];
      }
      BARRIER();
      UNROLL for (int p = 0; p < 16; p++) patches[lane * ROW + p] = xs[p] - (x0 + mean_x);
      BARRIER();
      float estimate[16];
      UNROLL for (int i = 0; i < 16; i++) estimate[i] = means[LANES + 4 * b + i % 4];
      UNROLL for (int i = 0; i < 16; i++) {
        const float4 four = LOAD4(patches + i * ROW + 4 * a), columns4 = LOAD4(matrix + i * ROW + 4 * b);
        const float v[4] = {four.x, four.y, four.z, four.w};
        const float c[4] = {columns4.x, columns4.y, columns4.z, columns4.w};
        UNROLL for (int j = 0; j < 16; j++) estimate[j] = FMA(v[j / 4], c[j % 4], estimate[j]);
      }
      UNROLL for (int p = 0; p < 4; p++) {
        const int member = start + 4 * a + p;
        if (member < k) {
          const int place = places[member];
          LOCAL_PTR int* to = tile + ((place >> 8) + b) * TILE_PITCH + (place & 255);
          UNROLL for (int i = 0; i < 4; i++) LOCAL_ADD(to + i, ROUND(estimate[4 * p + i]));
        }
      }
    }
  }
  BARRIER();
  const float unit = 1.0f / scale;
  for (int i = ITEM; i < TILE_ROWS * TILE_COLUMNS; i += ITEMS) {
    const int row = i / TILE_COLUMNS, column = i % TILE_COLUMNS, sum = tile[row * TILE_PITCH + column];
    if (sum != 0) GLOBAL_ADD(numerators + corner + row * pitch + column, unit * (float)sum);
  }
}

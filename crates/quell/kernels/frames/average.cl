// The average over frames along the motion of blocks (`Averaging`): what is compared when a frame comes, then for every other
// frame of the window the motion of blocks and the sums. Behind the planes of a frame are means of luma, the same as whole
// numbers of 16 bits, and sums of these over squares, with as many squares around the picture as blocks reach; behind the
// planes of the average is the number of frames of each pixel. Planes are floats, `width` x `height`, without padding.
//
// Options: BLOCK, AROUND, SCALE, FINE, MOST, BOX: the constants of `Averaging`; COARSE steps either way; CHANNELS; EFFECTIVE:
// the number is that of frames of equal weight with as little noise, and the sums of squared weights are behind it.

#define FRAME_W 64
#define FRAME_H 16
#define FRAME_ITEMS 256

// Beyond its borders a picture goes on with the samples of its edge.
FN int inside(int i, int n) { return MIN(MAX(i, 0), n - 1); }

// The whole numbers of a frame.
FN GLOBAL ushort* wholes(GLOBAL const float* frame, int pixels) {
  return (GLOBAL ushort*)(frame + (CHANNELS + 1) * pixels);
}

// The sums of a frame.
FN GLOBAL int* squares(GLOBAL const float* frame, int pixels) {
  return (GLOBAL int*)(frame + (CHANNELS + 1) * pixels + (pixels + 1) / 2);
}

// Squares in a row of sums.
FN int squares_wide(int width) { return ((width + BLOCK - 1) / BLOCK * BLOCK + 2 * AROUND) / SCALE + 2 * COARSE; }

// The mean of luma over 3 x 3 pixels, and the same as a whole number.
KERNEL(FRAME_ITEMS) frames_means(GLOBAL float* RESTRICT frame, int width, int height, float quanta) {
  GLOBAL float* means = frame + CHANNELS * width * height;
  GLOBAL ushort* whole = wholes(frame, width * height);
  for (int i = ITEM; i < FRAME_W * FRAME_H; i += FRAME_ITEMS) {
    const int x = GROUP_X * FRAME_W + i % FRAME_W, y = GROUP_Y * FRAME_H + i / FRAME_W;
    if (x >= width || y >= height) continue;
    // clang-format off: it misplaces the first UNROLL of a block
    float sum = 0.0f;
    UNROLL for (int j = -1; j <= 1; j++)
      UNROLL for (int k = -1; k <= 1; k++) sum += frame[inside(y + j, height) * width + inside(x + k, width)];
    // clang-format on
    const float mean = sum * (1.0f / 9.0f);
    means[y * width + x] = mean;
    whole[y * width + x] = (ushort)FMIN(FMAX(floor(FMA(quanta, mean, 0.5f)), 0.0f), (float)MOST);
  }
}

// Sums of whole numbers over squares, `count` of them.
KERNEL(FRAME_ITEMS) frames_squares(GLOBAL float* RESTRICT frame, int width, int height, int count) {
  GLOBAL const ushort* whole = wholes(frame, width * height);
  const int i = GROUP_X * FRAME_ITEMS + ITEM, wide = squares_wide(width);
  if (i >= count) return;
  const int y = SCALE * (i / wide - COARSE) - AROUND, x = SCALE * (i % wide - COARSE) - AROUND;
  int sum = 0;
  UNROLL for (int k = 0; k < SCALE * SCALE; k++) sum +=
      whole[inside(y + k / SCALE, height) * width + inside(x + k % SCALE, width)];
  squares(frame, width * height)[i] = sum;
}

#define SIDE (BLOCK + 2 * AROUND)
#define SIDE_THERE (SIDE + 2 * FINE)
#define SMALL (SIDE / SCALE)
#define SMALL_THERE (SMALL + 2 * COARSE)
#define STEPS (2 * COARSE + 1)
#define NEAR_STEPS (2 * FINE + 1)
#define NEAR (NEAR_STEPS * NEAR_STEPS)
// Rows have an odd number of places, so that work-items on neighbouring rows do not meet.
#define ROW (SIDE + 1)
#define ROW_THERE (SIDE_THERE + 1)
#define ROW_SMALL (SMALL + 1)
#define COSTS (NEAR * ROW > STEPS * STEPS * ROW_SMALL ? NEAR * ROW : STEPS * STEPS * ROW_SMALL)
#define PARTS 4
// Of a block: rows, columns, brightness.
#define BECOME (2 + CHANNELS)
#define FARTHEST 0x7fffffff

FN int apart(int a, int b) { return a > b ? a - b : b - a; }

// The first of the least costs, in the first places.
FN void least(LOCAL_PTR int* costs, LOCAL_PTR int* steps, int count) {
  for (int n = count / 2; n > 0; n /= 2) {
    BARRIER();
    if (ITEM < n) {
      const int cost = costs[ITEM + n], step = steps[ITEM + n];
      if (cost < costs[ITEM] || (cost == costs[ITEM] && step < steps[ITEM])) costs[ITEM] = cost, steps[ITEM] = step;
    }
  }
  BARRIER();
}

// How much of a change of the mean of a block counts.
FN float change(float mean, float faint) { return mean * FMAX(0.0f, 1.0f - faint / (mean * mean)); }

// What has become of a block in another frame: how many rows and columns it has moved and, as floats, how much brighter it is in
// every plane. A work-group takes one block; a work-item takes a row of it, and tries all steps to the side.
KERNEL(FRAME_ITEMS) frames_motion(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                                   GLOBAL int* RESTRICT motion, int width, int height, int step_cost, int alike, float mean,
                                   float faint) {
  GLOBAL int* to = motion + BECOME * (GROUP_Y * GROUPS_X + GROUP_X);
  LOCAL int block[SIDE * ROW];
  LOCAL int around[SIDE_THERE * ROW_THERE];
  LOCAL int costs[COSTS];
  LOCAL int steps[FRAME_ITEMS];
  LOCAL int total, total_apart;
#if CHANNELS > 1
  LOCAL float changes[FRAME_ITEMS];
#endif
  const int x0 = GROUP_X * BLOCK - AROUND, y0 = GROUP_Y * BLOCK - AROUND;
  GLOBAL const ushort* whole = wholes(here, width * height);
  for (int i = ITEM; i < SIDE * SIDE; i += FRAME_ITEMS)
    block[i / SIDE * ROW + i % SIDE] = whole[inside(y0 + i / SIDE, height) * width + inside(x0 + i % SIDE, width)];
  if (ITEM == 0) total = 0, total_apart = 0;
  int cy = 0, cx = 0;
#if COARSE > 0
  LOCAL int small[SMALL * ROW_SMALL];
  LOCAL int small_there[SMALL_THERE * SMALL_THERE];
  const int wide = squares_wide(width), corner = BLOCK / SCALE * (GROUP_Y * wide + GROUP_X);
  GLOBAL const int* sums = squares(here, width * height) + corner + COARSE * (wide + 1);
  for (int i = ITEM; i < SMALL * SMALL; i += FRAME_ITEMS)
    small[i / SMALL * ROW_SMALL + i % SMALL] = sums[i / SMALL * wide + i % SMALL];
  sums = squares(there, width * height) + corner;
  for (int i = ITEM; i < SMALL_THERE * SMALL_THERE; i += FRAME_ITEMS)
    small_there[i] = sums[i / SMALL_THERE * wide + i % SMALL_THERE];
  BARRIER();
  for (int i = ITEM; i < STEPS * SMALL; i += FRAME_ITEMS) {
    const int dy = i / SMALL, y = i % SMALL;
    int row[SMALL_THERE], sum[STEPS];
    UNROLL for (int x = 0; x < SMALL_THERE; x++) row[x] = small_there[(y + dy) * SMALL_THERE + x];
    UNROLL for (int dx = 0; dx < STEPS; dx++) sum[dx] = 0;
    UNROLL for (int x = 0; x < SMALL; x++) {
      const int v = small[y * ROW_SMALL + x];
      UNROLL for (int dx = 0; dx < STEPS; dx++) sum[dx] += apart(row[x + dx], v);
    }
    UNROLL for (int dx = 0; dx < STEPS; dx++) costs[(dy * STEPS + dx) * ROW_SMALL + y] = sum[dx];
  }
  BARRIER();
  int near = FARTHEST, chosen = 0;
  for (int s = ITEM; s < STEPS * STEPS; s += FRAME_ITEMS) {
    int cost = step_cost * SCALE * (apart(s / STEPS, COARSE) + apart(s % STEPS, COARSE));
    UNROLL for (int y = 0; y < SMALL; y++) cost += costs[s * ROW_SMALL + y];
    if (cost < near) near = cost, chosen = s;
  }
  BARRIER();
  costs[ITEM] = near, steps[ITEM] = chosen;
  least(costs, steps, FRAME_ITEMS);
  cy = SCALE * (steps[0] / STEPS - COARSE), cx = SCALE * (steps[0] % STEPS - COARSE);
#endif
  whole = wholes(there, width * height);
  for (int i = ITEM; i < SIDE_THERE * SIDE_THERE; i += FRAME_ITEMS) {
    const int y = y0 + cy - FINE + i / SIDE_THERE, x = x0 + cx - FINE + i % SIDE_THERE;
    around[i / SIDE_THERE * ROW_THERE + i % SIDE_THERE] = whole[inside(y, height) * width + inside(x, width)];
  }
  BARRIER();
#if COARSE > 0
  if (ITEM < NEAR_STEPS * SIDE) {
    const int dy = ITEM / SIDE, y = ITEM % SIDE;
    int row[SIDE_THERE], sum[NEAR_STEPS];
    UNROLL for (int x = 0; x < SIDE_THERE; x++) row[x] = around[(y + dy) * ROW_THERE + x];
    UNROLL for (int dx = 0; dx < NEAR_STEPS; dx++) sum[dx] = 0;
    UNROLL for (int x = 0; x < SIDE; x++) {
      const int v = block[y * ROW + x];
      UNROLL for (int dx = 0; dx < NEAR_STEPS; dx++) sum[dx] += apart(row[x + dx], v);
    }
    UNROLL for (int dx = 0; dx < NEAR_STEPS; dx++) costs[(dy * NEAR_STEPS + dx) * ROW + y] = sum[dx];
  }
  BARRIER();
  // Several work-items share a step.
  int part = 0;
  if (ITEM < NEAR * PARTS) {
    LOCAL_PTR const int* p = costs + ITEM / PARTS * ROW + ITEM % PARTS;
    UNROLL for (int y = 0; y < SIDE; y += PARTS) part += p[y];
  }
  steps[ITEM] = part;
  BARRIER();
  near = FARTHEST;
  if (ITEM < NEAR) {
    near = step_cost * (apart(cy + ITEM / NEAR_STEPS, FINE) + apart(cx + ITEM % NEAR_STEPS, FINE));
    UNROLL for (int k = 0; k < PARTS; k++) near += steps[ITEM * PARTS + k];
  }
  BARRIER();
  costs[ITEM] = near, steps[ITEM] = ITEM;
  least(costs, steps, FRAME_ITEMS);
  const int step = steps[0];
#else
  const int step = NEAR / 2;
#endif
  const int dy = step / NEAR_STEPS, dx = step % NEAR_STEPS;
  int more = 0;
  for (int i = ITEM; i < SIDE * SIDE; i += FRAME_ITEMS)
    more += around[(i / SIDE + dy) * ROW_THERE + i % SIDE + dx] - block[i / SIDE * ROW + i % SIDE];
  LOCAL_ADD(&total, more);
  BARRIER();
  const float brighter = change((float)total * mean, faint);
  // Rounded down, also below 0.
  const int without = ((total + SIDE * SIDE / 2) + (SIDE * SIDE << 12)) / (SIDE * SIDE) - (1 << 12);
  int other = 0;
  for (int i = ITEM; i < SIDE * SIDE; i += FRAME_ITEMS)
    other += apart(around[(i / SIDE + dy) * ROW_THERE + i % SIDE + dx] - without, block[i / SIDE * ROW + i % SIDE]);
  LOCAL_ADD(&total_apart, other);
  BARRIER();
  const int changed = brighter != 0.0f && total_apart <= alike;
  if (ITEM == 0) {
    to[0] = cy + dy - FINE, to[1] = cx + dx - FINE;
    ((GLOBAL float*)to)[2] = changed ? brighter : 0.0f;
  }
#if CHANNELS > 1
  // Mostly nothing has changed.
  if (!changed) {
    if (ITEM > 0 && ITEM < CHANNELS) ((GLOBAL float*)to)[2 + ITEM] = 0.0f;
    return;
  }
  for (int c = 1; c < CHANNELS; c++) {
    float sum = 0.0f;
    for (int i = ITEM; i < SIDE * SIDE; i += FRAME_ITEMS) {
      const int y = y0 + i / SIDE, x = x0 + i % SIDE;
      const int a = inside(y, height) * width + inside(x, width);
      const int b = inside(y + cy + dy - FINE, height) * width + inside(x + cx + dx - FINE, width);
      sum += there[c * width * height + b] - here[c * width * height + a];
    }
    changes[ITEM] = sum;
    for (int n = FRAME_ITEMS / 2; n > 0; n /= 2) {
      BARRIER();
      if (ITEM < n) changes[ITEM] += changes[ITEM + n];
    }
    if (ITEM == 0) ((GLOBAL float*)to)[2 + c] = change(changes[0] * (1.0f / (float)(SIDE * SIDE)), faint);
    BARRIER();
  }
#endif
}

#define BOX_W (FRAME_W + 2 * BOX)
#define BOX_H (FRAME_H + 2 * BOX)

// What has become of the block of a pixel.
FN GLOBAL const int* block_of(GLOBAL const int* RESTRICT motion, int y, int x, int width) {
  return motion + BECOME * (y / BLOCK * ((width + BLOCK - 1) / BLOCK) + x / BLOCK);
}

// Where it has moved the pixel.
FN int moved(GLOBAL const int* step, int y, int x, int width, int height) {
  return inside(y + step[0], height) * width + inside(x + step[1], width);
}

// How much brighter it has become in a plane.
FN float brighter(GLOBAL const int* step, int c) { return ((GLOBAL const float*)step)[2 + c]; }

// Adds a frame to the sums, which the first begins and the last ends.
KERNEL(FRAME_ITEMS) frames_average(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                                    GLOBAL const int* RESTRICT motion, GLOBAL float* RESTRICT sums, int width, int height,
                                    int first, int last, float noise, float slope) {
  LOCAL float tile[BOX_W * BOX_H];
  LOCAL float rows[FRAME_W * BOX_H];
  const int x0 = GROUP_X * FRAME_W, y0 = GROUP_Y * FRAME_H, plane = width * height;
  for (int i = ITEM; i < BOX_W * BOX_H; i += FRAME_ITEMS) {
    const int x = inside(x0 - BOX + i % BOX_W, width), y = inside(y0 - BOX + i / BOX_W, height);
    GLOBAL const int* step = block_of(motion, y, x, width);
    const float mean = there[CHANNELS * plane + moved(step, y, x, width, height)];
    const float d = mean - here[CHANNELS * plane + y * width + x] - brighter(step, 0);
    tile[i] = d * d;
  }
  BARRIER();
  for (int i = ITEM; i < FRAME_W * BOX_H; i += FRAME_ITEMS) {
    LOCAL_PTR const float* p = tile + (i / FRAME_W * BOX_W + i % FRAME_W);
    float sum = p[0];
    UNROLL for (int k = 1; k <= 2 * BOX; k++) sum += p[k];
    rows[i] = sum;
  }
  BARRIER();
  for (int i = ITEM; i < FRAME_W * FRAME_H; i += FRAME_ITEMS) {
    const int x = x0 + i % FRAME_W, y = y0 + i / FRAME_W, p = y * width + x;
    float e = rows[i];
    UNROLL for (int k = 1; k <= 2 * BOX; k++) e += rows[i + k * FRAME_W];
    if (x >= width || y >= height) continue;
    const float root = FMA(slope, FMAX(0.0f, e * (1.0f / (float)((2 * BOX + 1) * (2 * BOX + 1))) - noise), 1.0f);
    const float weight = 1.0f / (root * root);
    GLOBAL const int* step = block_of(motion, y, x, width);
    const int from = moved(step, y, x, width, height);
    const float n = weight + (first ? 1.0f : sums[CHANNELS * plane + p]);
#if EFFECTIVE
    const float squares = FMA(weight, weight, first ? 1.0f : sums[(CHANNELS + 1) * plane + p]);
    sums[(CHANNELS + 1) * plane + p] = squares;
    sums[CHANNELS * plane + p] = last ? n * n / squares : n;
#else
    sums[CHANNELS * plane + p] = n;
#endif
    UNROLL for (int c = 0; c < CHANNELS; c++) {
      const float sample = there[c * plane + from] - brighter(step, c);
      const float total = FMA(weight, sample, first ? here[c * plane + p] : sums[c * plane + p]);
      sums[c * plane + p] = last ? total / n : total;
    }
  }
}

// A frame that has no others is its own average.
KERNEL(FRAME_ITEMS) frames_alone(GLOBAL const float* RESTRICT here, GLOBAL float* RESTRICT sums, int pixels) {
  const int i = GROUP_X * FRAME_ITEMS + ITEM;
  if (i < CHANNELS * pixels) sums[i] = here[i];
  if (i < pixels) sums[CHANNELS * pixels + i] = 1.0f;
}

// The average over frames along the motion of blocks (`Averaging`): means of luma when a frame comes, then for every other
// frame of the window the motion of blocks and the sums. Behind the planes of a frame are its means, behind those of the
// average the number of frames of each pixel. Planes are floats, `width` x `height`, without padding.
//
// Options: BLOCK, AROUND, SCALE, FINE, MOST, BOX: the constants of `Averaging`; COARSE steps either way; CHANNELS; EFFECTIVE:
// the number is that of frames of equal weight with as little noise, and the sums of squared weights are behind it.

#define FRAME_W 64
#define FRAME_H 16
#define FRAME_ITEMS 256

// Beyond its borders a picture goes on with the samples of its edge.
FN int inside(int i, int n) { return MIN(MAX(i, 0), n - 1); }

// The mean of luma over 3 x 3 pixels.
KERNEL(FRAME_ITEMS) frames_means(GLOBAL float* RESTRICT frame, int width, int height) {
  GLOBAL float* means = frame + CHANNELS * width * height;
  for (int i = ITEM; i < FRAME_W * FRAME_H; i += FRAME_ITEMS) {
    const int x = GROUP_X * FRAME_W + i % FRAME_W, y = GROUP_Y * FRAME_H + i / FRAME_W;
    if (x >= width || y >= height) continue;
    // clang-format off: it misplaces the first UNROLL of a block
    float sum = 0.0f;
    UNROLL for (int j = -1; j <= 1; j++)
      UNROLL for (int k = -1; k <= 1; k++) sum += frame[inside(y + j, height) * width + inside(x + k, width)];
    // clang-format on
    means[y * width + x] = sum * (1.0f / 9.0f);
  }
}

#define SIDE (BLOCK + 2 * AROUND)
#define SMALL (SIDE / SCALE)
#define SMALL_THERE (SMALL + 2 * COARSE)
#define STEPS (2 * COARSE + 1)
#define NEAR_STEPS (2 * FINE + 1)
#define NEAR (NEAR_STEPS * NEAR_STEPS)
#define SIDE_THERE (SIDE + 2 * FINE)
#define PARTS 4
#define FARTHEST 0x7fffffff

// A mean as a whole number.
FN int whole(GLOBAL const float* RESTRICT means, int y, int x, int width, int height, float quanta) {
  const float v = floor(FMA(quanta, means[inside(y, height) * width + inside(x, width)], 0.5f));
  return (int)FMIN(FMAX(v, 0.0f), (float)MOST);
}

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

// Where a block is in another frame: rows and columns, behind one another. A work-group takes one block.
KERNEL(FRAME_ITEMS) frames_motion(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                                   GLOBAL int* RESTRICT motion, int width, int height, int step_cost, float quanta) {
  GLOBAL int* to = motion + 2 * (GROUP_Y * GROUPS_X + GROUP_X);
#if COARSE == 0
  if (ITEM < 2) to[ITEM] = 0;
#else
  LOCAL int block[SIDE * SIDE];
  LOCAL int around[SIDE_THERE * SIDE_THERE];
  LOCAL int small[SMALL * SMALL];
  LOCAL int small_there[SMALL_THERE * SMALL_THERE];
  LOCAL int costs[FRAME_ITEMS];
  LOCAL int steps[FRAME_ITEMS];
  const int x0 = GROUP_X * BLOCK - AROUND, y0 = GROUP_Y * BLOCK - AROUND;
  here += CHANNELS * width * height, there += CHANNELS * width * height;
  for (int i = ITEM; i < SIDE * SIDE; i += FRAME_ITEMS)
    block[i] = whole(here, y0 + i / SIDE, x0 + i % SIDE, width, height, quanta);
  for (int i = ITEM; i < SMALL_THERE * SMALL_THERE; i += FRAME_ITEMS) {
    const int y = y0 + SCALE * (i / SMALL_THERE - COARSE), x = x0 + SCALE * (i % SMALL_THERE - COARSE);
    int sum = 0;
    UNROLL for (int k = 0; k < SCALE * SCALE; k++) sum += whole(there, y + k / SCALE, x + k % SCALE, width, height, quanta);
    small_there[i] = sum;
  }
  BARRIER();
  for (int i = ITEM; i < SMALL * SMALL; i += FRAME_ITEMS) {
    LOCAL_PTR const int* p = block + SCALE * (i / SMALL * SIDE + i % SMALL);
    int sum = 0;
    UNROLL for (int k = 0; k < SCALE * SCALE; k++) sum += p[k / SCALE * SIDE + k % SCALE];
    small[i] = sum;
  }
  BARRIER();
  int best = FARTHEST, chosen = 0;
  for (int s = ITEM; s < STEPS * STEPS; s += FRAME_ITEMS) {
    const int dy = s / STEPS - COARSE, dx = s % STEPS - COARSE;
    LOCAL_PTR const int* p = small_there + (dy + COARSE) * SMALL_THERE + dx + COARSE;
    int cost = step_cost * SCALE * (apart(dy, 0) + apart(dx, 0));
    for (int i = 0; i < SMALL * SMALL; i++) cost += apart(small[i], p[i / SMALL * SMALL_THERE + i % SMALL]);
    if (cost < best) best = cost, chosen = s;
  }
  costs[ITEM] = best, steps[ITEM] = chosen;
  least(costs, steps, FRAME_ITEMS);
  const int cy = SCALE * (steps[0] / STEPS - COARSE), cx = SCALE * (steps[0] % STEPS - COARSE);
  for (int i = ITEM; i < SIDE_THERE * SIDE_THERE; i += FRAME_ITEMS)
    around[i] = whole(there, y0 + cy - FINE + i / SIDE_THERE, x0 + cx - FINE + i % SIDE_THERE, width, height, quanta);
  BARRIER();
  // Several work-items share a step.
  int sum = 0;
  const int step = ITEM / PARTS, part = ITEM % PARTS;
  if (step < NEAR) {
    LOCAL_PTR const int* p = around + step / NEAR_STEPS * SIDE_THERE + step % NEAR_STEPS;
    for (int y = part; y < SIDE; y += PARTS)
      for (int x = 0; x < SIDE; x++) sum += apart(block[y * SIDE + x], p[y * SIDE_THERE + x]);
  }
  costs[ITEM] = sum;
  BARRIER();
  best = FARTHEST;
  if (ITEM < NEAR) {
    const int dy = cy + ITEM / NEAR_STEPS - FINE, dx = cx + ITEM % NEAR_STEPS - FINE;
    best = step_cost * (apart(dy, 0) + apart(dx, 0));
    UNROLL for (int k = 0; k < PARTS; k++) best += costs[ITEM * PARTS + k];
  }
  BARRIER();
  costs[ITEM] = best, steps[ITEM] = ITEM;
  least(costs, steps, FRAME_ITEMS);
  if (ITEM == 0) to[0] = cy + steps[0] / NEAR_STEPS - FINE, to[1] = cx + steps[0] % NEAR_STEPS - FINE;
#endif
}

#define BOX_W (FRAME_W + 2 * BOX)
#define BOX_H (FRAME_H + 2 * BOX)

// Where the block of a pixel has moved it.
FN int moved(GLOBAL const int* RESTRICT motion, int y, int x, int width, int height) {
  GLOBAL const int* step = motion + 2 * (y / BLOCK * ((width + BLOCK - 1) / BLOCK) + x / BLOCK);
  return inside(y + step[0], height) * width + inside(x + step[1], width);
}

// Adds a frame to the sums, which the first begins and the last ends.
KERNEL(FRAME_ITEMS) frames_average(GLOBAL const float* RESTRICT here, GLOBAL const float* RESTRICT there,
                                    GLOBAL const int* RESTRICT motion, GLOBAL float* RESTRICT sums, int width, int height,
                                    int first, int last, float noise, float slope) {
  LOCAL float tile[BOX_W * BOX_H];
  LOCAL float rows[FRAME_W * BOX_H];
  const int x0 = GROUP_X * FRAME_W, y0 = GROUP_Y * FRAME_H, plane = width * height;
  for (int i = ITEM; i < BOX_W * BOX_H; i += FRAME_ITEMS) {
    const int x = inside(x0 - BOX + i % BOX_W, width), y = inside(y0 - BOX + i / BOX_W, height);
    const float d = there[CHANNELS * plane + moved(motion, y, x, width, height)] - here[CHANNELS * plane + y * width + x];
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
    const int from = moved(motion, y, x, width, height);
    const float n = weight + (first ? 1.0f : sums[CHANNELS * plane + p]);
#if EFFECTIVE
    const float squares = FMA(weight, weight, first ? 1.0f : sums[(CHANNELS + 1) * plane + p]);
    sums[(CHANNELS + 1) * plane + p] = squares;
    sums[CHANNELS * plane + p] = last ? n * n / squares : n;
#else
    sums[CHANNELS * plane + p] = n;
#endif
    UNROLL for (int c = 0; c < CHANNELS; c++) {
      const float total = FMA(weight, there[c * plane + from], first ? here[c * plane + p] : sums[c * plane + p]);
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

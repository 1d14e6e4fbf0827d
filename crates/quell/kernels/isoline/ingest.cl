// Samples into planes of floats.

#define INGEST_ITEMS 256
#define INGEST_EACH 8

KERNEL(INGEST_ITEMS) isoline_ingest(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL float* RESTRICT planes, int count) {
  const int from = GROUP_X * (INGEST_ITEMS * INGEST_EACH) + ITEM;
  UNROLL for (int i = 0; i < INGEST_EACH; i++) {
    const int at = from + i * INGEST_ITEMS;
    if (at < count) planes[at] = (float)samples[at];
  }
}

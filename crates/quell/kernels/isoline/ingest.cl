// Samples into planes of floats.

#define INGEST_ITEMS 256

KERNEL(INGEST_ITEMS) isoline_ingest(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL float* RESTRICT planes, int count) {
  const int from = 4 * (GROUP_X * INGEST_ITEMS + ITEM);
  for (int i = from; i < MIN(from + 4, count); i++) planes[i] = (float)samples[i];
}

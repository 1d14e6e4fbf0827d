// Samples into planes of channels on the 0..255 scale, all of them without gaps.
//
// Options: SAMPLE (uchar, ushort, float), CHANNELS, COLOR (samples are red, green and blue; then those of space.cl, too).

#define CHANNEL_ITEMS 256

KERNEL(CHANNEL_ITEMS) frames_channels(GLOBAL const SAMPLE* RESTRICT samples, GLOBAL float* RESTRICT planes, int pixels,
                                      float scale) {
  const int i = GROUP_X * CHANNEL_ITEMS + ITEM;
  if (i >= pixels) return;
#if COLOR
  const float red = (float)samples[i] * scale, green = (float)samples[pixels + i] * scale;
  const float blue = (float)samples[2 * pixels + i] * scale;
  UNROLL for (int c = 0; c < CHANNELS; c++) planes[c * pixels + i] = channel(c, red, green, blue);
#else
  UNROLL for (int c = 0; c < CHANNELS; c++) planes[c * pixels + i] = (float)samples[c * pixels + i] * scale;
#endif
}

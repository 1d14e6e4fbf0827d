// Red, green and blue as a channel of another colour space.
//
// Option: FORWARD (the rows of the matrix).

TABLE float forward_rows[9] = {FORWARD};

// One channel as `ColorMode::forward` has it, bit by bit: groups hang on the first one, so that nothing may be fused.
#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif
FN float channel(int c, float red, float green, float blue) {
  return ADD_ROUNDED(ADD_ROUNDED(MUL_ROUNDED(forward_rows[3 * c], red), MUL_ROUNDED(forward_rows[3 * c + 1], green)),
                     MUL_ROUNDED(forward_rows[3 * c + 2], blue));
}

/// \file
/// How names are refused: a pragma of the preprocessor makes an error at the place in the source, with a line of ours.
#pragma once

// Three steps: the text is made of words as they are, and the pragma of the text.
#define KGEN_HIP_TEXT(...) #__VA_ARGS__
#define KGEN_HIP_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define KGEN_HIP_ERROR(text) KGEN_HIP_PRAGMA(GCC error text)
// In a condition of the preprocessor a pragma has no meaning; there the text in front of it is the error.
#define KGEN_HIP_REFUSE(text) text KGEN_HIP_ERROR(text)

#define KGEN_HIP_WAVE_ERROR(refused)                                                            \
  KGEN_HIP_REFUSE(KGEN_HIP_TEXT(refused depends on the 64 lanes of the wavefront of an AMD GPU, \
                                and this source is executed on NVIDIA, where there are 32))
#define KGEN_HIP_EXCHANGE_ERROR(refused)                                                                          \
  KGEN_HIP_REFUSE(                                                                                                \
      KGEN_HIP_TEXT(refused is an instruction of AMD GPUs that exchanges values between the lanes of a wavefront, \
                    and this source is executed on NVIDIA))
#define KGEN_HIP_MATRIX_ERROR(refused) \
  KGEN_HIP_REFUSE(KGEN_HIP_TEXT(refused is a matrix instruction of AMD GPUs, and this source is executed on NVIDIA))
#define KGEN_HIP_VECTOR_ERROR(refused)                                                                               \
  KGEN_HIP_REFUSE(                                                                                                   \
      KGEN_HIP_TEXT(refused makes a vector of clang, and this source is executed on NVIDIA, whose compiler has none; \
                    use float4 or an array))
#define KGEN_HIP_CUDA_ERROR(refused) KGEN_HIP_REFUSE(KGEN_HIP_TEXT(refused is a name of CUDA and not of HIP))

// ---- Shuffles ----
#define KGEN_HIP_ARGUMENT_9(a, b, c, d, e, f, g, h, i, ...) i
#define KGEN_HIP_SHUFFLE(name, ...)                                                                                \
  KGEN_HIP_ARGUMENT_9(__VA_ARGS__, KGEN_HIP_SHUFFLE_N, KGEN_HIP_SHUFFLE_N, KGEN_HIP_SHUFFLE_N, KGEN_HIP_SHUFFLE_N, \
                      KGEN_HIP_SHUFFLE_N, KGEN_HIP_SHUFFLE_3, KGEN_HIP_SHUFFLE_2, KGEN_HIP_SHUFFLE_2, )            \
  (name, __VA_ARGS__)
#define KGEN_HIP_SHUFFLE_2(name, ...)                                                                            \
  KGEN_HIP_REFUSE(KGEN_HIP_TEXT(__##name without a width depends on the 64 lanes of the wavefront of an AMD GPU, \
                                and this source is executed on NVIDIA, where there are 32;                       \
                                pass the width, up to 32))
// A width that is a constant is refused here, at the place in the source; another one in the function. The sum makes a
// value of the name of a constant, which nvcc does not take for one.
#define KGEN_HIP_SHUFFLE_3(name, value, lane, width)                                                       \
  ({                                                                                                       \
    static_assert(!(__builtin_constant_p((width) + 0) && (width) > 32),                                    \
                  "__" #name                                                                               \
                  " with a width of more than 32 depends on the 64 lanes of the wavefront of an AMD GPU, " \
                  "and this source is executed on NVIDIA, where there are 32");                            \
    kgen_hip::name(value, lane, width);                                                                    \
  })
#define KGEN_HIP_SHUFFLE_N(name, ...) kgen_hip::name(__VA_ARGS__)

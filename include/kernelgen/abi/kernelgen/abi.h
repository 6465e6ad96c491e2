/**
 * \file
 * The kernel ABI, version 1: how kernelgen calls a native candidate. C99 and C++11 or newer, no other header needed.
 *
 * A candidate is one source file that includes this header and exports four C functions:
 *
 *     KGEN_EXPORT_ABI_VERSION                                                           (once, at file scope)
 *     KGEN_API int  kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result);
 *     KGEN_API int  kgen_run(void* state, const struct kgen_run_args* args);
 *     KGEN_API void kgen_destroy(void* state);
 *
 * The life of a candidate: the version is asked once; kgen_prepare once for each set of weights; kgen_run many times
 * for each prepared state, each time with new input values; kgen_destroy once for each state. Two states may be alive
 * at the same time. Calls never overlap: kernelgen calls from one thread, one function at a time.
 *
 * Rules that hold everywhere:
 *  - Memory. Tensors, lists, names and texts belong to kernelgen. Pointers that reach a function through its arguments
 *    are valid until that function returns, and may differ from call to call: look them up again in every call, copy
 *    what you want to keep. What a candidate allocates it frees in kgen_destroy.
 *  - Alignment. Tensor data and the workspace start at a multiple of KGEN_ALIGNMENT (64) bytes. Bytes outside
 *    [data, data + nbytes) must not be touched; guard pages and fill patterns lie there.
 *  - Reading and writing. Only outputs and the workspace may be written (and an input that the reference itself
 *    overwrites). Parameters, buffers and attributes are read-only, also where the reference updates a buffer.
 *  - Finished means finished. When kgen_run returns on a CPU, every output is complete and no thread still works for
 *    it. On a GPU all work has been queued on args->stream.
 *  - Errors. Return 0 for success. Anything else is a failure; kgen_fail writes the reason that the report will show.
 *    C++ exceptions may leave a function; kernelgen catches them and counts them as failures.
 *  - Threads. At most args->threads threads may work at once. OpenMP's default is set to that number.
 *  - Processes, files, network. None is needed, and the sandbox refuses most of it.
 *
 * Compatibility. Every struct starts with struct_size: the size that the *writer* of the struct knew. Fields are only
 * ever added at the end, so a reader may use a field that ends within struct_size; see KGEN_HAS_FIELD. Tensors
 * and scalars are handed over through arrays of pointers, so that those structs may grow as well. KGEN_ABI_VERSION
 * changes when the meaning of an existing field changes.
 */
#ifndef KERNELGEN_ABI_H
#define KERNELGEN_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Version of this contract. A candidate built for another version is refused before it is called. */
#define KGEN_ABI_VERSION 1u

/** Every data pointer and the workspace are multiples of this, in bytes. */
#define KGEN_ALIGNMENT 64

#ifdef __cplusplus
#define KGEN_EXTERN_C extern "C"
#else
#define KGEN_EXTERN_C
#endif

#if defined(_WIN32)
#define KGEN_API KGEN_EXTERN_C __declspec(dllexport)
#else
#define KGEN_API KGEN_EXTERN_C __attribute__((visibility("default")))
#endif

#if defined(__GNUC__) || defined(__clang__)
#define KGEN_UNUSED __attribute__((unused))
#else
#define KGEN_UNUSED
#endif

/** Element types. Values are never reused. */
enum {
  KGEN_FLOAT64 = 1,
  KGEN_FLOAT32 = 2,
  KGEN_FLOAT16 = 3,
  KGEN_BFLOAT16 = 4,
  KGEN_INT64 = 5,
  KGEN_INT32 = 6,
  KGEN_INT16 = 7,
  KGEN_INT8 = 8,
  KGEN_UINT8 = 9,
  KGEN_BOOL = 10,      /**< one byte, 0 or 1 */
  KGEN_COMPLEX64 = 11, /**< two float32: real, imaginary */
  KGEN_COMPLEX128 = 12 /**< two float64: real, imaginary */
};

/** Where tensor data lies. */
enum { KGEN_DEVICE_CPU = 0, KGEN_DEVICE_CUDA = 1, KGEN_DEVICE_HIP = 2 };

/** What a scalar holds. */
enum {
  KGEN_SCALAR_NONE = 0,  /**< Python's None: an argument that is absent in this task */
  KGEN_SCALAR_BOOL = 1,  /**< as_int is 0 or 1, as_float the same */
  KGEN_SCALAR_INT = 2,   /**< as_int, and as_float the nearest double */
  KGEN_SCALAR_FLOAT = 3, /**< as_float */
  KGEN_SCALAR_STRING = 4 /**< as_text, UTF-8, ends with a zero byte */
};

/** One tensor. In kgen_prepare, data is NULL for inputs, draws and outputs: only their shapes are known yet. */
struct kgen_tensor {
  uint32_t struct_size;
  int32_t dtype;          /**< KGEN_FLOAT32, ... */
  int32_t device;         /**< KGEN_DEVICE_CPU, ... */
  int32_t rank;           /**< number of dimensions; 0 is a tensor with one element */
  const char* name;       /**< path name: "x", "states[1]", "gru.weight_ih_l0", "output[0]" */
  void* data;             /**< first element */
  const int64_t* shape;   /**< rank entries, in elements */
  const int64_t* strides; /**< rank entries, in elements; outputs are contiguous unless the reference's are not */
  uint64_t nbytes;        /**< bytes from the first to one past the last element */
  uint64_t element_count; /**< product of shape; 0 for an empty tensor */
};

/** Tensors in the order of their declaration in the task. */
struct kgen_tensor_list {
  uint64_t count;
  const struct kgen_tensor* const* items;
};

/** A number, a text or an absent argument. */
struct kgen_scalar {
  uint32_t struct_size;
  int32_t kind;        /**< KGEN_SCALAR_INT, ... */
  const char* name;    /**< path name of the argument */
  int64_t as_int;      /**< 0 where the kind has no integer */
  double as_float;     /**< 0 where the kind has no number */
  const char* as_text; /**< as Python writes the value; the text itself for a string. Never NULL */
};

struct kgen_scalar_list {
  uint64_t count;
  const struct kgen_scalar* const* items;
};

/** Where a failing function explains itself. */
struct kgen_error {
  char* text;        /**< ends with a zero byte; empty when the function is called */
  uint64_t capacity; /**< bytes of text, the zero byte included */
};

/** What kgen_prepare may look at: everything but the values of inputs and draws. */
struct kgen_prepare_args {
  uint32_t struct_size;
  uint32_t abi_version;                 /**< the caller's KGEN_ABI_VERSION */
  struct kgen_tensor_list inputs;       /**< tensor arguments of forward(), nested ones by path name; data is NULL */
  struct kgen_tensor_list parameters;   /**< by their names in the module; values do not change until kgen_destroy */
  struct kgen_tensor_list buffers;      /**< likewise; before every kgen_run they hold these values again */
  struct kgen_tensor_list attributes;   /**< plain tensor attributes of the module; values do not change either */
  struct kgen_tensor_list draws;        /**< random numbers that forward() draws, in order; data is NULL */
  struct kgen_tensor_list outputs;      /**< what forward() returns; data is NULL */
  struct kgen_scalar_list scalars;      /**< other arguments of forward(); absent ones are KGEN_SCALAR_NONE */
  struct kgen_scalar_list init_scalars; /**< arguments of the constructor */
  int32_t threads;                      /**< threads that may work at once, >= 1 */
  int32_t device;                       /**< KGEN_DEVICE_CPU, ...: where kgen_run will work */
  int32_t device_index;                 /**< 0 on a CPU */
  int32_t reserved;                     /**< 0 */
  void* stream;                         /**< the stream of kgen_run (cudaStream_t, hipStream_t); NULL on a CPU */
  struct kgen_error error;
};

/** What kgen_prepare answers. Zeroed by the caller, except struct_size. */
struct kgen_prepare_result {
  uint32_t struct_size;
  uint32_t reserved;        /**< leave 0 */
  void* state;              /**< handed to kgen_run and kgen_destroy; kernelgen never looks inside. May be NULL */
  uint64_t workspace_bytes; /**< scratch memory that every kgen_run gets; 0 for none */
};

/** One call of forward(). The lists have the same tensors in the same order as in kgen_prepare. */
struct kgen_run_args {
  uint32_t struct_size;
  uint32_t abi_version;
  struct kgen_tensor_list inputs; /**< new values in every call */
  struct kgen_tensor_list parameters;
  struct kgen_tensor_list buffers;
  struct kgen_tensor_list attributes;
  struct kgen_tensor_list draws;   /**< this call's random numbers */
  struct kgen_tensor_list outputs; /**< allocated and filled with garbage by the caller: write every element */
  struct kgen_scalar_list scalars;
  struct kgen_scalar_list init_scalars;
  int32_t threads;
  int32_t device;
  int32_t device_index;
  int32_t reserved;
  void* stream;    /**< queue everything here; NULL on a CPU */
  void* workspace; /**< workspace_bytes of kgen_prepare; garbage at the start of every call. NULL if that was 0 */
  uint64_t workspace_bytes;
  struct kgen_error error;
  uint64_t* report; /**< for KGEN_REPORT() in kernels: memory of the host that kernels can write. May be NULL */
};

/** Whether the writer of *pointer knew the field. */
#define KGEN_HAS_FIELD(pointer, type, field) \
  ((size_t)(pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))

/** Answers KGEN_ABI_VERSION. Write KGEN_EXPORT_ABI_VERSION once in the candidate instead of defining it. */
KGEN_API uint32_t kgen_abi_version(void);

/**
 * Looks at weights, shapes and scalars, allocates and packs what helps. Timed apart from kgen_run.
 * On failure nothing of it may stay allocated: kgen_destroy is not called then.
 */
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result);

/** Computes every output from the inputs of this call. This is what is timed. */
KGEN_API int kgen_run(void* state, const struct kgen_run_args* args);

/** Frees what kgen_prepare made. state may be NULL if kgen_prepare left it so. */
KGEN_API void kgen_destroy(void* state);

#define KGEN_EXPORT_ABI_VERSION \
  KGEN_API uint32_t kgen_abi_version(void) { return KGEN_ABI_VERSION; }

/* ---- What a kernel reports. Optional. -------------------------------------------------------------------------- */

/** Names of what kernels report, at most this many and this long; further ones are ignored, longer ones are cut. */
#define KGEN_MAX_REPORTS 64
#define KGEN_MAX_REPORT_NAME 64

/**
 * Once at file scope: names for the codes 1, 2, ... of KGEN_REPORT, for messages only. They are asked for once, after
 * the version. KGEN_EXPORT_REPORTS("h_full", "weights_ready")
 */
#define KGEN_EXPORT_REPORTS(...)                            \
  KGEN_API const char* const* kgen_report_names(void) {     \
    static const char* const names[] = {__VA_ARGS__, NULL}; \
    return names;                                           \
  }

/**
 * In a kernel: reports that a wait did not end, or another error that it found. The call then fails with the name of
 * the code, from 1, and with the block that was first; by itself, a kernel that traps says only that it failed. Report,
 * then trap or return. `report` is args->report, as an argument of the kernel; where it is NULL nothing is reported.
 */
#define KGEN_REPORT(report, code)                                                                                \
  do {                                                                                                           \
    volatile uint64_t* kgen_report_word = (report);                                                              \
    if (kgen_report_word != NULL && *kgen_report_word == 0) {                                                    \
      *kgen_report_word =                                                                                        \
          ((uint64_t)(code) << 32) | (uint32_t)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)); \
      __threadfence_system();                                                                                    \
    }                                                                                                            \
  } while (0)

/* ---- Helpers. None of them allocates; all may be called from any thread. ------------------------------------- */

/** The tensor of that name, or NULL. */
static inline KGEN_UNUSED const struct kgen_tensor* kgen_find(const struct kgen_tensor_list* list, const char* name) {
  for (uint64_t i = 0; i < list->count; ++i) {
    if (strcmp(list->items[i]->name, name) == 0) return list->items[i];
  }
  return NULL;
}

/** The i-th tensor, or NULL; for tasks where the names of tensors do not matter. */
static inline KGEN_UNUSED const struct kgen_tensor* kgen_at(const struct kgen_tensor_list* list, uint64_t i) {
  return i < list->count ? list->items[i] : NULL;
}

/** The scalar of that name, or NULL. */
static inline KGEN_UNUSED const struct kgen_scalar* kgen_find_scalar(const struct kgen_scalar_list* list,
                                                                     const char* name) {
  for (uint64_t i = 0; i < list->count; ++i) {
    if (strcmp(list->items[i]->name, name) == 0) return list->items[i];
  }
  return NULL;
}

/** The number of that name, or fallback where there is none or it is not a number. */
static inline KGEN_UNUSED double kgen_number(const struct kgen_scalar_list* list, const char* name, double fallback) {
  const struct kgen_scalar* scalar = kgen_find_scalar(list, name);
  if (scalar == NULL || scalar->kind < KGEN_SCALAR_BOOL || scalar->kind > KGEN_SCALAR_FLOAT) return fallback;
  return scalar->as_float;
}

/** The integer or bool of that name, or fallback where there is none or it is neither. */
static inline KGEN_UNUSED int64_t kgen_integer(const struct kgen_scalar_list* list, const char* name,
                                               int64_t fallback) {
  const struct kgen_scalar* scalar = kgen_find_scalar(list, name);
  if (scalar == NULL || (scalar->kind != KGEN_SCALAR_BOOL && scalar->kind != KGEN_SCALAR_INT)) return fallback;
  return scalar->as_int;
}

/** Length of a dimension; negative ones count from the end, as in Python. 1 where there is no such dimension. */
static inline KGEN_UNUSED int64_t kgen_dim(const struct kgen_tensor* tensor, int dimension) {
  const int index = dimension < 0 ? tensor->rank + dimension : dimension;
  return index >= 0 && index < tensor->rank ? tensor->shape[index] : 1;
}

/** Bytes per element; 0 for an unknown type. */
static inline KGEN_UNUSED size_t kgen_dtype_size(int32_t dtype) {
  switch (dtype) {
    case KGEN_COMPLEX128:
      return 16;
    case KGEN_FLOAT64:
    case KGEN_INT64:
    case KGEN_COMPLEX64:
      return 8;
    case KGEN_FLOAT32:
    case KGEN_INT32:
      return 4;
    case KGEN_FLOAT16:
    case KGEN_BFLOAT16:
    case KGEN_INT16:
      return 2;
    case KGEN_INT8:
    case KGEN_UINT8:
    case KGEN_BOOL:
      return 1;
    default:
      return 0;
  }
}

/** 1 if the elements lie one after the other in row-major order, else 0. Empty tensors are contiguous. */
static inline KGEN_UNUSED int kgen_is_contiguous(const struct kgen_tensor* tensor) {
  int64_t expected = 1;
  if (tensor->element_count == 0) return 1;
  for (int i = tensor->rank - 1; i >= 0; --i) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != expected) return 0;
    expected *= tensor->shape[i];
  }
  return 1;
}

/** 1 if the tensor exists, has that type and rank, and is contiguous, else 0. */
static inline KGEN_UNUSED int kgen_is(const struct kgen_tensor* tensor, int32_t dtype, int rank) {
  return tensor != NULL && tensor->dtype == dtype && tensor->rank == rank && kgen_is_contiguous(tensor);
}

/** Writes the reason of a failure (cut if it is too long) and answers 1: `return kgen_fail(&args->error, "...");` */
static inline KGEN_UNUSED int kgen_fail(const struct kgen_error* error, const char* reason) {
  if (error->text != NULL && error->capacity > 0) {
    size_t length = strlen(reason);
    if (length >= error->capacity) length = (size_t)(error->capacity - 1);
    memcpy(error->text, reason, length);
    error->text[length] = '\0';
  }
  return 1;
}

/** float32 of the bits of a bfloat16. Exact. */
static inline KGEN_UNUSED float kgen_bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/** Bits of the nearest bfloat16; ties to even, as torch rounds. */
static inline KGEN_UNUSED uint16_t kgen_float_to_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0u; /* NaN */
  bits += 0x7FFFu + ((bits >> 16) & 1u);
  return (uint16_t)(bits >> 16);
}

/** float32 of the bits of a float16. Exact. */
static inline KGEN_UNUSED float kgen_float16_to_float(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t magnitude = (uint32_t)(half & 0x7FFFu) << 13;
  uint32_t bits;
  float value;
  if (magnitude >= 0x0F800000u) { /* infinity and NaN */
    bits = sign | 0x70000000u | magnitude;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  /* Scaling by 2^112 moves the exponent bias from 15 to 127 and makes subnormal numbers normal. */
  memcpy(&value, &magnitude, sizeof value);
  value *= 5.192296858534828e33f;
  memcpy(&bits, &value, sizeof bits);
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/** Bits of the nearest float16; ties to even, overflow to infinity. */
static inline KGEN_UNUSED uint16_t kgen_float_to_float16(float value) {
  uint32_t bits, magnitude, sign;
  memcpy(&bits, &value, sizeof bits);
  sign = (bits >> 16) & 0x8000u;
  magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);  /* NaN */
  if (magnitude >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* rounds to infinity */
  if (magnitude < 0x38800000u) {                                   /* subnormal: let the addition round */
    float shifted;
    memcpy(&shifted, &magnitude, sizeof shifted);
    shifted += 0.5f;
    memcpy(&magnitude, &shifted, sizeof magnitude);
    return (uint16_t)(sign | (magnitude - 0x3F000000u));
  }
  magnitude += 0xC8000FFFu + ((magnitude >> 13) & 1u);
  return (uint16_t)(sign | (magnitude >> 13));
}

#endif /* KERNELGEN_ABI_H */

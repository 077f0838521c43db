/* C interface of the tcc runtime: opens compiled packages and runs them.
 *
 *   tcc_package *package; tcc_context *context; tcc_tensor y;
 *   tcc_package_open("model.tcc", &package);
 *   tcc_context_create(package, 0, &context);
 *   tcc_set_input(context, 0, TCC_F32, shape, rank, data);
 *   tcc_run(context);
 *   tcc_output(context, 0, &y);
 *
 * Every function that returns a status returns TCC_OK (0) or an error code; tcc_error() then has the text. A package may
 * be used by many threads and contexts, a context by one thread at a time. Tensors are dense and row-major, in the
 * machine's byte order. A package contains machine code: open only those that you trust. */
#ifndef TCC_H
#define TCC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tcc_status {
    TCC_OK = 0,
    /* The package. */
    TCC_ERROR_IO = 100,
    TCC_ERROR_NOT_A_PACKAGE = 101,
    TCC_ERROR_VERSION = 102,
    TCC_ERROR_CORRUPT = 103,
    TCC_ERROR_INVALID = 104,
    TCC_ERROR_TARGET = 105,
    /* What was passed. */
    TCC_ERROR_ARGUMENT = 200,
    TCC_ERROR_UNBOUND = 201,
    TCC_ERROR_SHAPE = 202,
    TCC_ERROR_TYPE = 203,
    /* The run. */
    TCC_ERROR_CHECK = 300,
    TCC_ERROR_KERNEL = 301,
    TCC_ERROR_BUILTIN = 302,
    TCC_ERROR_SIZE = 303,
    TCC_ERROR_MEMORY = 304,
    TCC_ERROR_DEVICE = 305,
    /* A defect of the runtime. */
    TCC_ERROR_INTERNAL = 900
} tcc_status;

/* Element types. Those below one byte are stored one element a byte. */
typedef enum tcc_dtype {
    TCC_F64 = 0,
    TCC_F32 = 1,
    TCC_F16 = 2,
    TCC_BF16 = 3,
    TCC_F8E4M3FN = 4,
    TCC_F8E4M3FNUZ = 5,
    TCC_F8E5M2 = 6,
    TCC_F8E5M2FNUZ = 7,
    TCC_F8E8M0 = 8,
    TCC_F4E2M1 = 9,
    TCC_I64 = 10,
    TCC_I32 = 11,
    TCC_I16 = 12,
    TCC_I8 = 13,
    TCC_I4 = 14,
    TCC_I2 = 15,
    TCC_U64 = 16,
    TCC_U32 = 17,
    TCC_U16 = 18,
    TCC_U8 = 19,
    TCC_U4 = 20,
    TCC_U2 = 21,
    TCC_BOOL = 22,
    TCC_C64 = 23,
    TCC_C128 = 24,
    TCC_STRING = 25
} tcc_dtype;

typedef struct tcc_package tcc_package;
typedef struct tcc_context tcc_context;

/* A model input or output, as the model declares it. Valid as long as the package. */
typedef struct tcc_io {
    const char *name;
    uint32_t dtype;
    /* 0 tensor, 1 sequence, 2 optional, 3 optional sequence. */
    uint32_t form;
    size_t rank;
    /* -1 where the size depends on the inputs. */
    const int64_t *dims;
} tcc_io;

/* A result. Valid until the context is changed, run again or destroyed. */
typedef struct tcc_tensor {
    uint32_t dtype;
    size_t rank;
    const int64_t *shape;
    const void *data;
    size_t bytes;
} tcc_tensor;

/* Text of this thread's last error; empty if there was none. Valid until the thread's next call. */
const char *tcc_error(void);

/* Opens a package file and checks all of it but the weights' hash. The file must not change while it is open. */
tcc_status tcc_package_open(const char *path, tcc_package **package);
/* Opens a package in memory, which is copied. */
tcc_status tcc_package_open_memory(const void *data, size_t bytes, tcc_package **package);
/* Reads all weights and compares their hash. */
tcc_status tcc_package_verify_weights(const tcc_package *package);
/* Contexts of the package stay usable. NULL is allowed. */
void tcc_package_close(tcc_package *package);

size_t tcc_input_count(const tcc_package *package);
size_t tcc_output_count(const tcc_package *package);
tcc_status tcc_input_info(const tcc_package *package, size_t index, tcc_io *info);
tcc_status tcc_output_info(const tcc_package *package, size_t index, tcc_io *info);

/* A context with this many threads, the calling one among them; 0 for as many as the process may use. */
tcc_status tcc_context_create(const tcc_package *package, size_t threads, tcc_context **context);
/* NULL is allowed. */
void tcc_context_destroy(tcc_context *context);

/* Sets an input's shape and memory. The memory is not copied: it must stay as it is during each run. */
tcc_status tcc_set_input(tcc_context *context, size_t index, uint32_t dtype, const int64_t *shape, size_t rank,
                         const void *data);
/* Sets an input of strings, NUL-terminated UTF-8. They are copied. */
tcc_status tcc_set_input_strings(tcc_context *context, size_t index, const int64_t *shape, size_t rank,
                                 const char *const *strings);
/* Lets an output be written to this memory; NULL for the context's own. */
tcc_status tcc_set_output(tcc_context *context, size_t index, void *data, size_t capacity);

/* Checks the shapes and takes all memory that depends on them, so that the next run does not. Optional. */
tcc_status tcc_prepare(tcc_context *context);
tcc_status tcc_run(tcc_context *context);

tcc_status tcc_output(const tcc_context *context, size_t index, tcc_tensor *tensor);
/* One element of an output of strings, not NUL-terminated; count may be NULL, else gets the number of elements. */
tcc_status tcc_output_string(const tcc_context *context, size_t index, size_t element, const char **text,
                             size_t *bytes, size_t *count);

#ifdef __cplusplus
}
#endif
#endif

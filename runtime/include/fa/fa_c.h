/*===- fa_c.h - the C API of fa-mlir ----------------------------------------===*
 *
 * Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Compiles a program from MLIR text and launches it.
 *
 *   fa_program *program;
 *   fa_error *error = fa_compile(text, strlen(text), NULL, &program);
 *   if (error) { puts(fa_error_message(error)); fa_error_free(error); }
 *
 * Errors are values: a function that can fail returns NULL, or an error that
 * says what was wrong, what was expected and what to do, which the caller
 * frees. Programs are immutable: any number of threads may launch one.
 *
 *===----------------------------------------------------------------------===*/

#ifndef FA_FA_C_H
#define FA_FA_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FA_API __attribute__((visibility("default")))

/* Element types. Sub-byte types do not exist; a bool is one byte, 0 or 1. */
typedef enum fa_dtype {
  FA_F16 = 0,
  FA_BF16 = 1,
  FA_F32 = 2,
  FA_F64 = 3,
  FA_I8 = 4,
  FA_I16 = 5,
  FA_I32 = 6,
  FA_I64 = 7,
  FA_BOOL = 8
} fa_dtype;

/* A tensor in memory, the shape of a DLTensor: element (i0, i1, ...) stands at
 * (char *)data + byte_offset + size_of(dtype) * (i0 * strides[0] + ...).
 * Sizes and strides count elements. strides == NULL means contiguous, row
 * major; else the last dimension must have stride 1 (or size 1 or 0). Strides
 * may be 0 (broadcast) for inputs, never for outputs. */
typedef struct fa_tensor {
  void *data;
  fa_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t byte_offset;
} fa_tensor;

/* One argument of a launch, bound by name: a tensor, or (tensor == NULL) a
 * scalar, in `f` for floats and in `i` for integers. */
typedef struct fa_argument {
  const char *name;
  const fa_tensor *tensor;
  double f;
  int64_t i;
} fa_argument;

typedef enum fa_argument_kind { FA_INPUT = 0, FA_OUTPUT = 1, FA_SCALAR = 2 } fa_argument_kind;

/* What a program knows of one of its arguments; valid as long as the program.
 * Sizes that the launch says are -1; a scalar has rank 0. */
typedef struct fa_argument_info {
  const char *name;
  fa_argument_kind kind;
  fa_dtype dtype;
  int32_t rank;
  const int64_t *shape;
} fa_argument_info;

typedef struct fa_error fa_error;
typedef struct fa_program fa_program;

/* Choices of a compilation. Initialize with fa_compile_options_default(). */
typedef struct fa_compile_options {
  size_t size;              /* sizeof(fa_compile_options), for compatibility */
  const char *target;       /* "cpu" (this machine), "cpu-avx2" or "cpu-avx512" */
  const char *entry;        /* the function to compile; NULL: the only one */
  int32_t threads;          /* CPU: at most this many at a launch; 0: one per core */
  int32_t standard;         /* 1: standard attention, O(N^2) memory: the baseline */
  int32_t no_mask_analysis; /* 1: visit and mask every tile */
  int32_t no_canonicalize;  /* 1: no clean-up between passes */
  int32_t rows, keys;       /* tile sizes; 0 chooses */
  const char *source_name;  /* what errors call the text, say its file; NULL: "<text>" */
} fa_compile_options;

FA_API fa_compile_options fa_compile_options_default(void);

/* The message of an error, one line per problem; those of the text begin with
 * `name:line:column: error:`, and lines with `note:` follow. Valid until freed. */
FA_API const char *fa_error_message(const fa_error *error);
FA_API void fa_error_free(fa_error *error);

/* Compiles `size` bytes of MLIR text; `options` may be NULL. On success stores
 * a program that the caller frees. */
FA_API fa_error *fa_compile(const char *text, size_t size, const fa_compile_options *options,
                            fa_program **program);
FA_API void fa_program_free(fa_program *program);

/* The arguments of a program: inputs, scalars and outputs. */
FA_API size_t fa_program_num_arguments(const fa_program *program);
FA_API fa_argument_info fa_program_argument(const fa_program *program, size_t index);

/* Bytes of workspace that a launch with these arguments needs. */
FA_API fa_error *fa_program_workspace_size(const fa_program *program, const fa_argument *arguments,
                                           size_t count, uint64_t *bytes);

/* Runs the program: reads the inputs, writes every element of the outputs.
 * Every argument is bound once, by name. `workspace` has at least the bytes
 * asked for above, aligned to 64, or is NULL where none are needed. On the CPU
 * the call returns when the results are there and `stream` is not used. */
FA_API fa_error *fa_program_launch(const fa_program *program, void *stream,
                                   const fa_argument *arguments, size_t count, void *workspace,
                                   uint64_t workspace_bytes);

/* The version of the library, "major.minor.patch". */
FA_API const char *fa_version(void);

#ifdef __cplusplus
}
#endif

#endif /* FA_FA_C_H */

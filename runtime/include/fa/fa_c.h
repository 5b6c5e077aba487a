/*===- fa_c.h - the C API of fa-mlir ----------------------------------------===*
 *
 * Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Compiles a program from MLIR text and launches it. (For GPUs the text may also be
 * a program on tiles, of tile.funcs.)
 *
 *   fa_program *program;
 *   fa_error *error = fa_compile(text, strlen(text), NULL, &program);
 *   if (error) { puts(fa_error_message(error)); fa_error_free(error); }
 *
 * Programs run on CPUs and on NVIDIA GPUs, whose driver (525 or later) is opened
 * when a program or a device first asks for it. On a GPU the pointers of a
 * launch are device memory and `stream` is a CUstream (a cudaStream_t, what
 * torch.cuda.current_stream().cuda_stream holds), NULL the default stream.
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
 * may be 0 (broadcast) for inputs, and rows of inputs may overlap, never those of
 * outputs: sorted by stride, each dimension must step over what those before it
 * reach. */
typedef struct fa_tensor {
  void *data;
  fa_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t byte_offset;
} fa_tensor;

/* One argument of a launch, bound by name: a tensor, or (tensor == NULL) a
 * scalar, in `f` for floats and in `i` for integers, which its type can hold. */
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
  size_t size;        /* sizeof(fa_compile_options), for compatibility */
  const char *target; /* the code: "cpu" (this machine), "cpu-avx2", "cpu-avx512", "sm_80", ...;
                         "cuda", "cuda:N": the best for that device */
  const char *entry;  /* the function to compile; NULL: the only one */
  int32_t threads;    /* CPU: at most this many at a launch; 0: one per core. A process that is
                         forked afterwards has none of more than one: its launches are errors */
  int32_t standard;   /* 1: standard attention, O(N^2) memory: the baseline */
  int32_t no_mask_analysis; /* 1: visit and mask every tile */
  int32_t no_canonicalize;  /* 1: no clean-up between passes */
  int32_t rows, keys;       /* tile sizes; 0 chooses */
  const char *device;       /* where code for GPUs is loaded, "cuda" or "cuda:N"; NULL: what
                               target names, else device 0 */
  int32_t warps;            /* GPUs: warps that share a tile; 0 chooses */
  const char *leave_out;    /* GPUs: passes to leave out, by name, with commas
                               between; every choice gives right results. NULL: none */
  const char *source_name;  /* what errors call the text, say its file; NULL: "<text>" */
  int32_t no_cache;         /* 1: compile, whatever is kept, and keep nothing */
  int32_t stages;           /* GPUs: tiles in flight of each tensor that a loop reads; 0 chooses */
  int32_t aligned_only;  /* GPUs: rows, keys, warps, stages, order and leave_out are for tensors at
                            multiples of 16 bytes; what serves others chooses for itself */
  const char *gradients; /* backward: compute the gradients of these inputs only, by name with
                            commas between; NULL or "": of all that have floats */
  int32_t backward;      /* 1: the program of the gradients instead of the attention: see below */
  int32_t dlse;          /* backward: 1: take the gradient of lse, too */
  int32_t deterministic; /* backward: 1: the same bits at each launch, or an error. Programs are so
                            but for gradients of what a score reads at computed indices, which
                            are refused then, and dq of long sequences where fused is faster */
  int32_t fused; /* backward, GPUs: 1: at every size blocks of keys add to dq by atomics, where no
                    other gradient is a sum over keys: 5 products in place of 7, 4 bytes an element
                    of dq, and bits that may differ between launches */
  int32_t order; /* GPUs: which of the other orders of a loop's products, by the clocks that the
                    compiler expects of them, the last one where there are fewer; 0 chooses */
} fa_compile_options;

FA_API fa_compile_options fa_compile_options_default(void);

/* The message of an error, one line per problem; those of the text begin with
 * `name:line:column: error:`, and lines with `note:` follow. Valid until freed. */
FA_API const char *fa_error_message(const fa_error *error);
FA_API void fa_error_free(fa_error *error);

/* Compiles `size` bytes of MLIR text; `options` may be NULL. On success stores
 * a program that the caller frees.
 *
 * With fa_compile_options.backward the program of an entry is that of its gradients, those of
 * sum(do * o) + sum(dlse * lse). The entry returns its output and its lse. The arguments of
 * the program are, by name ("o" and "lse" are those of the entry's results):
 *
 *   those of the entry    that the gradients read (a sink where its own is asked for, say), as the
 *                         forward takes them, dropout's too
 *   o, lse                what the forward wrote; they are inputs
 *   do                    as o: the gradient that flows back into o
 *   dlse                  as lse; with fa_compile_options.dlse
 *   d<name>               outputs, written whole: of each input of floats, in its shape and dtype;
 *                         that of a scalar is a tensor of rank 1 and size 1
 *
 * What was compiled before is found again: in this process by text and options,
 * without looking at them further; else in the folder $FA_CACHE_DIR (empty:
 * none), $XDG_CACHE_HOME/fa-mlir or $HOME/.cache/fa-mlir by the program, the
 * build of this library and the target. The folder holds
 * at most $FA_CACHE_SIZE MiB (1024); any number of processes may share it.
 * Damaged entries are made again. For a GPU it holds PTX and, where there is a
 * ptxas ($FA_PTXAS, empty: none; else on PATH and where CUDA and Triton have it),
 * cubins, which are made while the program runs; a driver that refuses one
 * compiles the PTX. Plain attention comes with packages, as cubins, in a file that
 * is only read: fa.seed beside the library, or $FA_CACHE_SEED (empty: none). Threads that ask for
 * one program at a time wait for the one that compiles it. */
FA_API fa_error *fa_compile(const char *text, size_t size, const fa_compile_options *options,
                            fa_program **program);
FA_API void fa_program_free(fa_program *program);

/* Keeps the choices of `options` (rows, keys, warps, stages, order, leave_out) on disk: from now
 * on compilations of this program for this device that choose none of them, and may look
 * at what is kept, take them, for tensors at multiples of 16 bytes. With none chosen, forgets
 * what was kept. An error where the program does not compile with them, or where nothing can
 * be kept or forgotten. `fa-run --tune` finds good ones. */
FA_API fa_error *fa_keep_choices(const char *text, size_t size, const fa_compile_options *options);

/* The cache on disk: its folder, entries and size, what is wrong with $FA_CACHE_SIZE or
 * why nothing is kept, and what this process found there, as lines. Valid until the
 * thread asks again. */
FA_API const char *fa_cache_info(void);

/* Why a program cannot be compiled for a device, what its launches cannot do, and
 * what makes them slower; each with what to do about it. */
typedef enum fa_reason_kind {
  FA_REFUSED = 0,           /* there is no program */
  FA_REFUSED_AT_LAUNCH = 1, /* launches of this kind are refused */
  FA_SLOWER = 2,            /* it runs, by code that is not the best for the device */
  FA_SLOWER_TO_START = 3    /* it runs, but each process may wait for its code again */
} fa_reason_kind;
typedef struct fa_reason {
  fa_reason_kind kind;
  const char *what;
  const char *remedy; /* "" where there is none */
} fa_reason;
typedef struct fa_reasons fa_reasons;

/* As fa_compile, but tells all there is to tell, each once; `text` may be NULL: of the
 * device alone. The caller frees the list. */
FA_API fa_reasons *fa_explain(const char *text, size_t size, const fa_compile_options *options);
FA_API size_t fa_reasons_count(const fa_reasons *reasons);
/* Valid as long as the list. */
FA_API fa_reason fa_reasons_get(const fa_reasons *reasons, size_t index);
FA_API void fa_reasons_free(fa_reasons *reasons);

/* PTX text or a cubin. */
typedef struct fa_image {
  const void *data;
  size_t size;
} fa_image;

/* Loads a program that was compiled before: `size` bytes of its manifest (JSON,
 * which is trusted in nothing) and the images that it counts. `entry` may be
 * NULL where there is one; `device` is "cuda" or "cuda:N", NULL the first. */
FA_API fa_error *fa_program_load(const char *manifest, size_t size, const fa_image *images,
                                 size_t count, const char *entry, const char *device,
                                 fa_program **program);

/* The same of an artifact: `size` bytes of what `fa-opt --emit=artifact` wrote.
 * One that is damaged is refused. */
FA_API fa_error *fa_artifact_load(const void *data, size_t size, const char *entry,
                                  const char *device, fa_program **program);

/* The arguments of a program: inputs, scalars and outputs. */
FA_API size_t fa_program_num_arguments(const fa_program *program);
FA_API fa_argument_info fa_program_argument(const fa_program *program, size_t index);

/* What a program was compiled for and where it runs; valid as long as it. */
typedef struct fa_program_info {
  const char *target;  /* "cpu", "sm_80", ... */
  const char *device;  /* "cpu", or the name of the GPU */
  double load_seconds; /* what the driver took, compiling PTX, until launches of aligned
                          tensors could begin, by a first tier maybe; 0 on the CPU */
} fa_program_info;
FA_API fa_program_info fa_program_get_info(const fa_program *program);

/* Waits until every variant of a program is loaded; an error where the driver cannot
 * load one. A program for a GPU comes with its fastest variant loaded, for tensors whose
 * addresses and strides are multiples of 16 bytes, while a thread of its own loads the
 * others. A launch that needs one of those waits for it, also while its stream is
 * captured, and fails where it could not be loaded. On sm_90a the fastest variant may
 * come as a first tier, which the driver compiles sooner and which has the same bits:
 * launches take the variant itself once that thread has loaded it, and those that are
 * captured wait for it. So nobody has to call this, but a program that will launch
 * tensors of other variants, or is timed, may want to have waited before. What is kept
 * of the program is on disk then, too. */
FA_API fa_error *fa_program_wait(const fa_program *program);

/* What the driver says of the kernels of a program on a GPU; waits as fa_program_wait. */
typedef struct fa_kernel_info {
  const char *name;
  int32_t threads;      /* of a block */
  int32_t registers;    /* of a thread */
  int32_t local_bytes;  /* of a thread: spilled registers and arrays */
  int64_t shared_bytes; /* of a block */
} fa_kernel_info;
FA_API size_t fa_program_num_kernels(const fa_program *program);
FA_API fa_kernel_info fa_program_kernel(const fa_program *program, size_t index);

/* Bytes of workspace that a launch with these arguments needs. */
FA_API fa_error *fa_program_workspace_size(const fa_program *program, const fa_argument *arguments,
                                           size_t count, uint64_t *bytes);

/* Runs the program: reads the inputs, writes every element of the outputs.
 * Every argument is bound once, by name. No output overlaps another argument: that is
 * not checked, and gives wrong numbers. `workspace` has at least the bytes
 * asked for above, aligned to 64, or is NULL where none are needed; what is in it
 * does not matter, but launches that may run at the same time, also by graphs, each
 * need one of their own. On the CPU
 * the call returns when the results are there and `stream` is not used. On a
 * GPU the kernels are put on `stream`: nothing is allocated and nothing waited
 * for, so that a stream that is captured in a graph captures them, and an error
 * of a kernel shows at a later call. A variant of the program is chosen by the
 * alignment of pointers and strides; where none fits the error says why. */
FA_API fa_error *fa_program_launch(const fa_program *program, void *stream,
                                   const fa_argument *arguments, size_t count, void *workspace,
                                   uint64_t workspace_bytes);

/* A launch whose dtypes, sizes and strides are known beforehand: they are checked once, so that a
 * launch costs less. It keeps its program, which may be freed; any number of threads may launch
 * one. */
typedef struct fa_prepared fa_prepared;

/* A scalar: `f` for floats, `i` for integers. */
typedef union fa_number {
  double f;
  int64_t i;
} fa_number;

/* Prepares launches with arguments such as these, each bound once: as fa_program_launch, but data,
 * byte offsets and scalars are not looked at. */
FA_API fa_error *fa_prepare(const fa_program *program, const fa_argument *arguments, size_t count,
                            fa_prepared **prepared);
FA_API void fa_prepared_free(fa_prepared *prepared);
/* Bytes of workspace that each of its launches needs. */
FA_API uint64_t fa_prepared_workspace_size(const fa_prepared *prepared);

/* Launches as fa_program_launch does: `pointers` holds the address of the first element of each
 * tensor, `numbers` each scalar, both in the order that fa_prepare had them in. */
FA_API fa_error *fa_prepared_launch(fa_prepared *prepared, void *stream, void *const *pointers,
                                    const fa_number *numbers, void *workspace,
                                    uint64_t workspace_bytes);

/* A device: its memory and its clock. "cpu" is one, so that one program of a
 * user's serves both; there streams are not used. Handles may be used from any
 * thread. Whoever has other means (PyTorch, the CUDA runtime) needs none of it:
 * programs take any device memory of their device's primary context. In a thread
 * without a current context that of device 0 stays current behind a call, as it
 * does behind calls of the CUDA runtime; no other current context is changed. */
typedef struct fa_device fa_device;
typedef struct fa_event fa_event;

typedef struct fa_device_info {
  const char *name;     /* "NVIDIA H200"; "cpu" */
  int32_t major, minor; /* compute capability */
  int32_t multiprocessors;
  int32_t driver_version; /* 12040 is CUDA 12.4 */
  int64_t shared_bytes;   /* the most that a block can have */
} fa_device_info;

/* Opens "cpu", "cuda" (the first) or "cuda:N". */
FA_API fa_error *fa_device_open(const char *name, fa_device **device);
/* Not before its events are freed. */
FA_API void fa_device_close(fa_device *device);
/* Valid as long as the device; all but the name are 0 on the CPU. */
FA_API fa_device_info fa_device_get_info(const fa_device *device);
/* Bytes of memory, those free now and all of them. */
FA_API fa_error *fa_device_memory(const fa_device *device, uint64_t *available, uint64_t *total);

/* Memory aligned to 256 bytes; `bytes` may be 0. */
FA_API fa_error *fa_device_alloc(const fa_device *device, uint64_t bytes, void **pointer);
/* NULL is allowed. */
FA_API fa_error *fa_device_free(const fa_device *device, void *pointer);
/* Copies between any two of host and device memory, after all work on the
 * default stream; returns when host memory may be used again. */
FA_API fa_error *fa_device_copy(const fa_device *device, void *to, const void *from,
                                uint64_t bytes);
/* Sets bytes. */
FA_API fa_error *fa_device_fill(const fa_device *device, void *pointer, uint8_t value,
                                uint64_t bytes);
/* Waits for all work on the device. Errors of kernels show here. */
FA_API fa_error *fa_device_synchronize(const fa_device *device);

/* A point in time on a stream. */
FA_API fa_error *fa_event_create(const fa_device *device, fa_event **event);
FA_API void fa_event_free(fa_event *event);
FA_API fa_error *fa_event_record(fa_event *event, void *stream);
/* Waits for `end`; the seconds between two events that were recorded. */
FA_API fa_error *fa_event_elapsed(const fa_event *begin, const fa_event *end, double *seconds);

/* The version of the library, "major.minor.patch". */
FA_API const char *fa_version(void);

#ifdef __cplusplus
}
#endif

#endif /* FA_FA_C_H */

#pragma once

// What stands before a function that the CPU's loops and CUDA's kernels both call. Such functions are of
// scalars and small blocks, include nothing of libtorch, and are always inlined: so a loop is compiled for
// the instructions of its caller.
#ifdef __CUDACC__
#define MEDLEY_BOTH [[gnu::always_inline]] __host__ __device__ inline
#else
#define MEDLEY_BOTH [[gnu::always_inline]] inline
#endif

// Before a loop whose steps touch nothing in common: compilers cannot see that arrays do not overlap, and
// would not vectorize it.
#if defined(__CUDACC__)
#define MEDLEY_INDEPENDENT
#elif defined(__clang__)
#define MEDLEY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define MEDLEY_INDEPENDENT _Pragma("GCC ivdep")
#endif

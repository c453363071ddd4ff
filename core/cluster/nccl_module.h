#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstddef>

namespace medley {

// Of medley_nccl.so, under kMakeNccl: c10d's NCCL among the processes that share the store. Whoever asks has
// libtorch_cuda.so open. Throws what c10d throws.
using MakeNccl = void(c10::intrusive_ptr<c10d::Backend>& made, const c10::intrusive_ptr<c10d::Store>& store,
                      int rank, int size, std::chrono::milliseconds timeout);
inline constexpr const char* kMakeNccl = "medley_make_nccl";

// Of medley_nccl.so: bytes of ProcessGroupNCCL and its Options, as its headers have them. A test compares
// them with what libtorch allocates.
extern "C" const std::size_t medley_nccl_sizes[2];

}  // namespace medley

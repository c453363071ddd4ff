#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace medley {

// c10d's Gloo, which listens on the address of `host`. Throws what c10d throws.
c10::intrusive_ptr<c10d::Backend> MakeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                  int size, const std::string& host,
                                                  std::chrono::milliseconds timeout);

// Bytes of ProcessGroupGloo and its Options, as the stand-in headers let the compiler see
// them: a test compares them with what libtorch allocates.
extern const std::array<std::size_t, 2> kGlooSizes;

}  // namespace medley

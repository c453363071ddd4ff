#pragma once

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Bytes of CPU tensors that a product of half types takes beside its operands and its result, while it runs.
// Which it is hangs on the kernels that oneDNN has for this CPU: with bf16 in hardware they pack pieces of
// the operands in each thread, with AVX-512 alone they sum the whole result in float, and without it nothing
// is taken that the allocator sees.
struct ProductWorkspace {
  std::int64_t forward = 0;       // x W^T, however many rows
  std::int64_t backward = 0;      // the gradients of x and of W
  std::int64_t result_bytes = 0;  // and for each number of the result

  std::int64_t Forward(std::int64_t results) const { return forward + result_bytes * results; }
  std::int64_t Backward(std::int64_t results) const { return backward + result_bytes * results; }
};

// Finds what products with the matrices among these parameters take, by the threads in use, by running small
// ones, each once in a process. All 0 for other than half types, and where InstallCpuAllocator was not
// called. Resets the peak, so it is to be called where nobody measures. Of a product that threw nothing is
// remembered.
ProductWorkspace WorkspaceOf(const std::vector<Parameter>& parameters);

}  // namespace medley

#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Bytes of CPU tensors that products of half types, and attention of any type, take beside their operands and
// results while they run.
//
// Which they are hangs on the kernels that libtorch and oneDNN have for this CPU: with bf16 in hardware they
// pack pieces of the operands in each thread, with AVX-512 alone they sum the whole result in float, and
// without it nothing is taken that the allocator sees. So all of it is asked of the machine.
struct ProductWorkspace {
  at::ScalarType dtype = at::kFloat;
  std::int64_t forward = 0;       // x W^T, however many rows
  std::int64_t backward = 0;      // the gradients of x and of W
  std::int64_t result_bytes = 0;  // and for each number of the result
  bool packs_keys = false;        // attention of half types does, whatever it does here

  // Adds to what the part, in bytes, has beside `kept` what its widest product or its attention takes.
  void AddTo(ForwardPart& part) const;
};

// Finds what products with the matrices among these parameters take, by the threads in use, by running small
// ones, each once in a process; whoever measures a peak around it does not see them. All 0 for other than
// half types, and where InstallCpuAllocator was not called. Of a product that threw nothing is remembered.
ProductWorkspace WorkspaceOf(const std::vector<Parameter>& parameters);
// The most of that on any machine with as many threads in use, for an estimate of what another one takes.
ProductWorkspace LargestWorkspaceOf(const std::vector<Parameter>& parameters);

}  // namespace medley

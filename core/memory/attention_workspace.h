#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include <medley/model/model.h>

namespace medley {

// Bytes that attention on the CPU takes beside what it reads and gives, by the threads in use.
struct AttentionWorkspace {
  std::int64_t forward = 0, backward = 0;
};

// Runs attention of that shape, or of a few of its rows, once in a process; whoever measures a peak around it
// does not see it. 0 where InstallCpuAllocator was not called.
AttentionWorkspace WorkspaceOf(const AttentionShape& shape, at::ScalarType dtype);

}  // namespace medley

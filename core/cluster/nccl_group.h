#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <medley/cluster/group.h>
#include <medley/cluster/peers.h>

namespace medley {

// Why this process has no NCCL, as half a sentence; "" where it has. After LoadCuda. NCCL's c10d lies in
// libtorch_cuda.so, which libmedley does without, so it is reached through a library of its own,
// medley_nccl.so.
std::string NcclProblem();

// Processes, each with a GPU of its own, that exchange what lies there (c10d's NCCL); also one alone. Takes
// memory of the GPU beside its allocator's, so before a budget is made of what is free. An Error where
// NcclProblem says why, and what c10d throws where they do not come together. `peers`: as JoinGloo says.
std::unique_ptr<ProcessGroup> JoinNccl(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                       std::int64_t size, at::Device device,
                                       std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers = {});

}  // namespace medley

#pragma once

#include <gtest/gtest.h>
#include <medley/cluster/store_group.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace medley::test {

// Each rank a thread of this process, with a real group of c10d's Gloo. c10d records what its groups do in
// one map of the process, which is made for one thread: here it is off.
inline void AsRanks(std::int64_t ranks, const std::function<void(ProcessGroup&)>& work,
                    std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::jthread> threads;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto group = JoinGloo(store, rank, ranks, "127.0.0.1", timeout);
        work(*group);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

}  // namespace medley::test

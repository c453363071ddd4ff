#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// What the bytes of a step's peak were for. They add up to it: activations are what the others leave over.
struct MemoryLedger {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;  // that were there at the peak: fewer than a step leaves
  std::int64_t optimizer = 0;
  std::map<std::string, std::int64_t> constants{};  // by task, those that have any
  std::int64_t inputs = 0;  // rows that are worked on; on the CPU also those that wait
  std::int64_t activations = 0;
  // What else lives between the steps: the model's tables; on a GPU the workspaces of its libraries.
  std::int64_t workspace = 0;
  std::int64_t unused = 0;  // held by the allocator at the peak, in use by nobody

  std::int64_t constant_bytes() const;
  std::int64_t total() const;
  // "weights 1.5 MiB, gradients 1.5 MiB, ...": those that are not 0, the tasks' constants in one.
  std::string Words() const;
};

nlohmann::ordered_json ToJson(const MemoryLedger& ledger);

}  // namespace medley

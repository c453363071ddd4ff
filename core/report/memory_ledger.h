#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// Bytes that are there at one moment, by what they are for. They add up to it.
struct MemoryLedger {
  std::int64_t weights = 0;    // the parameters: to people "weights" is the mixture alone
  std::int64_t gradients = 0;  // that are there at the moment: fewer than a step leaves
  std::int64_t optimizer = 0;
  std::int64_t references = 0;   // further weights that passes ask, beside those that the model has itself
  std::int64_t constants = 0;    // the tasks' tables
  std::int64_t inputs = 0;       // rows that are worked on; on the CPU also those that wait
  std::int64_t activations = 0;  // beside the next three, which only an estimate tells apart
  std::int64_t prefix = 0;       // images in front of text: keys, values and what those are made from
  std::int64_t logits = 0;
  std::int64_t working = 0;  // what lives for a moment only
  // What else lives between the steps: the model's tables, where they are not among the weights; on a GPU the
  // workspaces of its libraries.
  std::int64_t workspace = 0;
  std::int64_t unused = 0;  // held by the allocator, in use by nobody

  std::int64_t total() const;
  // "parameters 1.5 MiB, gradients 1.5 MiB, ...": those that are not 0.
  std::string Words() const;
};

// The lines that a run measures; `constants`: by task, those that have any.
nlohmann::ordered_json ToJson(const MemoryLedger& ledger,
                              const std::map<std::string, std::int64_t>& constants);

}  // namespace medley

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace medley {

// The place of this process among those that train one run together, as who started them says it.
struct RankPlace {
  std::int64_t rank = 0, size = 1;
  std::int64_t local_rank = 0, local_size = 1;  // among those of this machine
  std::string host;                             // of the process with rank 0, or of who keeps the store
  std::int64_t port = 0;                        // of the store, by which they find each other
  bool store_is_kept = false;                   // by who started them; else by rank 0
  std::string generation;                       // other for each start of them, also after a restart,
  bool generation_is_own = false;               // where who started them gives starts names
  std::string starter;                          // "torchrun", for words

  bool operator==(const RankPlace&) const = default;
  std::string Where() const { return host + ":" + std::to_string(port); }
};

// A variable of the environment; nothing where it is not set or empty.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;

// Reads what torchrun and `medley launch` set, else what srun sets, else Open MPI's mpirun. Without any of
// them, a process alone. Who started this script with sbatch, and not this process with srun, is no starter.
// InputError for half of a set, numbers that cannot be, and starters that say different places.
RankPlace FindRankPlace(const EnvironmentLookup& environment);
RankPlace FindRankPlace();

}  // namespace medley

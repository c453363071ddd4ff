#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <medley/model/adapters.h>
#include <medley/model/model.h>

namespace medley {

// Which weights of a checkpoint: those that training goes on with, or their average where it has one.
enum class SavedWeights { kTrained, kAveraged };
// Loads only the weights whose names match one of the patterns (* and ?); every parameter that matches must
// be there. Adapters that the checkpoint has and the model has not are merged into its weights, on the CPU in
// float; those that the model alone has are left as they are; where both have some, they must be the same.
// `anew`: names of parameters that are left as they are, whatever the checkpoint has of them.
struct TakenWeights {
  std::size_t count = 0;
  std::string adapters{};  // what became of them, in words; "": neither has any, or they were taken
  bool averaged = false;
};
TakenWeights LoadWeights(const std::filesystem::path& checkpoint, const std::vector<Parameter>& weights,
                         const std::vector<std::string>& patterns = {"*"}, const Adapters& adapters = {},
                         SavedWeights kind = SavedWeights::kTrained, const std::set<std::string>& anew = {});

}  // namespace medley

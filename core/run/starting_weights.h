#pragma once

#include <string>
#include <vector>

#include <medley/plugin/model_file.h>
#include <medley/weights/pretrained_weights.h>

namespace medley {

// Where a model's file says that its parameters begin: in the folder of its language, and in that of its
// tower. `missing` and `unexpected`: patterns of a run's allow_missing and allow_unexpected.
PretrainedWeights::Setting StartingWeightsOf(const ModelFile& file, const std::vector<std::string>& missing,
                                             const std::vector<std::string>& unexpected);

}  // namespace medley

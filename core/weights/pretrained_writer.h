#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Written as Hugging Face does, above it several files.
inline constexpr std::int64_t kShardBytes = 5'000'000'000;

// Writes the parameters of a model as PretrainedWeights reads them: a language's under their published names,
// in kPretrainedWeightsFile or in shards of at most `shard_bytes` with an index, and the others in
// kImageWeightsFile. `root` is in front of the published names; `type`: of the language's values in the
// files, the others keep theirs.
void WritePretrainedWeights(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
                            const std::string& root, at::ScalarType type,
                            std::int64_t shard_bytes = kShardBytes);

// Those others alone.
void WriteImageWeights(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
                       const std::string& root);

}  // namespace medley

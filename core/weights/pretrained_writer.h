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

// What is in front of the published names of a model's parameters.
struct PublishedRoots {
  std::string language{};
  std::string tower{}, projector{};  // "": there is none

  // What the published checkpoint calls a parameter, that of a LLaVA where there is a tower; "" for another
  // part of the model.
  std::string NameOf(const std::string& parameter) const;
};

// Writes the parameters of a model as PretrainedWeights reads them: a language's, and with a tower a LLaVA's,
// under their published names, in kPretrainedWeightsFile or in shards of at most `shard_bytes` with an index,
// and the others in kImageWeightsFile. `type`: of the published values in the files, the others keep theirs.
// Beside a tower lies the norm that transformers' class has behind the state that is taken.
void WritePretrainedWeights(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
                            const PublishedRoots& roots, at::ScalarType type,
                            std::int64_t shard_bytes = kShardBytes);

// Those others alone.
void WriteImageWeights(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
                       const PublishedRoots& roots);

}  // namespace medley

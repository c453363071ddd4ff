#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/plugin/registry.h>
#include <medley/run/run_files.h>

namespace medley {

// The Hugging Face folder that a run config's model begins with, as far as it is there. Only config.json of
// one can lie in a repository; the rest is somebody's to put there.
struct PublishedFiles {
  std::filesystem::path folder{};  // "": the model begins with none
  std::string lacks_tokenizer{};  // the vocabulary that the config names in the folder, where it is not there

  // An InputError with all that the folder lacks: where the run cannot even be checked, and where its weights
  // are not there.
  void Require() const;
  void RequireWeights() const;
  // Where the vocabulary is not there: has texts counted by configs/tokenizers/small.model instead, for who
  // asks for sizes alone. Returns words about it, "" where nothing was added.
  std::string CountBySmallModel(std::vector<std::string>& overrides) const;
};

// `files`: of that config, which know what lies elsewhere now. Never throws: what is wrong with the files is
// CheckRun's to report.
PublishedFiles PublishedFilesOf(const std::filesystem::path& config, const RunFiles& files,
                                const Registry& registry);

}  // namespace medley

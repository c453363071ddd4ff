#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

// The Hugging Face folder that a run config's model begins with, as far as it is there. Only config.json of
// one can lie in a repository; the rest is somebody's to put there.
struct PublishedFiles {
  std::filesystem::path folder;  // "": the model begins with none
  bool lacks_tokenizer = false;  // the config names a vocabulary in the folder, which is not there
  bool lacks_weights = false;

  // An InputError with all that the folder lacks.
  void Require() const;
  // Where the vocabulary is not there: has texts counted by configs/tokenizers/small.model instead, for who
  // asks for sizes alone. Returns words about it, "" where nothing was added.
  std::string CountBySmallModel(std::vector<std::string>& overrides) const;
};

// Never throws: what is wrong with the files is CheckRun's to report.
PublishedFiles PublishedFilesOf(const std::filesystem::path& config,
                                const std::vector<std::string>& overrides);

}  // namespace medley

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <medley/base/file_watch.h>
#include <medley/base/files.h>
#include <medley/run/validate.h>

namespace medley {

// A run's own weights file, which people edit while it trains: watched and read by this process. Of several
// processes the first one watches and reads, and tells all once a step, itself too (StepAgreement).
class WeightsFile {
 public:
  struct Look {
    std::optional<std::string> text;
    std::string problem;  // why there is none
  };
  WeightsFile(std::filesystem::path path, bool of_one_process)
      : path_(std::move(path)), watches_(of_one_process), watch_(path_) {}

  const std::filesystem::path& path() const { return path_; }
  // Whether it may have changed since the last call; where all are told, as of the last step.
  bool MayHaveChanged() { return watches_ ? watch_.Changed() : std::exchange(is_new_, false); }
  Look Read() const { return watches_ ? ReadHere() : told_; }
  // Now and by this process.
  Look ReadHere() const {
    try {
      return {.text = ReadFile(path_, kLargestWeightsFile), .problem = ""};
    } catch (const InputError& error) {
      return {.text = std::nullopt, .problem = error.what()};
    }
  }

  // What the first process has to tell; the first time always, of what was written before the watch.
  std::optional<Look> News() {
    return watch_.Changed() || !was_told_ ? std::optional(ReadHere()) : std::nullopt;
  }
  void Tell(Look look) {
    told_ = std::move(look);
    is_new_ = was_told_ = true;
  }

 private:
  std::filesystem::path path_;
  bool watches_ = true, is_new_ = false, was_told_ = false;
  FileWatch watch_;
  Look told_;
};

}  // namespace medley

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/data/class_names.h>
#include <medley/data/item_stream.h>
#include <medley/task/task.h>

#include "pose/clip_reader.h"
#include "pose/clip_source.h"

namespace medley_signs {

// The clips of "data", and of "validation" for evaluations where there is one; else signers are kept apart by
// "held_out" where the file names them, else clips are.
class FileClips final : public ClipSource {
 public:
  // Reads the labels of both files: an InputError with file and line for one that is none of the run's.
  explicit FileClips(const medley::TaskContext& context);

  Clip Draw(medley::Row& row) const override;
  const medley::ItemStream* Items() const override { return &*stream_; }
  std::vector<std::int64_t> TrainingCounts() const override;

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t item = 0, label = 0, signer = 0;
  };
  void Add(const medley::TaskContext& context, const char* option);
  std::vector<std::uint64_t> GroupBySigner();
  // The clips of an item of the stream.
  const std::vector<std::size_t>& Group(const medley::RowRange& rows, std::int64_t row) const;

  medley::ClassTable classes_;
  std::vector<std::unique_ptr<ClipReader>> files_;
  std::vector<Place> clips_;  // of both files
  std::vector<std::vector<std::size_t>> groups_;
  std::optional<medley::ItemStream> stream_;
};

// How clips of files are taken, by the options.
struct ClipForm {
  YAxis y = YAxis::kDown;
  bool swap_hands = true;
};
ClipForm FormOf(const medley::TaskOptions& options);

// One clip of a file, whose labels do not count; `row`: of a .csv file of many, -1 where it is its only one.
// InputErrors as those of the readers, and where there is no such row.
Clip ReadClip(const std::filesystem::path& file, std::int64_t row, const ClipForm& form);

// The labels of "data", each once.
std::vector<std::string> ClassesOfFile(const medley::TaskOptions& options);

}  // namespace medley_signs

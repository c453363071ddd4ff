#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/data/csv_file.h>

#include "pose/clip_reader.h"

namespace medley_signs {

// kIgnored: of who asks what a clip is.
enum class Labels { kRequired, kIgnored };

// A file of clips as SPOTER has them, one a record: for each joint two columns, "nose_X" and "nose_Y", with
// its places in the frames ("[0.5, 0.25]", in parts of the picture's sides; 0 and 0: not found), and
// "labels", numbers or words. Hands are "_left_" and "_right_", "_Left_" and "_Right_" or "_0_" and "_1_";
// without a "neck" it is between the shoulders. "signer" (from 0), "video_fps", "video_size_width" and
// "video_size_height" may be missing.
class ClipFile final : public ClipReader {
 public:
  // InputError where a column is missing.
  ClipFile(const std::filesystem::path& file, YAxis y, Labels labels = Labels::kRequired);

  std::int64_t size() const override { return file_.size(); }
  bool has_signers() const override { return signer_.has_value(); }
  // Errors, with file, line and column, for lists of unlike lengths, values that are no finite numbers, or a
  // picture's size out of range.
  Clip Read(std::int64_t item) const override;
  // Reads the whole file.
  std::vector<Subject> Subjects() const override;
  std::span<const std::uint64_t> hashes() const override { return file_.hashes(); }
  std::string PlaceOfLabel(std::int64_t item) const override;

 private:
  std::int64_t Integer(const std::vector<std::string>& fields, std::size_t column, std::int64_t low,
                       std::int64_t high, std::int64_t item) const;
  std::optional<std::size_t> ColumnIfAny(std::string_view name) const;
  [[noreturn]] void Fail(std::int64_t item, std::size_t column, const std::string& what) const;

  medley::CsvFile file_;
  YAxis y_;
  struct JointColumns {
    std::size_t joint, x, y;
  };
  std::vector<JointColumns> joints_;
  std::optional<std::size_t> label_;  // none: ignored
  std::optional<std::size_t> signer_, fps_, width_, height_;
};

// Labels from 1. Numbers are written so that reading them gives the same bits.
void WriteClips(const std::filesystem::path& file, std::span<const Clip> clips);

}  // namespace medley_signs

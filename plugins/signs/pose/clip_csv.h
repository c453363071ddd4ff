#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/data/csv_file.h>

#include "pose/clip.h"

namespace medley_signs {

// Which way y grows in a file. Nothing here guesses it: with the wrong one a box lies on the wrong side of
// the head.
enum class YAxis { kDown, kUp };

// A file of clips, one a record: for each joint two columns, "nose_X" and "nose_Y", with its places in the
// frames ("[0.5, 0.25]", in parts of the picture's sides; 0 and 0: not found), and "labels" (from 1).
// "signer" (from 0), "video_fps", "video_size_width" and "video_size_height" may be missing. Many threads may
// read at once.
class ClipFile {
 public:
  // `classes`: labels are 1 to so many. InputError where a column is missing.
  ClipFile(const std::filesystem::path& file, std::int64_t classes, YAxis y);

  std::int64_t size() const { return file_.size(); }
  bool has_signers() const { return signer_.has_value(); }
  // 0 <= item < size(). An InputError with file, line and column for lists of unlike lengths, values that are
  // no finite numbers, a label or a picture's size out of range, or a clip in which no joint was found.
  Clip Read(std::int64_t item) const;
  // The clips of each signer. Reads the whole file.
  std::map<std::int64_t, std::vector<std::int64_t>> BySigner() const;
  std::span<const std::uint64_t> hashes() const { return file_.hashes(); }

 private:
  std::int64_t Integer(const std::vector<std::string>& fields, std::size_t column, std::int64_t low,
                       std::int64_t high, std::int64_t item) const;
  std::optional<std::size_t> ColumnIfAny(std::string_view name) const;
  [[noreturn]] void Fail(std::int64_t item, std::size_t column, const std::string& what) const;

  medley::CsvFile file_;
  std::int64_t classes_;
  YAxis y_;
  std::vector<std::size_t> x_columns_, y_columns_;  // by joint
  std::size_t label_;
  std::optional<std::size_t> signer_, fps_, width_, height_;
};

// Numbers are written so that reading them gives the same bits.
void WriteClips(const std::filesystem::path& file, std::span<const Clip> clips);

}  // namespace medley_signs

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/rows.h>
#include <medley/data/item_stream.h>

namespace medley {

// The items of files as a task's endless stream: of one file for training and one for evaluations,
//   Splits<JsonlFile> lines_{context.Path("train"), context.Path("validation")};
// or of one file, of which a part is held out by an option,
//   Splits<JsonlFile> lines_{context.Path("data"), context.HeldOut("held_out")};
// or of either, as the user has it: "held_out" counts where there is no validation file.
//   Splits<JsonlFile> lines_{context.Path("data"), context.Path("validation"), context.HeldOut("held_out")};
// `File` is JsonlFile, CsvFile or a class like them, with size(), Read(item) and, where a part is held out,
// hashes(). As many threads may read at once as may read a File.
template <typename File>
class Splits {
 public:
  // InputErrors as those of File and ItemStream.
  Splits(const std::filesystem::path& training, const std::filesystem::path& held_out)
      : training_(training),
        held_out_(std::in_place, held_out),
        stream_(SplitSizes{SizeOf(training_, training), SizeOf(*held_out_, held_out)}) {}
  Splits(const std::filesystem::path& file, const HeldOutItems& held_out)
      : training_(file), stream_((SizeOf(training_, file), held_out), training_.hashes()) {}
  // `validation` "": there is none.
  Splits(const std::filesystem::path& training, const std::filesystem::path& validation,
         const HeldOutItems& held_out)
      : training_(training),
        held_out_(validation.empty() ? std::nullopt : std::optional<File>(std::in_place, validation)),
        stream_((SizeOf(training_, training), held_out_)
                    ? ItemStream((SizeOf(*held_out_, validation),
                                  HoldOutFile(held_out, training_.hashes(), held_out_->hashes())))
                    : ItemStream(held_out, training_.hashes())) {}
  // By place: see ItemStream.
  Splits(const std::filesystem::path& file, std::int64_t held_out, std::string_view name)
      : training_(file), stream_(SizeOf(training_, file), held_out, name) {}

  // What Task::Items hands out.
  const ItemStream& stream() const { return stream_; }

  // Calls fn(file, item) for each item of the files, in the order in which the stream counts them.
  template <typename Fn>
  void ForEach(const Fn& fn) const {
    for (std::int64_t item = 0; item < training_.size(); ++item) fn(training_, item);
    for (std::int64_t item = 0; held_out_ && item < held_out_->size(); ++item) fn(*held_out_, item);
  }

  // The item that row `row` of the range shows, as File::Read gives it.
  auto Read(const RowRange& rows, std::int64_t row) const {
    const std::int64_t item = stream_.ItemOf(rows, row);
    const bool is_behind = held_out_ && item >= training_.size();
    return is_behind ? held_out_->Read(item - training_.size()) : training_.Read(item);
  }
  // Of the row that a driver asks for (task/drivers/row.h).
  template <typename Row>
  auto Read(const Row& row) const {
    return Read(row.range, row.number);
  }

 private:
  static std::int64_t SizeOf(const File& file, const std::filesystem::path& path) {
    if (file.size() > 0) return file.size();
    throw InputError(DisplayPath(path) + " has no items; expected one at least");
  }

  File training_;
  std::optional<File> held_out_;
  ItemStream stream_;
};

}  // namespace medley

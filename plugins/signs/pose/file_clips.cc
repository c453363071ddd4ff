#include "pose/file_clips.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <medley/base/files.h>
#include <medley/data/item_hash.h>

#include "pose/clip_csv.h"
#include "pose/clip_json.h"

namespace medley_signs {
namespace {

std::unique_ptr<ClipReader> OpenedAt(const std::filesystem::path& path, const ClipForm& form, Labels labels) {
  std::error_code unknown;
  if (path.extension() != ".json" && !std::filesystem::is_directory(path, unknown))
    return std::make_unique<ClipFile>(path, form.y, labels);
  return std::make_unique<LandmarkFiles>(path, form.y, form.swap_hands);
}

std::unique_ptr<ClipReader> Opened(const medley::TaskOptions& options, const char* option) {
  return OpenedAt(options.Path(option), FormOf(options), Labels::kRequired);
}

}  // namespace

ClipForm FormOf(const medley::TaskOptions& options) {
  return {.y = options.Switch("y_up") ? YAxis::kUp : YAxis::kDown,
          .swap_hands = options.Switch("swap_hands")};
}

Clip ReadClip(const std::filesystem::path& file, std::int64_t row, const ClipForm& form) {
  const std::unique_ptr<ClipReader> reader = OpenedAt(file, form, Labels::kIgnored);
  const std::int64_t clips = reader->size();
  const std::string has = medley::DisplayPath(file) + " has " + std::to_string(clips) + " clip(s)";
  if (row < 0 && clips != 1) throw medley::InputError(has + "; say which one, the first is row 0 (--row)");
  if (row >= clips)
    throw medley::InputError(has + ", and no row " + std::to_string(row) + ", counted from 0");
  return reader->Read(std::max<std::int64_t>(row, 0));
}

std::vector<std::string> ClassesOfFile(const medley::TaskOptions& options) {
  std::set<std::string> labels;
  for (ClipReader::Subject& subject : Opened(options, "data")->Subjects())
    labels.insert(std::move(subject.label));
  return medley::SortedClasses(labels);
}

FileClips::FileClips(const medley::TaskContext& context) : classes_(context.Classes()) {
  using medley::ItemStream;
  const medley::HeldOutItems held_out = context.HeldOut("held_out", "signs");
  Add(context, "data");
  const bool has_validation = !context.Path("validation").empty();
  if (has_validation) Add(context, "validation");
  if (!has_validation && files_[0]->has_signers()) {
    stream_.emplace(held_out, GroupBySigner(), ItemStream::Shows::kPartOfItem);
    return;
  }
  for (std::size_t clip = 0; clip < clips_.size(); ++clip) groups_.push_back({clip});
  if (!has_validation) {
    stream_.emplace(held_out, files_[0]->hashes());
    return;
  }
  stream_.emplace(medley::HoldOutFile(held_out, files_[0]->hashes(), files_[1]->hashes()));
  if (files_[1]->is_told_by_names())
    context.Say("a clip stands in two folders where its file's name is in both: nothing else is compared");
}

void FileClips::Add(const medley::TaskContext& context, const char* option) {
  const ClipReader& file = *files_.emplace_back(Opened(context, option));
  std::int64_t item = 0;
  for (const ClipReader::Subject& subject : file.Subjects()) {
    clips_.push_back({.file = files_.size() - 1,
                      .item = item,
                      .label = classes_.Require(subject.label, [&] { return file.PlaceOfLabel(item); }),
                      .signer = subject.signer});
    ++item;
  }
  if (const std::optional<double> below = ShouldersBelowNose(file)) {
    const std::string up = context.Switch("y_up") ? "false" : "true";
    context.Say(std::to_string(item) + " clips of " + medley::DisplayPath(context.Path(option)) +
                "; shoulders stand below the nose in " + std::to_string(std::lround(100 * *below)) +
                " % of the frames of the first ones" +
                (*below < 0.5 ? ": as if y grew the other way, try y_up=" + up : ""));
  }
}

std::vector<std::uint64_t> FileClips::GroupBySigner() {
  std::map<std::int64_t, std::vector<std::size_t>> by_signer;
  for (std::size_t clip = 0; clip < clips_.size(); ++clip) by_signer[clips_[clip].signer].push_back(clip);
  std::vector<std::uint64_t> hashes;
  for (auto& [signer, clips] : by_signer) {
    hashes.push_back(medley::HashItem(std::to_string(signer)));
    groups_.push_back(std::move(clips));
  }
  return hashes;
}

const std::vector<std::size_t>& FileClips::Group(const medley::RowRange& rows, std::int64_t row) const {
  return groups_[static_cast<std::size_t>(stream_->ItemOf(rows, row))];
}

Clip FileClips::Draw(medley::Row& row) const {
  const std::vector<std::size_t>& group = Group(row.range, row.number);
  const Place& place = clips_[group[static_cast<std::size_t>(row.random.Below(std::ssize(group)))]];
  Clip clip = files_[place.file]->Read(place.item);
  clip.label = place.label;
  return clip;
}

std::vector<std::int64_t> FileClips::TrainingCounts() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes_.size()));
  for (std::int64_t row = 0; row < stream_->size(medley::Split::kTraining); ++row) {
    for (const std::size_t clip : Group({}, row)) ++counts[static_cast<std::size_t>(clips_[clip].label)];
  }
  return counts;
}

}  // namespace medley_signs

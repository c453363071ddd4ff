#include "data/source.h"

#include <string>
#include <vector>

#include <medley/base/files.h>
#include <medley/data/item_hash.h>

namespace medley_volumes {

FileConversations::FileConversations(const std::filesystem::path& file, const medley::HeldOutItems& held_out,
                                     const Limits& limits, const ReadingForm& form)
    : file_(file, form), orientation_(form.scans.orientation) {
  std::vector<std::uint64_t> hashes;
  for (const std::string& subject : file_.subjects()) hashes.push_back(medley::HashItem(subject));
  stream_.emplace(held_out, hashes, medley::ItemStream::Shows::kPartOfItem);
  for (std::int64_t item = 1; item < file_.size(); ++item) {
    if (limits.Tokens(file_.scans(item)) > limits.Tokens(file_.scans(longest_))) longest_ = item;
  }
}

Conversation FileConversations::Draw(medley::Row& row) const {
  if (row.longest()) return file_.Read(longest_);
  const auto& own = file_.by_subject()[static_cast<std::size_t>(stream_->ItemOf(row.range, row.number))];
  return file_.Read(own[static_cast<std::size_t>(row.random.Below(std::ssize(own)))]);
}

// A wrong way round swaps left and right, and nothing else shows it.
std::vector<std::string> FileConversations::Words() const {
  std::vector<std::string> words;
  for (const auto& [modality, path] : file_.first_nifti()) {
    const bool is_series = modality == Modality::kSeries;
    words.push_back(std::string(orientation_ == Orientation::kRas ? "turns " : "takes ") +
                    (is_series ? "series" : "volumes") +
                    (orientation_ == Orientation::kRas ? " to RAS" : " as they are stored") +
                    "; the first, " + medley::DisplayPath(path) + ", has " + NiftiWords(path));
  }
  return words;
}

}  // namespace medley_volumes

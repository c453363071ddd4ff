#include "data/source.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <medley/base/files.h>
#include <medley/data/item_hash.h>

namespace medley_volumes {

FileConversations::FileConversations(const std::filesystem::path& file, const medley::HeldOutItems& held_out,
                                     const Limits& limits, const ReadingForm& form,
                                     const std::filesystem::path& validation, std::int64_t cache)
    : file_(file, form),
      validation_(validation.empty() ? std::nullopt
                                     : std::optional<ConversationFile>(std::in_place, validation, form)),
      orientation_(form.scans.orientation),
      cache_(cache) {
  Divide(held_out);
  CountAnswers();
  std::int64_t most = 0;
  for (std::int64_t at = 0; at < file_.size() + (validation_ ? validation_->size() : 0); ++at) {
    const std::int64_t tokens =
        limits.Tokens(at < file_.size() ? file_.scans(at) : validation_->scans(at - file_.size()));
    if (tokens > most) longest_ = at, most = tokens;
  }
}

void FileConversations::Divide(const medley::HeldOutItems& held_out) {
  if (validation_) {
    stream_.emplace(medley::HoldOutFile(held_out, file_.hashes(), validation_->hashes()));
    return;
  }
  std::vector<std::uint64_t> hashes;
  for (const std::string& subject : file_.subjects()) hashes.push_back(medley::HashItem(subject));
  stream_.emplace(held_out, hashes, medley::ItemStream::Shows::kPartOfItem);
}

void FileConversations::CountAnswers() {
  for (std::int64_t row = 0; row < stream_->size(medley::Split::kTraining); ++row) {
    const std::int64_t item = stream_->ItemOf({}, row);
    if (validation_) {
      answers_.Add(file_.last_words(item));
      continue;
    }
    for (const std::int64_t own : file_.by_subject()[static_cast<std::size_t>(item)])
      answers_.Add(file_.last_words(own));
  }
}

Conversation FileConversations::At(std::int64_t conversation) const {
  return conversation < file_.size() ? file_.Read(conversation)
                                     : validation_->Read(conversation - file_.size());
}

std::int64_t FileConversations::Chosen(medley::Row& row) const {
  if (row.longest()) return longest_;
  const std::int64_t item = stream_->ItemOf(row.range, row.number);
  if (validation_) return item;
  const auto& own = file_.by_subject()[static_cast<std::size_t>(item)];
  return own[static_cast<std::size_t>(row.random.Below(std::ssize(own)))];
}

Conversation FileConversations::Draw(medley::Row& row) const {
  Conversation drawn = At(Chosen(row));
  return row.longest() ? drawn : WithCache(std::move(drawn));
}

Known FileConversations::KnownOf(medley::Row& row) const {
  const std::int64_t at = Chosen(row);
  const bool is_first = at < file_.size();
  const ConversationFile& file = is_first ? file_ : *validation_;
  const std::int64_t item = is_first ? at : at - file_.size();
  return {file.subject(item), file.last_words(item)};
}

Conversation FileConversations::WithCache(Conversation conversation) const {
  for (Turn& turn : conversation.turns) {
    for (Content& item : turn.items) {
      auto* scan = std::get_if<Scan>(&item);
      if (scan == nullptr || scan->name.empty()) continue;
      scan->voxels = [this, name = scan->name, read = std::move(scan->voxels)] {
        return cache_.Get(name, read);
      };
    }
  }
  return conversation;
}

// What stands in both files counts twice: at most so many.
std::int64_t FileConversations::CacheBytes() const {
  return std::min(cache_.most_bytes(), file_.named_bytes() + (validation_ ? validation_->named_bytes() : 0));
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

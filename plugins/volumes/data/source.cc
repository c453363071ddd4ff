#include "data/source.h"

#include <string>
#include <vector>

#include <medley/data/item_hash.h>

namespace medley_volumes {

FileConversations::FileConversations(const std::filesystem::path& file, const medley::HeldOutItems& held_out,
                                     const Limits& limits)
    : file_(file) {
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

}  // namespace medley_volumes

#include <medley/data/item_stream.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>

namespace medley {
namespace {

// A round leaves each pair of places together with a chance of a half: so many make orders of 2^40 items that
// no test of ours tells from drawn ones, in less time than reading an item takes.
constexpr std::uint64_t kRounds = 64;

std::int64_t Checked(std::int64_t items, std::int64_t held_out, std::string_view name) {
  if (items > 0 && held_out >= 0 && held_out < items) return items;
  throw InputError("'" + std::string(name) + "' has " + std::to_string(items) + " items, of which " +
                   std::to_string(held_out) + " are to be held out; expected at least one for training");
}

bool IsByPlace(const HeldOutItems& held_out) {
  return held_out.rules != nullptr && held_out.rules->IsByPlace(held_out.task);
}

// How many there are.
std::int64_t RequireItems(const HeldOutItems& held_out, std::span<const std::uint64_t> hashes) {
  if (!hashes.empty()) return std::ssize(hashes);
  throw InputError("'" + held_out.task + "' has no items" +
                   (held_out.files.empty() ? "" : " in " + held_out.files) + "; expected one at least");
}

// How many a stream by place holds out.
std::int64_t ByPlace(const HeldOutItems& held_out) {
  return IsByPlace(held_out) ? static_cast<std::int64_t>(held_out.asked) : 0;
}

}  // namespace

SplitSizes HoldOutFile(const HeldOutItems& asked, std::span<const std::uint64_t> training,
                       std::span<const std::uint64_t> held_out) {
  if (asked.rules != nullptr) asked.rules->NoteFile(asked.task, training, held_out);
  return {.training = std::ssize(training), .held_out = std::ssize(held_out)};
}

ShuffledOrder::ShuffledOrder(std::int64_t count, std::uint64_t key) : count_(count), key_(key) {}

std::int64_t ShuffledOrder::operator[](std::int64_t place) const {
  std::int64_t item = place;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t key = CombineSeeds(key_, round);
    const std::int64_t partner = (RowRandom(key).Below(count_) + count_ - item) % count_;
    const auto pair = static_cast<std::uint64_t>(std::max(item, partner));  // both see the same coin
    if (RowRandom(CombineSeeds(key, pair)).Coin()) item = partner;
  }
  return item;
}

ItemStream::ItemStream(std::int64_t items, std::int64_t held_out, std::string_view name, Shows shows)
    : items_(Checked(items, held_out, name)),
      held_out_(held_out),
      splits_(std::in_place, items, HashName(name)),
      shows_(shows) {
  if (held_out > 0) rows_held_out_ = std::to_string(held_out) + " of " + std::to_string(items) + " by place";
}

ItemStream::ItemStream(const HeldOutItems& held_out, std::span<const std::uint64_t> hashes, Shows shows)
    : ItemStream(RequireItems(held_out, hashes), ByPlace(held_out), held_out.by_place, shows) {
  if (held_out.asked == 0 || IsByPlace(held_out)) return;
  DataRules nobodys;
  DataRules& rules = held_out.rules != nullptr ? *held_out.rules : nobodys;
  splits_.reset();
  divided_ = rules.Divide(held_out, hashes);
  const std::int64_t listed = std::ssize(divided_->items);
  held_out_ = divided_->side == Split::kHeldOut ? listed : items_ - listed;
  rows_held_out_ = divided_->rows;
}

ItemStream::ItemStream(const SplitSizes& sizes, Shows shows)
    : items_(sizes.training + sizes.held_out), held_out_(sizes.held_out), shows_(shows) {
  if (sizes.training < 1 || sizes.held_out < 1)
    throw InputError("there are " + std::to_string(sizes.training) + " items for training and " +
                     std::to_string(sizes.held_out) + " for evaluations; expected at least one of each");
}

std::int64_t ItemStream::size(Split split) const {
  if (held_out_ == 0) return items_;
  return split == Split::kHeldOut ? held_out_ : items_ - held_out_;
}

std::int64_t ItemStream::ItemOf(const RowRange& rows, std::int64_t row) const {
  const std::int64_t count = size(rows.split), epoch = row / count;
  const ShuffledOrder order(count, CombineSeeds(rows.seed, static_cast<std::uint64_t>(epoch)));
  const bool is_held_out = rows.split == Split::kHeldOut;
  const std::int64_t place = order[row % count];
  if (divided_) return At(rows.split, place);
  if (!splits_) return is_held_out ? items_ - held_out_ + place : place;
  return (*splits_)[is_held_out ? place : held_out_ + place];
}

std::vector<std::int64_t> ItemStream::TrainingCounts(std::span<const std::int64_t> labels,
                                                     std::int64_t classes) const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (std::int64_t row = 0; row < size(Split::kTraining); ++row)
    ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(ItemOf({}, row))])];
  return counts;
}

// Of the side that is not listed: as many listed ones stand before an item as begin at most at it, less their
// own number.
std::int64_t ItemStream::At(Split split, std::int64_t place) const {
  const std::vector<std::int64_t>& listed = divided_->items;
  if (split == divided_->side) return listed[static_cast<std::size_t>(place)];
  std::int64_t low = 0, high = std::ssize(listed);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (listed[static_cast<std::size_t>(middle)] - middle <= place)
      low = middle + 1;
    else
      high = middle;
  }
  return place + low;
}

}  // namespace medley

#include <medley/data/item_stream.h>

#include <algorithm>
#include <string>
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

}  // namespace

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
      shows_(shows) {}

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
  if (!splits_) return is_held_out ? items_ - held_out_ + place : place;
  return (*splits_)[is_held_out ? place : held_out_ + place];
}

}  // namespace medley

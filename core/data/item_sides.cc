#include "item_sides.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include <medley/base/random.h>
#include <medley/data/item_stream.h>

namespace medley {
namespace {

// The sum of what is held out: the same of equal items, in whatever order.
class RowsSum {
 public:
  void Add(std::uint64_t hash) {
    sum_ += MixBits(hash);
    ++count_;
  }
  std::string Word() const { return WordOf(CombineSeeds(sum_, count_)); }

 private:
  std::uint64_t sum_ = 0, count_ = 0;
};

// Which hashes a share holds out.
class SideOf {
 public:
  explicit SideOf(const HeldOutShare& share)
      : below_(share.share < 1 ? static_cast<std::uint64_t>(std::ldexp(share.share, 64))
                               : std::numeric_limits<std::uint64_t>::max()),
        sides_(share.sides) {}

  Split operator()(std::uint64_t hash) const {
    if (!sides_.empty()) {
      if (const auto found = sides_.find(hash); found != sides_.end()) return found->second;
    }
    return hash < below_ ? Split::kHeldOut : Split::kTraining;
  }
  // How far it is from being on the other side.
  std::uint64_t Distance(std::uint64_t hash) const {
    return hash < below_ ? below_ - 1 - hash : hash - below_;
  }

 private:
  std::uint64_t below_;
  const std::map<std::uint64_t, Split>& sides_;
};

}  // namespace

std::string WordOf(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string RowsWord(std::span<const std::uint64_t> held_out) {
  RowsSum sum;
  for (const std::uint64_t hash : held_out) sum.Add(hash);
  return sum.Word();
}

std::int64_t CountHeldOut(const HeldOutShare& share, std::span<const std::uint64_t> hashes) {
  const SideOf side(share);
  return std::ranges::count_if(hashes, [&](std::uint64_t hash) { return side(hash) == Split::kHeldOut; });
}

std::optional<std::uint64_t> Nearest(const HeldOutShare& share, std::span<const std::uint64_t> hashes) {
  const SideOf side(share);
  std::optional<std::uint64_t> nearest;
  for (const std::uint64_t hash : hashes) {
    if (share.sides.contains(hash)) continue;
    if (!nearest || side.Distance(hash) < side.Distance(*nearest)) nearest = hash;
  }
  return nearest;
}

DividedItems DivideBy(const HeldOutShare& share, std::span<const std::uint64_t> hashes,
                      std::int64_t held_out) {
  const SideOf side(share);
  const bool lists_held_out = held_out <= std::ssize(hashes) - held_out;
  DividedItems divided{.side = lists_held_out ? Split::kHeldOut : Split::kTraining};
  RowsSum rows;
  for (std::size_t item = 0; item < hashes.size(); ++item) {
    const Split its = side(hashes[item]);
    if (its == divided.side) divided.items.push_back(static_cast<std::int64_t>(item));
    if (its == Split::kHeldOut) rows.Add(hashes[item]);
  }
  divided.rows = rows.Word();
  return divided;
}

namespace {

// Of a run that held out by place. All of them where its file is not known any more.
std::int64_t SeenByPlace(const EarlierItems::Task& task, double before, const HeldOutItems& asked,
                         const std::vector<bool>& held_out, std::int64_t count) {
  const auto places = static_cast<std::int64_t>(before), items = std::ssize(held_out);
  if (!task.has_same_files || places < 1 || places >= items) return count;
  const ShuffledOrder order(items, HashName(asked.by_place));
  for (std::int64_t place = 0; place < places; ++place)
    count -= held_out[static_cast<std::size_t>(order[place])] ? 1 : 0;
  return count;
}

// The share of such an option; of its files, where there are several.
const HeldOutShare* ShareBefore(const DataRules& rules, double before, const HeldOutItems& asked) {
  const HeldOutShare* found = nullptr;
  for (const HeldOutShare& share : rules.SharesOf(asked.task)) {
    if (share.asked == before && (found == nullptr || share.files == asked.files)) found = &share;
  }
  return found;
}

}  // namespace

SeenItems SeenBefore(const EarlierItems& from, const HeldOutItems& asked, const HeldOutShare& share,
                     std::span<const std::uint64_t> hashes) {
  const auto task = from.tasks.find(asked.task);
  if (task == from.tasks.end()) return {};
  const SideOf side(share);
  std::vector<bool> held_out;
  for (const std::uint64_t hash : hashes) held_out.push_back(side(hash) == Split::kHeldOut);
  const std::int64_t all = std::ranges::count(held_out, true);
  const auto option = task->second.options.find(asked.option.substr(asked.option.rfind('.') + 1));
  const double before = option == task->second.options.end() ? 0 : option->second;
  const std::string of = "of the " + std::to_string(all) + " items that are held out now ";
  const auto words = [&](const std::string& why, const std::string& who, std::int64_t seen) {
    return "init_from: " + from.run + " " + why + "; " + of + who + " may have trained on " +
           std::to_string(seen) + ". Scores of these are too good";
  };
  if (from.rules.IsByPlace(asked.task)) {
    const std::int64_t seen = SeenByPlace(task->second, before, asked, held_out, all);
    return {seen, words("held out the items of '" + asked.task + "' by place, so they were others" +
                            (task->second.has_same_files ? "" : ", and its file was another one"),
                        "it", seen)};
  }
  const HeldOutShare* then = ShareBefore(from.rules, before, asked);
  std::int64_t seen = all;
  if (then != nullptr) {
    const SideOf side_then(*then);
    seen = 0;
    for (std::size_t item = 0; item < hashes.size(); ++item)
      seen += held_out[item] && side_then(hashes[item]) == Split::kTraining ? 1 : 0;
  }
  const std::int64_t by_others = then == nullptr ? 0 : std::min(then->seen, all - seen);
  if (seen + by_others == 0) return {};
  if (seen == 0)
    return {by_others,
            words("took weights of a run before it that held out other items of '" + asked.task + "'",
                  "that one", by_others)};
  return {seen + by_others, words("held out fewer items of '" + asked.task + "'", "it", seen + by_others)};
}

}  // namespace medley

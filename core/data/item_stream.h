#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/rows.h>
#include <medley/data/data_rules.h>

namespace medley {

// 0 .. count-1 in a shuffled order, without a table: the item at a place, each item at exactly one. A
// function of count and key, by "swap or not" (Hoang, Morris and Rogaway 2012).
class ShuffledOrder {
 public:
  ShuffledOrder(std::int64_t count, std::uint64_t key);  // count > 0

  std::int64_t operator[](std::int64_t place) const;  // 0 <= place < count

 private:
  std::int64_t count_;
  std::uint64_t key_;
};

// How many items there are for training and for evaluations, where the files say it.
struct SplitSizes {
  std::int64_t training = 0, held_out = 0;
};

// The items of a file of their own are held out, whole. Notes in the run's rules which they are, and how many
// of them stand in the training file too.
SplitSizes HoldOutFile(const HeldOutItems& asked, std::span<const std::uint64_t> training,
                       std::span<const std::uint64_t> held_out);

// Finite data (subjects, files, lines of a file) as a task's endless stream: every epoch shows each item of
// the split once, in an order of its own. Row r is found without the rows before it.
class ItemStream {
 public:
  // What a row shows of its item: all of it, or, where an item is a group (the clips of a signer), one drawn
  // from it. Of whole items an evaluation shows each once; of groups as many rows as are asked for.
  enum class Shows { kWholeItem, kPartOfItem };

  // Items by their hashes (HashItem), of which the run's rules hold out a part for evaluations only: see
  // DataRules. With none of them both splits have all items. InputError where a split would be empty. In a
  // run that began before there were such rules: as below, by its `by_place`.
  ItemStream(const HeldOutItems& held_out, std::span<const std::uint64_t> hashes,
             Shows shows = Shows::kWholeItem);
  // By place: `held_out` of the items are for evaluations only, the others for training only. Which ones is a
  // function of the two numbers and the name, so that with another number of items others are held out. With
  // 0 of them both splits have all items. InputError where nothing is left for training.
  ItemStream(std::int64_t items, std::int64_t held_out, std::string_view name,
             Shows shows = Shows::kWholeItem);
  // Items [0, training) are for training, [training, training + held_out) for evaluations. InputError where
  // there is none of either.
  explicit ItemStream(const SplitSizes& sizes, Shows shows = Shows::kWholeItem);

  std::int64_t size(Split split) const;
  Shows shows() const { return shows_; }
  // The item, in [0, items), of row `row` of the range.
  std::int64_t ItemOf(const RowRange& rows, std::int64_t row) const;
  // How often each class is the label of an item that is for training. `labels`: by item, each of a class.
  std::vector<std::int64_t> TrainingCounts(std::span<const std::int64_t> labels, std::int64_t classes) const;
  // Whether items are held out by their places.
  bool is_by_place() const { return splits_ && held_out_ > 0; }
  // What is held out, in a word: two streams that hold out the same have the same. "": nothing is.
  const std::string& rows_held_out() const { return rows_held_out_; }

 private:
  // The item at a place among those of a split.
  std::int64_t At(Split split, std::int64_t place) const;

  std::int64_t items_, held_out_;
  std::optional<ShuffledOrder> splits_;  // those held out come first; none: they stand behind the others
  std::optional<DividedItems> divided_;  // or these do
  Shows shows_;
  std::string rows_held_out_;
};

}  // namespace medley

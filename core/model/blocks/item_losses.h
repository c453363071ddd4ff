#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace medley {

// Cross-entropies over a vocabulary. Logits of all items at once may weigh more than the rest of a step: a
// row of Qwen3's is 0.6 MB.

// What each item is to be: [items] int64, and how much of it is spread evenly over all words (label
// smoothing): [items] floats in [0, 1], or undefined: nothing.
struct LossTargets {
  at::Tensor words{}, smoothing{};
};

// From logits [items, words] that are there, at least in float: [items].
at::Tensor LossesOfLogits(const at::Tensor& logits, const LossTargets& targets);

// How logits are cut where what a loss makes of them would take more than so many bytes, by the shape alone:
// so the same step always takes the same products.
class LossPieces {
 public:
  // Of an item by plain operators: in float its logits, their logarithms of shares and a gradient.
  static constexpr std::int64_t ItemBytes(std::int64_t words) { return 12 * words; }

  constexpr LossPieces(std::int64_t words, std::int64_t bytes)
      : words_(words), items_(bytes / ItemBytes(words)), numbers_(bytes / 128) {}

  constexpr std::int64_t items() const { return items_; }  // that need not be cut
  constexpr bool Cuts(std::int64_t items) const { return items > items_; }
  // Words of a piece, which has all of so many items: a 32nd of the bytes in float, for small pieces stay
  // in a processor's cache while they are gone over.
  constexpr std::int64_t WordsOf(std::int64_t items) const {
    return std::clamp<std::int64_t>(numbers_ / std::max<std::int64_t>(items, 1), 1, words_);
  }

 private:
  std::int64_t words_, items_, numbers_;
};

// What makes logits of hidden states: hidden * table^T, and of some rows hidden * changes^T more.
struct LossHead {
  at::Tensor table{};           // [words, hidden]
  at::Tensor ids{}, changes{};  // as RowChanges has them; undefined: none
  std::int64_t bytes = 0;       // see LossPieces; one item's at least
};

// The losses [items] of hidden states [items, hidden], at least in float, with the logits of some words there
// at a time. Behind a frozen table the gradient of the hidden states is made at once, and waits for that of
// the losses. Behind a trained one the backward makes the logits again, so that neither they nor any part of
// the table's gradient wait.
at::Tensor PiecewiseLosses(const at::Tensor& hidden, const LossTargets& targets, const LossHead& head);

}  // namespace medley

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/batch.h>
#include <medley/text/tokenizer.h>

namespace medley {

// What a row of text ends with. Pads follow in both cases and are never learned.
enum class TextEnd { kOpen, kEos };

// The texts of a constant as tokens, on the host. Rows that a task's passes look up are named by their index.
class TextTable {
 public:
  // An InputError names the text and the width where one does not fit, and a text without any token.
  TextTable(const Tokenizer& tokenizer, std::string_view name, std::span<const std::string_view> texts,
            std::int64_t width, TextEnd end);

  std::int64_t rows() const { return static_cast<std::int64_t>(ids_.size()); }
  std::int64_t width() const { return width_; }
  std::int64_t longest() const;
  // The text that a row shows: drawn, the longest where rows as long as can be are asked for.
  std::int64_t Draw(const RowRange& rows, RowRandom& random) const;
  std::int64_t longest_row() const;
  std::int64_t Length(std::int64_t row) const { return static_cast<std::int64_t>(Ids(row).size()); }
  const std::vector<std::int64_t>& Ids(std::int64_t row) const { return ids_[static_cast<std::size_t>(row)]; }
  at::Tensor Tokens() const;  // [rows, width] int64, padded

 private:
  std::vector<std::vector<std::int64_t>> ids_;
  std::int64_t width_;
  std::int64_t pad_;
};

// [rows, width] int64, padded at the end; rows must fit.
at::Tensor PadRows(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t width, std::int64_t pad);

at::Tensor IntColumn(const std::vector<std::int64_t>& values);   // [rows] int64
std::vector<std::int64_t> HostValues(const at::Tensor& column);  // of any device; the other way round

// The token positions that a row learns: [begin, end), begin >= 1 because a token is learned from the one
// before it.
struct LearnedSpan {
  std::int64_t begin = 1;
  std::int64_t end = 1;
};

// Adds the positions as a ragged column and their numbers as the items of `term`.
void AddLearned(Batch& batch, const std::string& column, const std::string& term,
                const std::vector<LearnedSpan>& spans);

// The model's "supervised": row * width + position of every learned token, [items] int64. No synchronisation.
at::Tensor FlatPositions(const RaggedColumn& positions, std::int64_t width);

// Prompt and reply without a gap, pads only at the end: [rows, width] int64. Works on the device from
// host-known widths alone. `prompt` [rows, p], `prompt_lengths` [rows], `reply` [rows, r] int64, padded with
// `pad`.
at::Tensor JoinTokens(const at::Tensor& prompt, const at::Tensor& prompt_lengths, const at::Tensor& reply,
                      std::int64_t width, std::int64_t pad);

}  // namespace medley

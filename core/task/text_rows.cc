#include <medley/task/text_rows.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {

TextTable::TextTable(const Tokenizer& tokenizer, std::string_view name,
                     std::span<const std::string_view> texts, std::int64_t width, TextEnd end)
    : width_(width), pad_(tokenizer.pad()) {
  for (const std::string_view text : texts) {
    std::vector<std::int64_t> ids = tokenizer.Encode(text);
    const std::string where = "table '" + std::string(name) + "', text \"" + Printable(text) + "\"";
    if (ids.empty()) throw InputError(where + ": no token; a text must not be empty");
    if (end == TextEnd::kEos) ids.push_back(tokenizer.eos());
    if (static_cast<std::int64_t>(ids.size()) > width) {
      throw InputError(
          where + ": " + std::to_string(ids.size()) + " tokens, the table is " + std::to_string(width) +
          " wide. Shorten the text, or train the vocabulary on the task's texts (medley tokenizer train)");
    }
    ids_.push_back(std::move(ids));
  }
}

std::int64_t TextTable::longest() const {
  std::int64_t longest = 0;
  for (const auto& ids : ids_) longest = std::max(longest, static_cast<std::int64_t>(ids.size()));
  return longest;
}

std::int64_t TextTable::longest_row() const {
  const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  return std::ranges::max_element(ids_, shorter) - ids_.begin();
}

std::int64_t TextTable::Draw(const RowRange& rows, RowRandom& random) const {
  return rows.longest ? longest_row() : random.Below(this->rows());
}

at::Tensor TextTable::Tokens() const { return PadRows(ids_, width_, pad_); }

at::Tensor PadRows(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t width, std::int64_t pad) {
  at::Tensor tokens = at::full({static_cast<std::int64_t>(rows.size()), width}, pad, at::kLong);
  std::int64_t* row_start = tokens.mutable_data_ptr<std::int64_t>();
  for (const auto& row : rows) {
    if (static_cast<std::int64_t>(row.size()) > width) {
      throw Error("a row of " + std::to_string(row.size()) + " tokens does not fit into " +
                  std::to_string(width));
    }
    std::copy(row.begin(), row.end(), row_start);
    row_start += width;
  }
  return tokens;
}

at::Tensor IntColumn(const std::vector<std::int64_t>& values) {
  at::Tensor column = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), column.mutable_data_ptr<std::int64_t>());
  return column;
}

std::vector<std::int64_t> HostValues(const at::Tensor& column) {
  const at::Tensor host = column.to(at::kCPU).contiguous();
  const auto* first = host.const_data_ptr<std::int64_t>();
  return {first, first + host.numel()};
}

void AddLearned(Batch& batch, const std::string& column, const std::string& term,
                const std::vector<LearnedSpan>& spans) {
  std::vector<std::vector<std::int64_t>> positions(spans.size());
  std::vector<std::int64_t> items;
  for (std::size_t row = 0; row < spans.size(); ++row) {
    for (std::int64_t p = std::max<std::int64_t>(spans[row].begin, 1); p < spans[row].end; ++p) {
      positions[row].push_back(p);
    }
    items.push_back(static_cast<std::int64_t>(positions[row].size()));
  }
  batch.AddRagged(column, positions);
  batch.SetItems(term, IntColumn(items));
}

at::Tensor FlatPositions(const RaggedColumn& positions, std::int64_t width) {
  return positions.item_row.mul(width).add_(positions.values);
}

at::Tensor JoinTokens(const at::Tensor& prompt, const at::Tensor& prompt_lengths, const at::Tensor& reply,
                      std::int64_t width, std::int64_t pad) {
  const std::int64_t rows = prompt.size(0);
  const at::Tensor position = at::arange(width, prompt.options()).unsqueeze(0).expand({rows, width});
  const at::Tensor in_reply = position.sub(prompt_lengths.unsqueeze(1));  // negative inside the prompt
  const at::Tensor prompt_token = prompt.gather(1, position.clamp_max(prompt.size(1) - 1));
  const at::Tensor reply_token = reply.gather(1, in_reply.clamp(0, reply.size(1) - 1));
  const at::Tensor tail = at::where(in_reply.lt(reply.size(1)), reply_token, pad);
  return at::where(in_reply.lt(0), prompt_token, tail);
}

}  // namespace medley

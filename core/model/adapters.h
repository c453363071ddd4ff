#pragma once

#include <c10/core/ScalarType.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/lora_config.h>
#include <medley/text/tokenizer.h>

namespace medley {

// The adapters that a model is built with: of linear maps y = W x + scale B A x, and of rows of its tables.
struct Adapters {
  LoraConfig lora{};
  std::vector<std::int64_t> tokens{};  // ids, ascending, whose rows are trained beside them
  at::ScalarType base = at::kFloat;    // what the parameters that stay frozen are made in

  bool any() const { return lora.rank > 0; }
  double scale() const {
    const auto rank = static_cast<double>(lora.rank);
    return lora.alpha / (lora.rslora ? std::sqrt(rank) : rank);
  }
};

// `tokenizer`: the model's; null: it has none.
Adapters AdaptersOf(const LoraConfig& lora, const Tokenizer* tokenizer, at::ScalarType base = at::kFloat);

// What the names of adapters' parameters end in, behind that of the map or the table.
inline constexpr const char* kLoraA = ".lora_A.weight";     // [rank, in]
inline constexpr const char* kLoraB = ".lora_B.weight";     // [out, rank]
inline constexpr const char* kRowChanges = ".row_changes";  // [tokens, hidden], added to their rows
bool IsAdapter(std::string_view parameter);
// The parameter of an adapter (which ends so) of the map or table whose "...weight" it is.
std::string AdapterOf(std::string_view weight, std::string_view end);

}  // namespace medley

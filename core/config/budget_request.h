#pragma once

#include <cstdint>
#include <string_view>

namespace medley {

// How much memory a run may use, as a person says it.
struct BudgetRequest {
  enum class Kind { kFree, kFraction, kBytes };
  Kind kind = Kind::kFree;
  double fraction = 0;     // of all that the device has; above 0, at most 1
  std::int64_t bytes = 0;  // above 0
};

// "6GiB", "500 MB", "6442450944"; "0.5" or "50%" of what the device has; "" or "free": what is free. A number
// without a unit that is at most 1 is a fraction. InputError with examples for anything else.
BudgetRequest ParseBudget(std::string_view text);

}  // namespace medley

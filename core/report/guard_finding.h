#pragma once

#include <string>

namespace medley {

enum class GuardLevel { kFine, kWarning, kCritical };

// What the memory guard has to say after a step.
struct GuardFinding {
  GuardLevel level = GuardLevel::kWarning;
  std::string kind;  // "memory", "floor", "peak", "leak", "copy" (of the weights), "slack", "retries"
  std::string task;  // "": none alone
  std::string words;
};

}  // namespace medley

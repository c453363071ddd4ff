#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/field.h>

namespace medley {

enum class ShareUnit { kRows, kSteps, kTokens, kPasses };
enum class DrawOrder { kDeficit, kUrn };

template <>
struct EnumNames<ShareUnit> {
  static constexpr std::array<std::string_view, 4> kNames = {"rows", "steps", "tokens", "passes"};
};
template <>
struct EnumNames<DrawOrder> {
  static constexpr std::array<std::string_view, 2> kNames = {"deficit", "urn"};
};

enum class RampShape { kLinear, kCosine };
template <>
struct EnumNames<RampShape> {
  static constexpr std::array<std::string_view, 2> kNames = {"linear", "cosine"};
};

// A way from the shares in force to others, over so many draws; the last of them has the others.
struct Ramp {
  std::int64_t draws = 0;  // 0: at once
  RampShape shape = RampShape::kLinear;
};

// By task name, in the file's order, which decides ties; 0 means paused.
using Weights = std::vector<std::pair<std::string, double>>;
// The tasks with a weight above 0, in that order.
inline std::vector<std::string> ActiveOf(const Weights& weights) {
  std::vector<std::string> tasks;
  for (const auto& [task, weight] : weights) {
    if (weight > 0) tasks.push_back(task);
  }
  return tasks;
}

// What a run draws from.
struct Mixture {
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  Weights weights;

  std::vector<std::string> Active() const { return ActiveOf(weights); }
  // From now on it is 0.
  void Pause(const std::string& task) {
    for (auto& [name, weight] : weights) {
      if (name == task) weight = 0;
    }
  }
};

}  // namespace medley

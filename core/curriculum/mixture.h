#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/config_file.h>
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
std::string_view NameOf(ShareUnit unit);
std::string_view NameOf(DrawOrder order);

enum class RampShape { kLinear, kCosine };
template <>
struct EnumNames<RampShape> {
  static constexpr std::array<std::string_view, 2> kNames = {"linear", "cosine"};
};

// From the shares in force to others, over so many draws; the last of them has the others.
struct Ramp {
  std::int64_t draws = 0;  // 0: at once
  RampShape shape = RampShape::kLinear;
};

// The weights file, parsed. Weights are by task name; 0 means paused.
struct Mixture {
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  std::vector<std::pair<std::string, double>> weights;  // in the file's order, which decides ties

  // The tasks with a weight above 0, in that order.
  std::vector<std::string> Active() const;
  // From now on it is 0.
  void Pause(const std::string& task);
};

// Throws an InputError with every mistake of the file.
Mixture ReadMixture(const std::filesystem::path& file);
// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, Mixture& mixture);
nlohmann::ordered_json ToJson(const Mixture& mixture);
nlohmann::ordered_json MixtureSchema();

}  // namespace medley

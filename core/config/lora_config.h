#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include <medley/config/names_or_pattern.h>

namespace medley {

// Low-rank adapters (Hu et al. 2021) of the linear maps of a model's language. Once a run is checked, what
// was not given has its default, or that of the adapters it begins with.
struct LoraConfig {
  std::int64_t rank = 0;     // 0: none
  double alpha = 0;          // what an adapter gives counts alpha / rank; 0: not given
  double dropout = 0;        // of what goes into the adapters
  bool rslora = false;       // it counts alpha / sqrt(rank) (Kalajdzievski 2023)
  NamesOrPattern targets{};  // as LoraTargets reads them; empty: not given
  bool new_tokens = true;    // the rows of tokens that published weights do not know are trained beside them
  std::vector<std::int64_t> tokens{};  // further ids whose rows are
  std::filesystem::path pretrained{};  // a folder of PEFT's that they begin with; "": none
};

inline constexpr double kLoraAlpha = 16;
inline constexpr std::array<std::string_view, 7> kLoraTargets = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                                 "gate_proj", "up_proj", "down_proj"};
inline constexpr const char* kAllLinear = "all-linear";

}  // namespace medley

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include <medley/config/field.h>
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

template <typename Visitor>
void Fields(Visitor& visit, LoraConfig& c) {
  visit(c.rank, {.name = "rank",
                 .help = "Of every adapter. Needed where \"pretrained\" is not given",
                 .omit_default = true,
                 .low = 1,
                 .high = 1 << 16,
                 .fixed = true});
  visit(c.alpha, {.name = "alpha",
                  .help = "What an adapter gives counts alpha / rank. Not given: 16",
                  .omit_default = true,
                  .low = 0,
                  .high = 1e6,
                  .above_low = true,
                  .fixed = true});
  visit(c.dropout, {.name = "dropout",
                    .help = "Of what goes into the adapters, while training",
                    .low = 0,
                    .high = 1,
                    .below_high = true});
  visit(c.rslora,
        {.name = "rslora", .help = "What an adapter gives counts alpha / sqrt(rank)", .fixed = true});
  visit(c.targets, {.name = "targets",
                    .help = "Which linear maps get an adapter: their names, or the ends of names behind a "
                            "dot (\"q_proj\"); or one regular expression for whole names; or "
                            "\"all-linear\". Not given: q_proj, k_proj, v_proj, o_proj, gate_proj, "
                            "up_proj, down_proj",
                    .omit_default = true,
                    .fixed = true});
  visit(c.new_tokens, {.name = "new_tokens",
                       .help = "Also train the rows of tokens that medley added to a published vocabulary",
                       .fixed = true});
  visit(c.tokens, {.name = "tokens",
                   .help = "Ids of further tokens whose rows are trained",
                   .omit_default = true,
                   .low = 0,
                   .high = 1 << 24,
                   .fixed = true});
  visit(c.pretrained,
        {.name = "pretrained",
         .help = "A folder of PEFT's (adapter_config.json, adapter_model.safetensors) whose "
                 "adapters the run begins with; rank, alpha, rslora, targets and tokens are its",
         .omit_default = true,
         .path = PathKind::kLater});
}

inline constexpr double kLoraAlpha = 16;
inline constexpr std::array<std::string_view, 7> kLoraTargets = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                                 "gate_proj", "up_proj", "down_proj"};
inline constexpr const char* kAllLinear = "all-linear";

}  // namespace medley

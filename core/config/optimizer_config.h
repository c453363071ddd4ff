#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/field.h>

namespace medley {

// How a parameter is updated.
enum class RuleName { kAdamW, kMuon, kSgd };
template <>
struct EnumNames<RuleName> {
  static constexpr std::array<std::string_view, 3> kNames = {"adamw", "muon", "sgd"};
};

// What AdamW keeps its two moments in.
enum class MomentsKind { kFloat, kBf16, k8Bit };
template <>
struct EnumNames<MomentsKind> {
  static constexpr std::array<std::string_view, 3> kNames = {"float", "bf16", "8bit"};
};

// Settings of the parameters whose name matches the pattern (shell-style, * and ?); the first that matches
// wins.
struct ParameterGroup {
  std::string match;
  double learning_rate_scale = 1;
  double weight_decay = -1;  // < 0: the optimizer's
  std::optional<RuleName> rule{};
  bool frozen = false;
};

// What EMA-Nesterov adds to every update: beta times the weights' mean displacement, of decay gamma.
struct TrendConfig {
  double beta = 0.5;
  double gamma = 0.99;
};

struct OptimizerConfig {
  RuleName name = RuleName::kAdamW;  // kMuon: of hidden matrices; all else has AdamW
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  MomentsKind moments = MomentsKind::kFloat;
  bool shard = false;
  double momentum = 0.95;  // Muon's and SGD's
  double weight_decay = 0.01;
  double clip_norm = 1.0;        // 0: no clipping
  std::string schedule = "wsd";  // or "one_cycle"
  // Of "one_cycle":
  double rise_fraction = 0.3;  // of the steps
  // Of "wsd":
  std::int64_t warmup_steps = 100;
  double decay_fraction = 0.3;  // of the steps, at the end; linear to final_scale
  double final_scale = 0.0;
  double average = 0;  // decay of the weights' moving average; 0: none is kept
  std::optional<TrendConfig> trend{};
  std::vector<ParameterGroup> groups;
  // No keys: what a run's phases need (see Directions). Buffers of a line through snapshots, and of the last
  // step's displacement.
  bool keeps_line = false, keeps_last_step = false;
};

template <typename Visitor>
void Fields(Visitor& visit, ParameterGroup& c) {
  visit(c.match, {.name = "match",
                  .help = "Names of parameters, with * and ?; the first group that matches wins",
                  .required = true});
  visit(
      c.learning_rate_scale,
      {.name = "learning_rate_scale", .help = "Times the optimizer's learning rate", .low = 0, .high = 1e6});
  visit(c.weight_decay, {.name = "weight_decay",
                         .help = "Not given: the optimizer's",
                         .omit_default = true,
                         .low = 0,
                         .high = 1});
  visit(c.rule,
        {.name = "rule",
         .help = "adamw, sgd, or muon, also of matrices that the model does not call hidden. Not given: the "
                 "optimizer's name"});
  visit(c.frozen, {.name = "frozen", .help = "Not trained; needs no optimizer state"});
}

template <typename Visitor>
void Fields(Visitor& visit, TrendConfig& c) {
  visit(c.beta, {.name = "beta",
                 .help = "Times the mean displacement",
                 .low = 0,
                 .high = 1,
                 .above_low = true,
                 .below_high = true});
  visit(c.gamma, {.name = "gamma",
                  .help = "Decay of the mean displacement of a step",
                  .low = 0,
                  .high = 1,
                  .below_high = true});
}

template <typename Visitor>
void Fields(Visitor& visit, OptimizerConfig& c) {
  visit(c.name, {.name = "name",
                 .help = "adamw; sgd, with momentum; or muon: the hidden matrices that the model names have "
                         "Muon, and all else (embeddings, heads, norms, biases, adapters) has AdamW, at one "
                         "learning rate. A resume may change it, and converts what it can"});
  visit(c.learning_rate,
        {.name = "learning_rate", .help = "After the warm-up", .low = 0, .high = 100, .above_low = true});
  visit(c.beta1,
        {.name = "beta1", .help = "AdamW's decay of the mean", .low = 0, .high = 1, .below_high = true});
  visit(c.beta2,
        {.name = "beta2", .help = "AdamW's decay of the squares", .low = 0, .high = 1, .below_high = true});
  visit(c.epsilon, {.name = "epsilon", .help = "AdamW's epsilon", .low = 0, .high = 1, .above_low = true});
  visit(
      c.moments,
      {.name = "moments",
       .help = "What AdamW keeps its two moments in: float; bf16, rounded at random, half the bytes; or "
               "8bit, a quarter, in blocks of 256 numbers with a scale. Tensors of fewer than 4,096 numbers "
               "keep float. A resume may change it, and converts them"});
  visit(c.shard,
        {.name = "shard",
         .help = "Of several processes each keeps the moments of its part of the numbers, and updates that "
                 "part alone. A process by itself keeps all. Not with Muon. A resume may change it",
         .omit_default = true});
  visit(c.momentum, {.name = "momentum",
                     .help = "Muon's decay of the mean of gradients, SGD's of their sum",
                     .low = 0,
                     .high = 1,
                     .below_high = true});
  visit(c.weight_decay, {.name = "weight_decay", .help = "Decoupled weight decay", .low = 0, .high = 1});
  visit(c.clip_norm,
        {.name = "clip_norm", .help = "The gradient's largest norm; 0: no clipping", .low = 0, .high = 1e12});
  visit(c.schedule,
        {.name = "schedule",
         .help = "The learning rate's way: wsd (warmup, stable, decay), or one_cycle (a cosine up from "
                 "1/25 and a longer one down to 1/250,000, over all steps)",
         .allowed = {"wsd", "one_cycle"}});
  visit(c.rise_fraction, {.name = "rise_fraction",
                          .help = "Part of the steps in which one_cycle rises",
                          .low = 0,
                          .high = 1,
                          .above_low = true,
                          .below_high = true});
  visit(c.warmup_steps, {.name = "warmup_steps", .help = "Steps of linear warm-up", .low = 0});
  visit(c.decay_fraction, {.name = "decay_fraction",
                           .help = "Part of the steps, at the end, of linear decay",
                           .low = 0,
                           .high = 1});
  visit(c.final_scale,
        {.name = "final_scale", .help = "Times the learning rate at the last step", .low = 0, .high = 1});
  visit(c.average,
        {.name = "average",
         .help = "Decay of a moving average of the parameters, such as 0.99. Evaluations, sheets and exports "
                 "then read the average. 0: none",
         .low = 0,
         .high = 1,
         .below_high = true});
  visit(c.trend, {.name = "trend",
                  .help = "EMA-Nesterov: every update also moves the parameters by beta times their mean "
                          "displacement. Off in the warm-up and while the learning rate falls"});
  visit(c.groups, {.name = "groups", .help = "Settings of some parameters"});
}

}  // namespace medley

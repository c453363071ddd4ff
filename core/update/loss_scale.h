#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace medley {

// What losses are multiplied with before a backward, and gradients divided by behind it, so that small
// gradients are not lost in fp16: a power of two, so it changes no bit that is not lost or won (Micikevicius
// et al. 2018, "Mixed Precision Training"). A gradient that is not finite halves it, and its step is done
// again; a long time without one doubles it.
class LossScale {
 public:
  static constexpr double kFirst = 65536, kMost = 16777216;
  static constexpr std::int64_t kStepsToDouble = 2000;

  // `on`: the run computes in fp16; else it is 1 for ever.
  explicit LossScale(bool on = false) : now_(on ? kFirst : 1), on_(on) {}

  bool on() const { return on_; }
  double now() const { return now_; }
  bool CanHalve() const { return now_ > 1; }
  // A step's gradient was not finite: false where it is 1, and its losses are to blame.
  bool Halve();
  // A step updated the weights.
  void Updated();

  nlohmann::json Save() const;
  // An exception of nlohmann's, or std::out_of_range, for what Save does not write.
  void Load(const nlohmann::json& state);

 private:
  double now_;
  bool on_;
  std::int64_t steps_ = 0;  // since it changed
};

}  // namespace medley

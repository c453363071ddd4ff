#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace medley {

// How the passes of a draw are executed. All modes give the same gradient.
enum class Mode {
  kJoint,       // all graphs, one backward: the reference
  kSequential,  // pass by pass; only where nothing is carried
  kTwoStage,    // first what makes carries, without graphs; then backward pass by pass from the last
};

enum class LegalWhere { kAlways, kNothingIsCarried, kSomethingIsCarried };
// Graphs that are alive together, and with them what they save for the backward.
enum class KeepsGraphs { kOfAllPasses, kOfOnePass };

// All that others must know of a mode: planner, estimate, validation and schema read it here. How it runs is
// step/run_mode.h.
struct ModeTraits {
  Mode mode;
  std::string_view name;  // in configs and plans
  LegalWhere legal;
  KeepsGraphs keeps;
  bool repeats_makers;  // passes that make carries run a second time
};
// The modes in the order of the enum: what is tried first among equals.
inline constexpr std::array<ModeTraits, 3> kModes = {{
    {Mode::kJoint, "joint", LegalWhere::kAlways, KeepsGraphs::kOfAllPasses, false},
    {Mode::kSequential, "sequential", LegalWhere::kNothingIsCarried, KeepsGraphs::kOfOnePass, false},
    {Mode::kTwoStage, "two_stage", LegalWhere::kSomethingIsCarried, KeepsGraphs::kOfOnePass, true},
}};

constexpr const ModeTraits& TraitsOf(Mode mode) { return kModes.at(static_cast<std::size_t>(mode)); }
constexpr std::string_view ModeName(Mode mode) { return TraitsOf(mode).name; }
std::vector<std::string_view> ModeNames();
// The mode of that name; nothing where there is none.
std::optional<Mode> ParseMode(std::string_view name);

// Activation checkpointing: the layers whose insides are not kept for the backward but computed again, bit
// for bit. Of every `of` layers of a stack `layers`, evenly spread, its first among them: so of every stack
// the same share, whatever its depth.
class RecomputedLayers {
 public:
  static constexpr int kMost = 1 << 10;

  // 0: none, 1: every layer, k: every k-th. As a number stands for it wherever a way is written.
  constexpr explicit(false) RecomputedLayers(int every = 0)
      : layers_(every == 0 ? 0 : 1), of_(every == 0 ? 1 : every) {}
  constexpr RecomputedLayers(int layers, int of) : layers_(layers), of_(of) {}

  constexpr bool valid() const { return of_ >= 1 && of_ <= kMost && layers_ >= 0 && layers_ <= of_; }
  constexpr bool any() const { return layers_ > 0; }
  constexpr double share() const { return 1.0 * layers_ / of_; }
  constexpr bool Has(int index) const { return std::int64_t{index} * layers_ % of_ < layers_; }
  // k where that says it: 0 none, 1 every layer, k every k-th.
  std::optional<int> every() const;
  // "24/28"
  std::string Fraction() const { return std::to_string(layers_) + "/" + std::to_string(of_); }
  int layers() const { return layers_; }
  int of() const { return of_; }

  // 12 of 14 are 24 of 28: the same layers.
  friend constexpr bool operator==(const RecomputedLayers& a, const RecomputedLayers& b) {
    return (a <=> b) == 0;
  }
  friend constexpr std::strong_ordering operator<=>(const RecomputedLayers& a, const RecomputedLayers& b) {
    return std::int64_t{a.layers_} * b.of_ <=> std::int64_t{b.layers_} * a.of_;
  }

 private:
  int layers_, of_;
};
// Of "24/28"; nothing where it is no fraction from 0 to 1 with at most kMost below the line.
std::optional<RecomputedLayers> ParseRecomputedLayers(std::string_view fraction);

// How the passes of a draw run, and which layers twice.
struct Way {
  Mode mode = Mode::kSequential;
  RecomputedLayers recomputed{};

  // Words for tables: "sequential", "joint + recompute 2", "joint + recompute 24/28".
  std::string Words() const;
  bool operator==(const Way&) const = default;
  bool operator<(const Way& other) const {
    return std::tie(mode, recomputed) < std::tie(other.mode, other.recomputed);
  }
};

}  // namespace medley

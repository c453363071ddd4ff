#pragma once

#include <array>
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

// A mode, and activation checkpointing of the model's layers: 0 none, 1 every layer, k every k-th. Their
// insides are not kept for the backward but computed again, bit for bit.
struct Way {
  Mode mode = Mode::kSequential;
  int recompute_every = 0;

  // Words for tables: "sequential", "joint + recompute 2".
  std::string Words() const;
  bool operator==(const Way&) const = default;
  bool operator<(const Way& other) const {
    return std::tie(mode, recompute_every) < std::tie(other.mode, other.recompute_every);
  }
};

}  // namespace medley

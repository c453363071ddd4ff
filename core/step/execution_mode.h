#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/plugin/task_info.h>

namespace medley {

// How the passes of a draw are executed. All modes give the same gradient.
enum class Mode {
  kJoint,       // all graphs, one backward: the reference
  kSequential,  // pass by pass; only where nothing is carried
  kTwoStage,    // first what makes carries, without graphs; then backward pass by pass from the last
};

// The words of configs and plans: "joint", "sequential", "two_stage".
std::string_view ModeName(Mode mode);
std::optional<Mode> ParseMode(std::string_view name);
// For tables: "sequential", "joint + recompute 2".
std::string ModeWords(Mode mode, std::int64_t recompute_every);

// By the spec: joint always, sequential where nothing is carried, two-stage where something is. What the
// graph says besides is asked on the first draw.
std::vector<Mode> LegalModes(const VariantInfo& variant);
// Why the variant cannot have the mode, as a sentence without its end; "" where it can.
std::string WhyIllegal(Mode mode, const VariantInfo& variant);
// The mode without a pin: sequential, joint where something is carried. Neither repeats a forward.
Mode DefaultMode(const VariantInfo& variant);

}  // namespace medley

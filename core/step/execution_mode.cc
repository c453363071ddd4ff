#include <medley/step/execution_mode.h>

#include <algorithm>
#include <array>
#include <string>

namespace medley {
namespace {

constexpr std::array kModes{Mode::kJoint, Mode::kSequential, Mode::kTwoStage};

}  // namespace

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kJoint:
      return "joint";
    case Mode::kSequential:
      return "sequential";
    case Mode::kTwoStage:
      return "two_stage";
  }
  return "";
}

std::optional<Mode> ParseMode(std::string_view name) {
  for (const Mode mode : kModes) {
    if (ModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

std::string ModeWords(Mode mode, std::int64_t recompute_every) {
  std::string words(ModeName(mode));
  if (recompute_every > 0) words += " + recompute " + std::to_string(recompute_every);
  return words;
}

std::string WhyIllegal(Mode mode, const VariantInfo& variant) {
  const auto maker = std::find_if(variant.passes.begin(), variant.passes.end(),
                                  [](const PassInfo& pass) { return !pass.carries.empty(); });
  const bool carries = maker != variant.passes.end();
  if (mode == Mode::kSequential && carries) {
    return "pass '" + maker->name + "' of the variant '" + variant.name + "' makes the carry '" +
           maker->carries.front() + "', through which a later pass sends gradient back";
  }
  if (mode == Mode::kTwoStage && !carries) {
    return "no pass of the variant '" + variant.name +
           "' makes a carry, so there is nothing that a first stage could compute";
  }
  return "";
}

std::vector<Mode> LegalModes(const VariantInfo& variant) {
  std::vector<Mode> modes;
  for (const Mode mode : kModes) {
    if (WhyIllegal(mode, variant).empty()) modes.push_back(mode);
  }
  return modes;
}

Mode DefaultMode(const VariantInfo& variant) { return variant.Carries() ? Mode::kJoint : Mode::kSequential; }

}  // namespace medley

#include <medley/step/execution.h>

#include <algorithm>

#include <medley/base/suggest.h>

namespace medley {
namespace {

std::string ModeProblem(Mode mode, const VariantInfo& variant) {
  const std::string reason = WhyIllegal(mode, variant);
  if (reason.empty()) return "";
  std::string expected;
  for (const Mode legal : LegalModes(variant))
    expected += (expected.empty() ? "\"" : " or \"") + std::string(ModeName(legal)) + "\"";
  return "\"" + std::string(ModeName(mode)) + "\" cannot be: " + reason + "; expected " + expected;
}

}  // namespace

double TermWeight(const Execution& execution, const TermInfo& term) {
  const auto pinned = execution.term_weights.find(term.name);
  return pinned == execution.term_weights.end() ? term.weight : pinned->second;
}

Execution ExecutionOf(const TaskConfig& config, const VariantInfo& variant) {
  return {.way = {.mode = ParseMode(config.mode).value_or(DefaultMode(variant)),
                  .recomputed = PinnedLayers(config).value_or(RecomputedLayers())},
          .micro_rows = config.micro_rows,
          .term_weights = config.terms};
}

std::string WhyIllegal(Mode mode, const VariantInfo& variant) {
  const LegalWhere legal = TraitsOf(mode).legal;
  const auto maker =
      std::ranges::find_if(variant.passes, [](const PassInfo& pass) { return !pass.carries.empty(); });
  const bool carries = maker != variant.passes.end();
  if (legal == LegalWhere::kNothingIsCarried && carries) {
    return "pass '" + maker->name + "' of the variant '" + variant.name + "' makes the carry '" +
           maker->carries.front() + "', through which a later pass sends gradient back";
  }
  if (legal == LegalWhere::kSomethingIsCarried && !carries) {
    return "no pass of the variant '" + variant.name +
           "' makes a carry, so there is nothing that a first stage could compute";
  }
  return "";
}

std::vector<Mode> LegalModes(const VariantInfo& variant) {
  std::vector<Mode> modes;
  for (const ModeTraits& traits : kModes) {
    if (WhyIllegal(traits.mode, variant).empty()) modes.push_back(traits.mode);
  }
  return modes;
}

Mode DefaultMode(const VariantInfo& variant) {
  Mode best = Mode::kJoint;
  for (const Mode mode : LegalModes(variant)) {
    if (!TraitsOf(mode).repeats_makers && TraitsOf(mode).keeps == KeepsGraphs::kOfOnePass) best = mode;
  }
  return best;
}

Mode SmallestMode(const VariantInfo& variant) {
  Mode best = Mode::kJoint;
  for (const Mode mode : LegalModes(variant)) {
    if (TraitsOf(mode).keeps == KeepsGraphs::kOfOnePass) best = mode;
  }
  return best;
}

std::vector<SettingProblem> CheckExecution(const VariantInfo& variant, std::optional<Mode> mode,
                                           const std::map<std::string, double, std::less<>>& terms) {
  std::vector<SettingProblem> problems;
  std::vector<std::string> known;
  for (const TermInfo& term : variant.terms) known.push_back(term.name);
  for (const auto& [term, weight] : terms) {
    if (std::ranges::find(known, term) == known.end())
      problems.push_back({{"terms", term}, true, NoSuchName("term", term, known)});
  }
  const std::string problem = mode ? ModeProblem(*mode, variant) : "";
  if (!problem.empty()) problems.push_back({{"mode"}, false, problem});
  return problems;
}

}  // namespace medley

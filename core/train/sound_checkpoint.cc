#include <medley/train/sound_checkpoint.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kDraws = 3;  // a loss of one draw alone says little

struct StepLossOfTask {
  std::int64_t step = 0;
  double loss = 0;
};
using LossesOfTask = std::vector<StepLossOfTask>;

std::map<std::string, LossesOfTask> ReadLosses(const fs::path& run) {
  std::map<std::string, LossesOfTask> losses;
  ForEachLine(run / kMetricsLog, DamagedLine::kPassedOver, [&](const nlohmann::json& line) {
    for (const auto& [task, loss] : LossesIn(line))
      losses[task].push_back({line["step"].get<std::int64_t>(), loss});
  });
  return losses;
}

// Behind this step the task's losses are another model's than before it.
bool HasRisen(const LossesOfTask& losses, std::int64_t step) {
  const auto next =
      std::ranges::partition_point(losses, [&](const StepLossOfTask& loss) { return loss.step <= step; });
  if (next == losses.begin() || next == losses.end()) return false;
  const auto less = [](const StepLossOfTask& a, const StepLossOfTask& b) { return a.loss < b.loss; };
  const double first = losses.front().loss;
  double best = first;
  for (auto end = losses.begin() + std::min(kDraws, next - losses.begin()); end <= next; ++end)
    best = std::min(best, std::max_element(end - std::min(kDraws, end - losses.begin()), end, less)->loss);
  const double lowest = std::min_element(next, next + std::min(kDraws, losses.end() - next), less)->loss;
  return lowest > std::max(best + std::abs(best), first / 2);
}

bool IsWhole(const fs::path& checkpoint) {
  try {
    ReadCheckpoint(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::optional<std::int64_t> SoundCheckpoint(const fs::path& run, std::int64_t step) {
  const std::map<std::string, LossesOfTask> losses = ReadLosses(run);
  if (losses.empty()) return std::nullopt;  // nothing says which are sound
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    const bool has_risen =
        std::ranges::any_of(losses, [&](const auto& of) { return HasRisen(of.second, entry.step); });
    if (entry.step < step && !has_risen && IsWhole(entry.path)) return entry.step;
  }
  return std::nullopt;
}

}  // namespace medley

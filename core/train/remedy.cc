#include <medley/train/remedy.h>

#include <optional>

#include <medley/base/durable_file.h>
#include <medley/report/table.h>
#include <medley/train/sound_checkpoint.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string Resume(const fs::path& run) { return "medley resume " + run.string(); }

fs::path FreeSibling(const fs::path& run) {
  int n = 2;
  while (TypeOf(run.string() + "-" + std::to_string(n)) != fs::file_type::not_found) ++n;
  return run.string() + "-" + std::to_string(n);
}

// The step is a function of the weights and the rows: done again, it fails again, at any learning rate.
std::string AfterDivergence(double learning_rate, const fs::path& run, std::int64_t step) {
  const std::string again =
      "a resume from it fails at the same rows, unless the task or its data were wrong "
      "and are mended; ";
  if (step == 0) return again + "then " + Resume(run) + " goes on";
  const std::string rate = " optimizer.learning_rate=" + FormatNumber(learning_rate / 10);
  if (const std::optional<std::int64_t> sound = SoundCheckpoint(run, step))
    return again + Resume(run) + " --from " + std::to_string(*sound) + rate +
           " goes on from the newest checkpoint before the losses rose";
  return again + "no checkpoint from before the losses rose is there, so medley train " +
         (run / "config.resolved.json").string() + " --out " + FreeSibling(run).string() + rate +
         " begins anew";
}

}  // namespace

std::string RemedyFor(const Failure& failure, double learning_rate, const fs::path& run, std::int64_t step) {
  if (failure.diverged) return AfterDivergence(learning_rate, run, step);
  if (failure.code != ExitCode::kBadInput) return Resume(run) + " goes on from there";
  return "mend what is wrong, then " + Resume(run) +
         " goes on from there; --allow-changed FILE names a file of the run that was mended";
}

}  // namespace medley

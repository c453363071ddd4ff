#include <medley/train/remedy.h>

#include <optional>

#include <medley/base/next_command.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/table.h>
#include <medley/train/sound_checkpoint.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// The step is a function of the weights and the rows: done again, it fails again, at any learning rate.
Remedy AfterDivergence(double learning_rate, const fs::path& run, std::int64_t step) {
  const std::string again =
      "a resume from it fails at the same rows, unless the task or its data were wrong "
      "and are mended; ";
  const std::string resume = ResumeCommand(run);
  if (step == 0) return {again + "then " + resume + " goes on", resume};
  const std::string rate = " optimizer.learning_rate=" + FormatNumber(learning_rate / 10);
  if (const std::optional<std::int64_t> sound = SoundCheckpoint(run, step)) {
    const std::string back = resume + " --from " + std::to_string(*sound) + rate;
    return {again + back + " goes on from the newest checkpoint before the losses rose", back};
  }
  const std::string anew =
      WithAsManyProcesses("medley train " + ShellWord((run / "config.resolved.json").string()) + " --out " +
                          ShellWord(FreePath(run).string()) + rate);
  return {again + "no checkpoint from before the losses rose is there, so " + anew + " begins anew", anew};
}

}  // namespace

Remedy RemedyFor(const Failure& failure, double learning_rate, const fs::path& run, std::int64_t step) {
  if (failure.diverged) return AfterDivergence(learning_rate, run, step);
  const std::string resume = ResumeCommand(run);
  if (failure.code != ExitCode::kBadInput) return {resume + " goes on from there", resume};
  return {"mend what is wrong, then " + resume +
              " goes on from there; --allow-changed FILE names a file of the run that was mended",
          resume};
}

}  // namespace medley

#include <medley/train/weight_edits.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/run/validate.h>
#include <medley/train/failure.h>

namespace medley {
namespace {

constexpr double kStillFor = 1;  // seconds, after which a file is as it was meant

}  // namespace

TaskAdmission::~TaskAdmission() = default;

WeightEdits::WeightEdits(const Setting& setting)
    : setting_(setting), watch_(setting.file), seen_(setting.live.text_of_file) {}

void WeightEdits::Start(std::int64_t step) {
  WeightLog& log = setting_.live.log;
  if (log.entries().empty()) setting_.stages.LogStart(setting_.live.text);
  if (setting_.live.edited) {
    if (!log.due().empty())
      setting_.console.Say("edits of the weights that were made after step " + std::to_string(step) +
                           " do not come again: the file was edited since");
    std::vector<DueEdit> due = log.SwapDue({});
    try {
      Apply(setting_.live.text_of_file, step, WeightsOf::kUser);
    } catch (const Interrupted&) {
      log.SwapDue(std::move(due));
      return;  // the next resume finds the file edited, as this one did
    }
  }
  FollowLog(step);
}

bool WeightEdits::Follow(std::int64_t step) {
  const bool changed = FollowLog(step);
  return FollowFile(step) || changed;
}

// Those that the run had already come to. They were good then.
bool WeightEdits::FollowLog(std::int64_t step) {
  WeightLog& log = setting_.live.log;
  bool changed = false;
  while (!log.due().empty() && log.due().front().step <= step) {
    const std::string text = log.due().front().text;
    setting_.console.Say("step " + std::to_string(step) +
                         ": an edit of the weights comes again, as before the resume");
    const std::string why =
        WhyNot(text, step, {log.due().begin() + 1, log.due().end()}, WeightsOf::kBegunRun);
    if (InterruptRequested() && !why.empty()) return changed;  // it stays due
    changed = changed || why.empty();
    if (why.empty()) continue;
    log.SwapDue({});
    Refuse(text, why, step);
  }
  return changed;
}

bool WeightEdits::FollowFile(std::int64_t step) {
  if (watch_.Changed()) {
    unsettled_ = true;
    since_ = setting_.now();
  }
  if (!unsettled_) return false;
  const bool still = setting_.now() - since_ >= kStillFor;
  const std::optional<std::string> text = Read();
  if (text && *text == seen_) {
    unsettled_ = !still;
    return false;
  }
  const std::string why = text ? WhyNot(*text, step, {}, WeightsOf::kUser)
                               : DisplayPath(setting_.file) + " is gone, cannot be read or is above 1 MiB";
  if (why.empty()) {
    seen_ = *text;
    return true;
  }
  if (!still || InterruptRequested()) return false;  // somebody may be writing
  unsettled_ = false;
  seen_ = text.value_or("");
  Refuse(seen_, why, step);
  return false;
}

// "" where the text is in force now. `due`: the edits of the log that are then still to come.
std::string WeightEdits::WhyNot(const std::string& text, std::int64_t step, std::vector<DueEdit> due,
                                WeightsOf whose) {
  std::vector<DueEdit> before = setting_.live.log.SwapDue(std::move(due));
  try {
    Apply(text, step, whose);
    return "";
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const std::exception& error) {
    setting_.live.log.SwapDue(std::move(before));
    const std::string reason = Failure::Of(error).reason;
    // Trouble of the machine is no fault of an edit that was good once, and must not cost it.
    if (whose == WeightsOf::kBegunRun && dynamic_cast<const FileError*>(&error) != nullptr)
      throw Error(
          "step " + std::to_string(step) + ": an edit of the weights could not come again: " + reason +
          ". It stays due: mend what is wrong, then medley resume " + setting_.file.parent_path().string());
    return reason;
  }
}

void WeightEdits::Apply(const std::string& text, std::int64_t step, WeightsOf whose) {
  Curriculum next =
      CheckEdit({setting_.file, text}, setting_.config, setting_.live.model, setting_.live.registry, whose,
                [&](ConfigFile& file, const Curriculum& read) { setting_.stages.CheckEdit(file, read); });
  TaskAdmission& admission = setting_.live.admission;
  if (admission.HasNew(next)) setting_.prefetcher.WhileIdle([&] { admission.Admit(next); });
  setting_.stages.Edit(std::move(next), text, step);
  setting_.sinks.AddTasks(
      setting_.stages.curriculum().Named());  // in the order that a resume would give them
}

void WeightEdits::Refuse(const std::string& text, const std::string& why, std::int64_t step) {
  setting_.console.Warn("step " + std::to_string(step) +
                        ": an edit of the weights is refused, and those in force stay: " + why);
  setting_.stages.LogRefused(text, why);
}

std::optional<std::string> WeightEdits::Read() const {
  try {
    return ReadFile(setting_.file, kLargestWeightsFile);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace medley

#include <medley/train/weight_edits.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include <medley/base/clock.h>
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

WeightEdits::WeightEdits(const Run& run, const std::filesystem::path& directory, FoundWeights found,
                         WeightLog& log, Admission& admission, Stages& stages, Prefetcher& prefetcher,
                         RecordSinks& sinks, Console& console)
    : run_(run),
      file_(directory / kRunWeights),
      found_(std::move(found)),
      log_(log),
      admission_(admission),
      stages_(stages),
      prefetcher_(prefetcher),
      sinks_(sinks),
      console_(console),
      watch_(file_),
      seen_(found_.text_of_file) {}

void WeightEdits::Start(std::int64_t step) {
  if (log_.entries().empty()) stages_.LogStart(found_.text);
  if (found_.edited) {
    if (!log_.due().empty())
      console_.Say("edits of the weights that were made after step " + std::to_string(step) +
                   " do not come again: the file was edited since");
    try {
      Apply(found_.text_of_file, step, {}, WeightsOf::kUser);
    } catch (const Interrupted&) {
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
  bool changed = false;
  while (!log_.due().empty() && log_.due().front().step <= step) {
    const std::string text = log_.due().front().text;
    console_.Say("step " + std::to_string(step) +
                 ": an edit of the weights comes again, as before the resume");
    const std::string why =
        WhyNot(text, step, {log_.due().begin() + 1, log_.due().end()}, WeightsOf::kBegunRun);
    if (InterruptRequested() && !why.empty()) return changed;  // it stays due
    changed = changed || why.empty();
    if (why.empty()) continue;
    log_.SwapDue({});
    Refuse(text, why, step);
  }
  return changed;
}

bool WeightEdits::FollowFile(std::int64_t step) {
  if (watch_.Changed()) {
    unsettled_ = true;
    since_ = SteadySeconds();
  }
  if (!unsettled_) return false;
  const bool still = SteadySeconds() - since_ >= kStillFor;
  std::string why;
  const std::optional<std::string> text = Read(why);
  // What was refused may be good now: it was written again, for a disk that has room, a plugin that was
  // mended.
  if (text && *text == seen_ && !refused_) {
    unsettled_ = !still;
    return false;
  }
  if (text) why = WhyNot(*text, step, {}, WeightsOf::kUser);
  if (why.empty()) {
    seen_ = *text;
    refused_ = false;
    return true;
  }
  if (!still || InterruptRequested()) return false;  // somebody may be writing
  unsettled_ = false;
  refused_ = true;
  seen_ = text.value_or("");
  Refuse(seen_, why, step);
  return false;
}

// "" where the text is in force now.
std::string WeightEdits::WhyNot(const std::string& text, std::int64_t step, std::vector<DueEdit> due,
                                WeightsOf whose) {
  try {
    Apply(text, step, std::move(due), whose);
    return "";
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = Failure::Of(error).reason;
    // Trouble of the machine is no fault of an edit that was good once, and must not cost it.
    if (whose == WeightsOf::kBegunRun && dynamic_cast<const FileError*>(&error) != nullptr)
      throw Error("step " + std::to_string(step) +
                  ": an edit of the weights could not come again: " + reason +
                  ". It stays due: mend what is wrong, then medley resume " + file_.parent_path().string());
    return reason;
  }
}

// `due`: the edits of the log that are then still to come; those that were stay so where it throws.
void WeightEdits::Apply(const std::string& text, std::int64_t step, std::vector<DueEdit> due,
                        WeightsOf whose) {
  std::vector<DueEdit> before = log_.SwapDue(std::move(due));
  try {
    Curriculum next =
        CheckEdit({file_, text}, run_.config, run_.model_file->info, *run_.registry, whose,
                  [&](ConfigFile& file, const Curriculum& read) { stages_.CheckEdit(file, read); });
    if (admission_.Learn(next)) prefetcher_.WhileIdle([&] { admission_.Admit(next); });
    stages_.Edit(std::move(next), text, step);
    sinks_.AddTasks(stages_.curriculum().Named());  // in the order that a resume would give them
  } catch (...) {
    log_.SwapDue(std::move(before));
    throw;
  }
}

// The file first: where the process ends between the two, a resume finds the edit there.
void WeightEdits::Take(const std::string& text, std::int64_t step) {
  std::string ignored;
  const std::optional<std::string> before = Read(ignored);
  if (text == seen_ && before == text && !refused_) return;
  ReplaceFile(file_, text);
  try {
    Apply(text, step, {}, WeightsOf::kUser);
  } catch (...) {
    ReplaceFile(file_, before.value_or(seen_));
    throw;
  }
  seen_ = text;
  refused_ = false;
}

void WeightEdits::Refuse(const std::string& text, const std::string& why, std::int64_t step) {
  console_.Warn("step " + std::to_string(step) +
                ": an edit of the weights is refused, and those in force stay: " + why);
  stages_.LogRefused(text, why);
}

std::optional<std::string> WeightEdits::Read(std::string& problem) const {
  try {
    return ReadFile(file_, kLargestWeightsFile);
  } catch (const InputError& error) {
    problem = error.what();
    return std::nullopt;
  }
}

}  // namespace medley

#include <medley/train/weight_edits.h>

#include <algorithm>
#include <exception>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/run/validate.h>
#include <medley/train/failure.h>

namespace medley {
namespace {

// Seconds.
constexpr double kStillFor = 1;                      // after which a file is as it was meant
constexpr double kFirstWait = 2, kLongestWait = 60;  // until what was refused is tried again
constexpr double kTriesShare = 100;                  // and at least so many times what a try took

}  // namespace

void WeightEdits::Start(std::int64_t step) {
  if (setting_.log.entries().empty()) setting_.stages.LogStart(found_.text);
  if (found_.edited) {
    if (!setting_.log.due().empty())
      setting_.console.Say("edits of the weights that were made after step " + std::to_string(step) +
                           " do not come again: the file was edited since");
    try {
      Apply(found_.text_of_file, Checked(found_.text_of_file, WeightsOf::kUser), step, {});
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
  while (!setting_.log.due().empty() && setting_.log.due().front().step <= step) {
    const std::string text = setting_.log.due().front().text;
    setting_.console.Say("step " + std::to_string(step) +
                         ": an edit of the weights comes again, as before the resume");
    const std::string why =
        Try(text, step, {setting_.log.due().begin() + 1, setting_.log.due().end()}, WeightsOf::kBegunRun).why;
    if (InterruptRequested() && !why.empty()) return changed;  // it stays due
    changed = changed || why.empty();
    if (why.empty()) continue;
    setting_.log.SwapDue({});
    Refuse(text, why, step);
  }
  return changed;
}

bool WeightEdits::FollowFile(std::int64_t step) {
  if (setting_.file.MayHaveChanged()) {
    unsettled_ = true;
    since_ = setting_.clock();
  }
  const double now = setting_.clock();
  if (!unsettled_ && !(again_ && now >= *again_)) return false;
  const bool still = now - since_ >= kStillFor, written = std::exchange(unsettled_, unsettled_ && !still);
  std::optional<std::string> text;
  setting_.rounds.TakeSecondsTogether();
  const Refusal refusal = TryFile(text, step);
  if (!text && refusal.why.empty()) return false;  // as it was
  if (refusal.why.empty()) {
    if (!written)
      setting_.console.Say("step " + std::to_string(step) +
                           ": what an edit of the weights was refused for is gone");
    TakenOver(*text);
    return true;
  }
  if (!still || InterruptRequested()) {  // somebody may be writing
    unsettled_ = unsettled_ || written;
    return false;
  }
  TryLater(refusal, setting_.rounds.TakeSecondsTogether());
  if (!written && refusal.why == why_) return false;
  why_ = refusal.why;
  seen_ = text.value_or("");
  Refuse(seen_, why_, step);
  return false;
}

// The text that the file has; nothing, and no refusal, where that was taken over last.
WeightEdits::Refusal WeightEdits::TryFile(std::optional<std::string>& text, std::int64_t step) {
  const WeightsFile::Look look = setting_.file.Read();
  const Refusal refusal{.why = look.problem, .may_pass = true};
  text = look.text;
  if (!text) return refusal;
  // What was refused may be good now: it was written again, for a disk that has room, a plugin that was
  // mended.
  if (*text != seen_ || !why_.empty()) return Try(*text, step, {}, WeightsOf::kUser);
  text.reset();
  return {};
}

void WeightEdits::TakenOver(const std::string& text) {
  seen_ = text;
  why_.clear();
  wait_ = 0;
  again_.reset();
}

// The longer, the more a try costs and the more of them were in vain.
void WeightEdits::TryLater(const Refusal& refusal, double took) {
  again_.reset();
  if (!refusal.may_pass) return;
  wait_ = std::max(std::clamp(2 * wait_, kFirstWait, kLongestWait), kTriesShare * took);
  again_ = setting_.clock() + wait_;
}

WeightEdits::Refusal WeightEdits::Try(const std::string& text, std::int64_t step, std::vector<DueEdit> due,
                                      WeightsOf whose) {
  bool is_good = false;
  try {
    Curriculum next = Checked(text, whose);
    is_good = true;
    Apply(text, std::move(next), step, std::move(due));
    return {};
  } catch (const std::exception& error) {
    if (EndsTheRun(error)) throw;
    const Failure failure = Failure::Of(error);
    // Trouble of the machine is no fault of an edit that was good once, and must not cost it.
    if (whose == WeightsOf::kBegunRun && failure.of_the_machine)
      throw Error("step " + std::to_string(step) +
                  ": an edit of the weights could not come again: " + failure.reason +
                  ". It stays due: mend what is wrong, then medley resume " + setting_.run.string());
    return {.why = failure.reason, .may_pass = is_good && failure.code != ExitCode::kDoesNotFit};
  }
}

// By all processes, or it is refused by all; so is what Apply brings.
Curriculum WeightEdits::Checked(const std::string& text, WeightsOf whose) {
  std::optional<Curriculum> next;
  setting_.rounds.AllOrNone([&] {
    next =
        CheckEdit({setting_.file.path(), text}, setting_.config, setting_.model, setting_.registry, whose,
                  [&](ConfigFile& file, const Curriculum& read) { setting_.stages.CheckEdit(file, read); });
  });
  return *std::move(next);
}

// The tasks that it brings are loaded and planned. `due`: the edits of the log that are then still to come;
// those that were stay so where it throws.
void WeightEdits::Apply(const std::string& text, Curriculum next, std::int64_t step,
                        std::vector<DueEdit> due) {
  bool learns = false;
  setting_.rounds.AllOrNone([&] { learns = setting_.admission.Learn(next); });
  if (setting_.rounds.Any(learns))  // one may lack what the others have, where it could not save it
    setting_.rounds.AllOrNone(
        [&] { setting_.prefetcher.WhileIdle([&] { setting_.admission.Admit(next); }); });
  std::vector<DueEdit> before = setting_.log.SwapDue(std::move(due));
  try {
    setting_.stages.Edit(std::move(next), text, step);
  } catch (...) {
    setting_.log.SwapDue(std::move(before));
    throw;
  }
  setting_.sinks.AddTasks(
      setting_.stages.curriculum().Named());  // in the order that a resume would give them
}

// The file first: where the process ends between the two, a resume finds the edit there.
void WeightEdits::Take(const std::string& text, std::int64_t step) {
  const std::optional<std::string> before = setting_.file.ReadHere().text;
  if (text == seen_ && before == text && why_.empty()) return;
  ReplaceFile(setting_.file.path(), text);
  try {
    Apply(text, Checked(text, WeightsOf::kUser), step, {});
  } catch (...) {
    ReplaceFile(setting_.file.path(), before.value_or(seen_));
    throw;
  }
  TakenOver(text);
}

void WeightEdits::Refuse(const std::string& text, const std::string& why, std::int64_t step) {
  setting_.console.Warn("step " + std::to_string(step) +
                        ": an edit of the weights is refused, and those in force stay: " + why);
  setting_.stages.LogRefused(text, why);
}

}  // namespace medley

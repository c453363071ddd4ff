#include <medley/train/weight_edits.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/run/validate.h>
#include <medley/train/failure.h>

namespace medley {
namespace {

// Seconds.
constexpr double kStillFor = 1;                      // after which a file is as it was meant
constexpr double kFirstWait = 2, kLongestWait = 60;  // until what was refused is tried again
constexpr double kTriesShare = 100;                  // and at least so many times what a try took

}  // namespace

WeightEdits::WeightEdits(const Run& run, const std::filesystem::path& directory, FoundWeights found,
                         WeightLog& log, Admission& admission, Stages& stages, StepAgreement& agreement,
                         Prefetcher& prefetcher, RecordSinks& sinks, Console& console)
    : run_(run),
      file_(directory / kRunWeights),
      found_(std::move(found)),
      log_(log),
      admission_(admission),
      stages_(stages),
      agreement_(agreement),
      prefetcher_(prefetcher),
      sinks_(sinks),
      console_(console),
      seen_(found_.text_of_file) {}

void WeightEdits::Start(std::int64_t step) {
  if (log_.entries().empty()) stages_.LogStart(found_.text);
  if (found_.edited) {
    if (!log_.due().empty())
      console_.Say("edits of the weights that were made after step " + std::to_string(step) +
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
  while (!log_.due().empty() && log_.due().front().step <= step) {
    const std::string text = log_.due().front().text;
    console_.Say("step " + std::to_string(step) +
                 ": an edit of the weights comes again, as before the resume");
    const std::string why =
        Try(text, step, {log_.due().begin() + 1, log_.due().end()}, WeightsOf::kBegunRun).why;
    if (InterruptRequested() && !why.empty()) return changed;  // it stays due
    changed = changed || why.empty();
    if (why.empty()) continue;
    log_.SwapDue({});
    Refuse(text, why, step);
  }
  return changed;
}

bool WeightEdits::FollowFile(std::int64_t step) {
  if (agreement_.WeightsMayHaveChanged()) {
    unsettled_ = true;
    since_ = agreement_.clock();
  }
  const double now = agreement_.clock();
  if (!unsettled_ && !(again_ && now >= *again_)) return false;
  const bool still = now - since_ >= kStillFor, written = std::exchange(unsettled_, unsettled_ && !still);
  std::optional<std::string> text;
  agreement_.TakeSecondsTogether();
  const Refusal refusal = TryFile(text, step);
  if (!text && refusal.why.empty()) return false;  // as it was
  if (refusal.why.empty()) {
    if (!written)
      console_.Say("step " + std::to_string(step) + ": what an edit of the weights was refused for is gone");
    TakenOver(*text);
    return true;
  }
  if (!still || InterruptRequested()) {  // somebody may be writing
    unsettled_ = unsettled_ || written;
    return false;
  }
  TryLater(refusal, agreement_.TakeSecondsTogether());
  if (!written && refusal.why == why_) return false;
  why_ = refusal.why;
  seen_ = text.value_or("");
  Refuse(seen_, why_, step);
  return false;
}

// The text that the file has; nothing, and no refusal, where that was taken over last.
WeightEdits::Refusal WeightEdits::TryFile(std::optional<std::string>& text, std::int64_t step) {
  const WeightsFileLook look = agreement_.ReadWeights();
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
  again_ = agreement_.clock() + wait_;
}

WeightEdits::Refusal WeightEdits::Try(const std::string& text, std::int64_t step, std::vector<DueEdit> due,
                                      WeightsOf whose) {
  bool is_good = false;
  try {
    Curriculum next = Checked(text, whose);
    is_good = true;
    Apply(text, std::move(next), step, std::move(due));
    return {};
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const PeerError&) {
    throw;
  } catch (const ExchangeError&) {
    throw;
  } catch (const std::exception& error) {
    const Failure failure = Failure::Of(error);
    // Trouble of the machine is no fault of an edit that was good once, and must not cost it.
    if (whose == WeightsOf::kBegunRun && failure.of_the_machine)
      throw Error("step " + std::to_string(step) + ": an edit of the weights could not come again: " +
                  failure.reason + ". It stays due: mend what is wrong, then medley resume " +
                  RunOfRank(file_.parent_path(), run_.cluster->place().rank).string());
    return {.why = failure.reason, .may_pass = is_good && failure.code != ExitCode::kDoesNotFit};
  }
}

// By all processes, or it is refused by all; so is what Apply brings.
Curriculum WeightEdits::Checked(const std::string& text, WeightsOf whose) {
  std::optional<Curriculum> next;
  agreement_.AllOrNone([&] {
    next = CheckEdit({file_, text}, run_.config, run_.model_file->info, *run_.registry, whose,
                     [&](ConfigFile& file, const Curriculum& read) { stages_.CheckEdit(file, read); });
  });
  return *std::move(next);
}

// The tasks that it brings are loaded and planned. `due`: the edits of the log that are then still to come;
// those that were stay so where it throws.
void WeightEdits::Apply(const std::string& text, Curriculum next, std::int64_t step,
                        std::vector<DueEdit> due) {
  bool learns = false;
  agreement_.AllOrNone([&] { learns = admission_.Learn(next); });
  if (agreement_.Any(learns))  // one may lack what the others have, where it could not save it
    agreement_.AllOrNone([&] { prefetcher_.WhileIdle([&] { admission_.Admit(next); }); });
  std::vector<DueEdit> before = log_.SwapDue(std::move(due));
  try {
    stages_.Edit(std::move(next), text, step);
  } catch (...) {
    log_.SwapDue(std::move(before));
    throw;
  }
  sinks_.AddTasks(stages_.curriculum().Named());  // in the order that a resume would give them
}

// The file first: where the process ends between the two, a resume finds the edit there.
void WeightEdits::Take(const std::string& text, std::int64_t step) {
  const std::optional<std::string> before = StepAgreement::Look(file_).text;
  if (text == seen_ && before == text && why_.empty()) return;
  ReplaceFile(file_, text);
  try {
    Apply(text, Checked(text, WeightsOf::kUser), step, {});
  } catch (...) {
    ReplaceFile(file_, before.value_or(seen_));
    throw;
  }
  TakenOver(text);
}

void WeightEdits::Refuse(const std::string& text, const std::string& why, std::int64_t step) {
  console_.Warn("step " + std::to_string(step) +
                ": an edit of the weights is refused, and those in force stay: " + why);
  stages_.LogRefused(text, why);
}

}  // namespace medley

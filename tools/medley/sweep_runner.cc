#include "tools/medley/sweep_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/page/run_verdict.h>
#include <medley/report/screen.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProfile = "profile.json";  // kProfileFile of the planner, which has tensors
constexpr double kLookAgain = 1;                  // seconds

bool IsCode(int code, ExitCode expected) { return code == static_cast<int>(expected); }

bool HasProfile(const fs::path& run) { return TypeOf(run / kProfile) == fs::file_type::regular; }

// The lines of one that are below others, so that one sees whose they are.
std::string Below(const std::string& text) {
  std::string indented;
  for (const char c : text) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return indented;
}

std::string ScoreWords(const fs::path& run) try {
  const RunVerdict verdict = VerdictOf(run);
  return verdict.words.empty() ? "" : ": " + verdict.words;
} catch (const Error&) {
  return "";
}

}  // namespace

SweepRunner::SweepRunner(const SweepRequest& request, const SweepRecord& record, std::vector<SweepItem> items,
                         Console& console)
    : request_(request), record_(record), items_(std::move(items)), console_(console) {}

std::size_t SweepRunner::Count(ItemState state) const {
  return static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(), [&](const auto& item) { return item.state == state; }));
}

bool SweepRunner::IsOver() const {
  if (!jobs_.empty()) return false;
  return is_interrupted_ || std::all_of(items_.begin(), items_.end(),
                                        [](const SweepItem& item) { return item.state >= ItemState::kDone; });
}

// Who holds one may be gone by now: then it goes on, or is scored.
void SweepRunner::LookAtRuns() {
  for (SweepItem& item : items_) {
    if (item.state == ItemState::kTraining || item.state == ItemState::kHeld) item.pace = PaceOf(item.path);
    if (item.state != ItemState::kHeld) continue;
    item.state = StateOnDisk(item.path);
    if (item.state != ItemState::kHeld)
      console_.Say(item.run.name + " was let go by the process that held it");
  }
}

fs::path SweepRunner::ProfileFor(const SweepItem& item) const {
  if (item.facts.plan.empty() || item.measures) return "";
  for (const bool is_new : {true, false}) {
    for (const SweepItem& other : items_)
      if (other.facts.plan == item.facts.plan && other.measures == is_new && HasProfile(other.path))
        return other.path / kProfile;
  }
  return "";
}

// Whether another one measures what this one would measure too.
bool SweepRunner::MustWait(const SweepItem& item) const {
  if (item.state != ItemState::kNew || item.facts.plan.empty() || item.measures) return false;
  if (!ProfileFor(item).empty()) return false;
  return std::any_of(items_.begin(), items_.end(), [&](const SweepItem& other) {
    return other.facts.plan == item.facts.plan &&
           (other.state == ItemState::kTraining || other.state == ItemState::kHeld);
  });
}

// What is trained is scored first, then what was begun goes on.
bool SweepRunner::StartNext() {
  for (const ItemState state : {ItemState::kTrained, ItemState::kBegun, ItemState::kNew}) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].state != state || MustWait(items_[i])) continue;
      Start(i);
      return true;
    }
  }
  return false;
}

void SweepRunner::Start(std::size_t index) {
  SweepItem& item = items_[index];
  const fs::path profile = item.state == ItemState::kNew ? ProfileFor(item) : "";
  if (profile.empty()) item.measures = true;
  try {
    jobs_.emplace_back(index, CommandOf(item, request_, record_, profile), signals_);
  } catch (const Error& error) {
    return Fail(item, error.what());
  }
  if (item.state == ItemState::kTrained) {
    item.state = ItemState::kScoring;
    return;
  }
  console_.Say(item.run.name + (item.state == ItemState::kNew
                                    ? " begins"
                                    : " goes on; it was at step " + std::to_string(item.pace.step)));
  item.state = ItemState::kTraining;
}

void SweepRunner::Fail(SweepItem& item, const std::string& why) {
  item.state = ItemState::kFailed;
  item.why = why;
  console_.Warn(item.run.name + " failed: " + Below(why));
}

void SweepRunner::TakeEnd(const SweepJob& job) {
  SweepItem& item = items_[job.item()];
  item.pace = PaceOf(item.path);
  if (job.trains()) return TakeEndOfTraining(item, job);
  if (is_interrupted_ && !IsCode(job.code(), ExitCode::kDone)) {
    item.state = ItemState::kTrained;
    return;
  }
  item.state = ItemState::kDone;
  if (!IsCode(job.code(), ExitCode::kDone)) {
    item.lost_some = true;
    item.why = "not all of it was scored: " + job.Words();
    console_.Warn(item.run.name + ": " + Below(item.why));
  }
  console_.Say(Prose(item.run.name + " is done" + ScoreWords(item.path)));
}

void SweepRunner::TakeEndOfTraining(SweepItem& item, const SweepJob& job) {
  const ItemState now = StateOnDisk(item.path);
  if (IsCode(job.code(), ExitCode::kInterrupted)) {
    item.state = now >= ItemState::kTrained ? now : ItemState::kStopped;
    console_.Say(item.run.name + " was stopped, saved");
  } else if (IsCode(job.code(), ExitCode::kDone) || IsCode(job.code(), ExitCode::kSomethingDropped)) {
    item.lost_some = IsCode(job.code(), ExitCode::kSomethingDropped);
    if (now < ItemState::kTrained)
      return Fail(item,
                  "it ended, and its files do not say so; look at " + Printable(item.path / kConsoleLog));
    item.state = now;
    if (now == ItemState::kDone) console_.Say(Prose(item.run.name + " is done" + ScoreWords(item.path)));
  } else if (now == ItemState::kHeld) {
    item.state = now;  // a process that a killed sweep left behind was faster
  } else if (now == ItemState::kNew && IsCode(job.code(), ExitCode::kBadInput) && !item.measures) {
    item.state = now;  // an earlier medley, or another machine, measured that profile
    item.measures = true;
  } else {
    Fail(item, job.Words());
  }
}

void SweepRunner::HandOn(int signal) {
  if (signal == 0 || signal == SIGCHLD) return;
  if (signal != SIGUSR1 && !std::exchange(is_interrupted_, true) && !jobs_.empty())
    console_.Say("stopping: what trains is saved; once more leaves at once, unsaved");
  for (const SweepJob& job : jobs_) job.Signal(signal);
}

std::string SweepRunner::StatusWords() const {
  std::string words =
      std::to_string(Count(ItemState::kDone)) + " of " + std::to_string(items_.size()) + " done";
  if (const std::size_t failed = Count(ItemState::kFailed); failed > 0)
    words += ", " + std::to_string(failed) + " failed";
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    const SweepItem& item = items_[job->item()];
    words += (job == jobs_.begin() ? "; " : ", ") + item.run.name + " " +
             (job->trains() ? std::to_string(item.pace.step) + "/" + std::to_string(item.facts.steps)
                            : std::string("is scored"));
  }
  if (const std::size_t held = Count(ItemState::kHeld); held > 0)
    words += "; " + std::to_string(held) + " held by other processes";
  const double left = SecondsLeft(items_, record_.jobs);
  if (std::isfinite(left) && left > 0) words += "; about " + FormatSeconds(left) + " left";
  return words;
}

void SweepRunner::ShowStatus() {
  const double now = SteadySeconds();
  if (now < next_look_) return;
  next_look_ = now + kLookAgain;
  LookAtRuns();
  console_.Status(StatusWords());
}

ExitCode SweepRunner::Run() {
  for (const SweepItem& item : items_)
    if (item.state == ItemState::kHeld)
      console_.Say(item.run.name + " is trained by another process, which is waited for");
  while (!IsOver()) {
    while (!is_interrupted_ &&
           jobs_.size() + Count(ItemState::kHeld) < static_cast<std::size_t>(record_.jobs) && StartNext()) {
    }
    if (IsOver()) break;  // none could be started
    std::vector<pollfd> watched;
    for (const SweepJob& job : jobs_)
      if (job.watched().fd >= 0) watched.push_back(job.watched());
    HandOn(signals_.Wait(std::chrono::milliseconds(200), watched));
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if (!job->HasEnded()) {
        ++job;
        continue;
      }
      TakeEnd(*job);
      job = jobs_.erase(job);
    }
    ShowStatus();
  }
  return Code();
}

ExitCode SweepRunner::Code() const {
  if (is_interrupted_) return ExitCode::kInterrupted;
  if (Count(ItemState::kDone) == 0) return ExitCode::kFailed;
  const bool lost = std::any_of(items_.begin(), items_.end(), [](const SweepItem& item) {
    return item.state != ItemState::kDone || item.lost_some;
  });
  return lost ? ExitCode::kSomethingDropped : ExitCode::kDone;
}

}  // namespace medley

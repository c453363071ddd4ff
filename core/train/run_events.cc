#include <medley/train/run_events.h>

#include <cmath>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/report/term_loss.h>
#include <medley/train/failure.h>

namespace medley {
namespace {

using nlohmann::ordered_json;
using Need = EventProgram::Need;

constexpr std::chrono::seconds kUnsaid{2};  // that the end of a run may wait without a word

ordered_json Figures(const std::map<std::string, double>& values) {
  ordered_json json = ordered_json::object();
  for (const auto& [task, value] : values)
    json[task] = std::isfinite(value) ? ordered_json(value) : ordered_json();
  return json;
}

}  // namespace

RunEvents::RunEvents(Setting setting, Console& console)
    : setting_(std::move(setting)),
      console_(console),
      step_(setting_.step),
      program_(setting_.command, setting_.limit),
      stalls_(setting_.stalls, [this](const Stall& stall) {
        Tell("stall", {{"seconds", stall.seconds}, {"median_step_seconds", stall.median}});
      }) {
  setting_.run = std::filesystem::absolute(setting_.run).lexically_normal();
  console_.Detail("events of the run go to " + DisplayPath(setting_.command.front()) + " (on_event)");
}

RunEvents::~RunEvents() {
  SayTrouble();
  program_.WaitFor(EventProgram::kLongest * (EventProgram::kMostWaiting + 2));
  SayTrouble();
}

ExitCode RunEvents::Train(const std::function<ExitCode()>& train,
                          const std::function<std::string()>& why_over) {
  if (!setting_.first_stage.empty())
    Take(StageStart{.step = step_, .name = std::exchange(setting_.first_stage, "")});
  stalls_.Begin();
  try {
    const ExitCode code = train();
    stalls_.End();
    TellEnd("end", code == ExitCode::kInterrupted ? "it was interrupted" : why_over(), code);
    return code;
  } catch (const std::exception& error) {
    stalls_.End();
    const Failure failure = Failure::Of(error);
    if (failure.code == ExitCode::kInterrupted)  // several processes stop together
      TellEnd("end", "it was interrupted", failure.code);
    else
      TellEnd("fail", failure.reason, failure.code);
    throw;
  }
}

void RunEvents::TellEnd(const std::string& event, const std::string& why, ExitCode code) {
  SayTrouble();
  const std::string end = event + " " + std::to_string(step_) + " " + why;
  if (why.empty() || std::exchange(told_end_, end) == end) return;
  Tell(event, {{"why", why}, {"exit_code", static_cast<int>(code)}}, Need::kAlways);
  if (const std::size_t left = program_.WaitFor(kUnsaid); left > 0)
    console_.Say("waiting for " + DisplayPath(setting_.command.front()) + " to hear of " +
                 std::to_string(left) + (left == 1 ? " event" : " events") + " (on_event), for at most " +
                 std::to_string(EventProgram::kLongest.count()) + " s each");
  program_.WaitFor(EventProgram::kLongest * (EventProgram::kMostWaiting + 2));
  SayTrouble();
}

void RunEvents::Take(const EvaluationRecord& at_start) {
  TakeScores(at_start);
  stalls_.WorkDone();
}

void RunEvents::Take(const StepRecord& record) {
  {
    const std::lock_guard lock(mutex_);
    step_ = record.step;
    for (const auto& [task, loss] : TotalLosses(record.losses)) losses_[task] = loss;
  }
  if (record.evaluation) TakeScores(*record.evaluation);
  stalls_.Step(record.seconds);
  SayTrouble();
}

void RunEvents::Take(const StageStart& start) {
  if (!start.name.empty()) TellAt(start.step, "stage", {{"stage", start.name}});
}

void RunEvents::Take(const SaveRecord& record) {
  stalls_.WorkDone();
  TellAt(record.step, "checkpoint", {{"checkpoint", (setting_.run / record.checkpoint.filename()).string()}});
}

void RunEvents::Sync(LogMarks& /*marks*/) { stalls_.Work(); }

// A step that was saved before its evaluation is not written down.
void RunEvents::TellAt(std::int64_t step, const std::string& event, const ordered_json& more) {
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
  }
  Tell(event, more);
}

void RunEvents::Tell(const std::string& event, const ordered_json& more, Need need) {
  const std::lock_guard lock(mutex_);
  ordered_json json = {{"event", event},
                       {"run", setting_.run.string()},
                       {"name", setting_.run.filename().string()},
                       {"time", TimeStamp()},
                       {"step", step_},
                       {"steps", setting_.steps}};
  json.update(more);
  if (!losses_.empty()) json["losses"] = Figures(losses_);
  if (!scores_.empty()) json["scores"] = Figures(scores_);
  program_.Run(event, JsonText(json) + "\n", need);
}

void RunEvents::TakeScores(const EvaluationRecord& record) {
  const std::lock_guard lock(mutex_);
  for (const auto& [task, score] : record.tasks) scores_[task] = score.score.value;
}

void RunEvents::SayTrouble() {
  for (const std::string& words : program_.TakeTrouble()) console_.Warn(words);
}

}  // namespace medley

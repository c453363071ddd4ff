#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/train/event_program.h>
#include <medley/train/stall_watch.h>

namespace medley {

// Tells a run's on_event program what happens to it: a stage begins, a checkpoint is saved, the run ends,
// fails or stalls (see StallClock). Changes nothing of the run, which never waits for it but at its end; what
// became of the program is a warning. On the trainer's thread.
class RunEvents final : public RecordSink {
 public:
  struct Setting {
    std::vector<std::string> command = {};  // of ConfirmOnEvent
    std::filesystem::path run = {};
    std::int64_t step = 0, steps = 0;  // done, and asked for
    std::string first_stage = {};      // that begins with the first step; "": none does
    StallWatch::Setting stalls = {};
    std::chrono::milliseconds limit = EventProgram::kLongest;
  };
  // Keeps a reference.
  RunEvents(Setting setting, Console& console);
  // Waits for what the program was told last, as Train does at the run's end.
  ~RunEvents() override;

  // Calls what trains, and returns or throws as that does, having told how it ended: nothing where it is just
  // as far as it was asked to go. `why_over`: why the run is over, "" where it is not.
  ExitCode Train(const std::function<ExitCode()>& train, const std::function<std::string()>& why_over);

  using RecordSink::Take;
  void Take(const EvaluationRecord& at_start) override;
  void Take(const StepRecord& record) override;
  void Take(const StageStart& start) override;
  void Take(const SaveRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  void Tell(const std::string& event, const nlohmann::ordered_json& more,
            EventProgram::Need need = EventProgram::Need::kMayBeLeftOut);
  void TellAt(std::int64_t step, const std::string& event, const nlohmann::ordered_json& more);
  void TellEnd(const std::string& event, const std::string& why, ExitCode code);
  void TakeScores(const EvaluationRecord& record);
  void SayTrouble();

  Setting setting_;
  Console& console_;
  std::mutex mutex_;  // of what follows, which a stall tells of too
  std::int64_t step_;
  std::map<std::string, double> losses_, scores_;
  std::string told_end_;  // so that who trains on behind the end hears of it once
  EventProgram program_;
  StallWatch stalls_;
};

}  // namespace medley

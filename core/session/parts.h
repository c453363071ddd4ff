#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/console.h>
#include <medley/run/run.h>
#include <medley/session/repeated_run.h>
#include <medley/session/session.h>
#include <medley/train/admission.h>
#include <medley/train/run_events.h>
#include <medley/train/trainer.h>

namespace medley {

// A run and its plan: what a session makes before it writes anything. Keeps a reference to the console.
struct PlannedRun {
  PlannedRun(std::unique_ptr<Run> made, Console& console)
      : run(std::move(made)),
        plan(run->forms, run->Configured()),
        admission(*run, run->forms, *run->mixer, plan, console) {}
  PlannedRun(const PlannedRun&) = delete;
  PlannedRun& operator=(const PlannedRun&) = delete;

  std::unique_ptr<Run> run;
  PlanInForce plan;
  Admission admission;
};

// All that a session owns, in the order in which it lives.
struct SessionParts {
  SessionParts(std::shared_ptr<const RunDirectory> in, std::unique_ptr<PlannedRun> what, WeightLog changes,
               TrainerStart start, Console& console)
      : directory(std::move(in)),
        planned(std::move(what)),
        log(std::move(changes)),
        trainer(*planned->run, planned->plan, log, planned->admission, console, std::move(start)) {}
  SessionParts(const SessionParts&) = delete;
  SessionParts& operator=(const SessionParts&) = delete;

  // To the program of on_event; nothing where there is none. `first_stage`: see RunEvents.
  void TellEvents(std::vector<std::string> on_event, const std::string& first_stage, Console& console);

  std::shared_ptr<const RunDirectory> directory;
  std::unique_ptr<PlannedRun> planned;
  WeightLog log;
  std::unique_ptr<RunEvents> events;  // null: nobody hears of them
  Trainer trainer;
};

// Those that were asked for; null: a process alone.
std::shared_ptr<Cluster> ClusterOf(const std::shared_ptr<Cluster>& asked);

// Of a run that goes on, this process's own: the run's, locked, or what the first one made of it for another.
std::shared_ptr<const RunDirectory> OpenRunDirectory(Cluster& cluster, const std::filesystem::path& run);

// As Session::Begin says; `repeated`: the run whose first start it repeats, or null; it is not kept.
std::unique_ptr<SessionParts> BeginRun(const BeginRequest& request, const std::filesystem::path& directory,
                                       const RepeatedRun* repeated, Console& console);

// As Session::Resume says. `config`: a file, "" for the run's newest; `script`: of the start that it repeats;
// `run`: where the checkpoints lie, "" where the run's directory is this process's.
struct ResumeStart {
  ResumeRequest request = {};
  std::filesystem::path config = {};
  std::optional<RunScript> script = {};
  std::filesystem::path run = {};
};
struct ResumedRun {
  std::unique_ptr<SessionParts> parts;  // null: all steps are done, which was said
  std::int64_t step = 0;
};
ResumedRun ResumeRun(std::shared_ptr<const RunDirectory> directory, const ResumeStart& start,
                     Console& console);
// The same with a directory that OpenRunDirectory gave, of the run at `run`.
ResumedRun ResumeTogether(std::shared_ptr<const RunDirectory> directory, const std::filesystem::path& run,
                          const ResumeRequest& request, Console& console);

// What both say of a run that was put together.
void SayWhatRuns(const Run& run, Console& console);
// Which items are held out, and which rows of files hold names of special tokens.
void SayHowFilesAreRead(const Run& run, Console& console);
// Gives a run that begins the weights that its config names; returns words about each kind. Where it throws
// some parameters may have theirs and others not.
std::vector<std::string> TakeStartingWeights(const Run& run, Console& console);
// From here on that is what the process says last, however it ends: what is done of the run stands on the
// disk.
void SayThatAResumeGoesOn(const std::filesystem::path& run);
// run.json and the resolved config, of a start that goes on after so many steps; `unevaluated`: before the
// last of them is evaluated.
void RecordStart(const Run& run, const RunDirectory& directory, std::int64_t step, bool unevaluated);

}  // namespace medley

#include <medley/session/session.h>

#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/plan/run_planner.h>
#include <medley/session/only_session.h>
#include <medley/session/own_settings.h>
#include <medley/session/parts.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// Those of a run at this path: see ResumeStart.
fs::path CheckpointsOf(const std::shared_ptr<Cluster>& cluster, const fs::path& run) {
  return ClusterOf(cluster)->is_first() ? fs::path() : run;
}

// What an interrupt leaves is said, and it passes.
template <typename Work>
auto BeforeTheFirstStep(const std::shared_ptr<Cluster>& cluster, const char* what_is_left, Console& console,
                        const Work& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    ClusterOf(cluster)->TellThatItStops();
    console.Say(std::string("interrupted before the first step: ") + what_is_left);
    throw;
  }
}

// What a start reads of the run: its configs, records, weights, plans. The logs of steps are the run's.
bool IsReadAtStarts(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const bool is_log = name.starts_with("metrics") || name.starts_with("timing");
  return entry.is_regular_file() && !is_log && (name.ends_with(".json") || name.ends_with(".jsonl"));
}

// Gives every other process copies of what the run was so far, in a folder that is made anew at each start.
void MakeRankDirectories(const Cluster& cluster, const fs::path& run) {
  for (const fs::path& own : DirectoriesOfOthers(run)) fs::remove_all(own);
  for (std::int64_t rank = 1; rank < cluster.place().size; ++rank) {
    const fs::path own = DirectoryOfRank(run, rank);
    try {
      fs::remove_all(own);  // behind one that was missing
      fs::create_directories(own);
      for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
        if (IsReadAtStarts(entry)) fs::copy_file(entry.path(), own / entry.path().filename());
      }
    } catch (const fs::filesystem_error& error) {
      throw InputError("the folder of the run's process " + std::to_string(rank) + ", " + Printable(own) +
                       ", cannot be made: " + error.code().message());
    }
  }
}

std::unique_ptr<SessionParts> BeginSaying(const BeginRequest& request, const fs::path& directory,
                                          const RepeatedRun* repeated, Console& console) {
  return BeforeTheFirstStep(request.cluster, "nothing was trained, and nothing is saved", console,
                            [&] { return BeginRun(request, directory, repeated, console); });
}

// A start of the repeated run but its first one, with the plan that it had.
ResumedRun Repeat(const RepeatedRun& repeated, std::size_t number,
                  std::shared_ptr<const RunDirectory> directory, const fs::path& run,
                  const BeginRequest& begun, Console& console) {
  const RepeatedRun::Start& start = repeated.starts()[number];
  console.Say("the run that is repeated was resumed after step " + std::to_string(start.step) + ", with " +
              start.config.filename().string());
  if (const fs::path plan = repeated.PlanOf(number).plan; fs::exists(plan)) {
    const std::string text = ReadFile(plan);
    KeepPlan(directory->path(), text);
    ReplaceFile(directory->path() / kPlanFile, text);
  }
  return ResumeRun(std::move(directory),
                   {.request = {.plugins = begun.plugins, .cluster = begun.cluster},
                    .config = start.config,
                    .script = repeated.ScriptOf(number),
                    .run = CheckpointsOf(begun.cluster, run)},
                   console);
}

}  // namespace

void SessionParts::TellEvents(std::vector<std::string> on_event, const std::string& first_stage,
                              Console& console) {
  if (on_event.empty()) return;
  events = std::make_unique<RunEvents>(RunEvents::Setting{.command = std::move(on_event),
                                                          .run = directory->path(),
                                                          .step = trainer.step(),
                                                          .steps = planned->run->config.steps,
                                                          .first_stage = first_stage},
                                       console);
  trainer.Tell(*events);
}

std::shared_ptr<const RunDirectory> OpenRunDirectory(Cluster& cluster, const fs::path& run) {
  std::shared_ptr<const RunDirectory> directory;
  cluster.FirstAlone([&] {
    directory =
        std::make_shared<const RunDirectory>(RunDirectory::Open(DirectoryOfRank(run, cluster.place().rank)));
    if (cluster.is_first()) MakeRankDirectories(cluster, run);
  });
  return directory;
}

ResumedRun ResumeTogether(std::shared_ptr<const RunDirectory> directory, const fs::path& run,
                          const ResumeRequest& request, Console& console) {
  console.LogTo(directory->path() / kConsoleLog);
  for (const std::string& words : directory->mended()) console.Warn(words);
  if (!directory->took_over().empty()) console.Say("took over the stale lock of " + directory->took_over());
  const ResumeStart start{.request = request, .run = CheckpointsOf(request.cluster, run)};
  ResumedRun resumed = BeforeTheFirstStep(request.cluster, "the run is as it was", console,
                                          [&] { return ResumeRun(std::move(directory), start, console); });
  if (resumed.parts) SayThatAResumeGoesOn(run);
  return resumed;
}

Session::Session(fs::path directory)
    : directory_(std::move(directory)),
      only_(std::make_unique<OnlySession>(directory_)),
      settings_(std::make_unique<OwnSettings>()) {}
Session::Session(Session&& other) noexcept = default;

Session::~Session() = default;

Session Session::Begin(const BeginRequest& request, const fs::path& directory, Console& console) {
  Session session(directory);
  const OwnSettings::Turn turn(*session.settings_);
  session.parts_ = BeginSaying(request, directory, nullptr, console);
  session.settings_->SetDevice(session.parts_->planned->run->device);
  return session;
}

Session Session::Resume(const fs::path& path, const ResumeRequest& request, Console& console) {
  RefuseDirectoryOfRank(path);
  Session session(path);
  const OwnSettings::Turn turn(*session.settings_);
  const auto directory = OpenRunDirectory(*ClusterOf(request.cluster), path);
  ResumedRun resumed = ResumeTogether(directory, path, request, console);
  session.parts_ = std::move(resumed.parts);
  session.last_step_ = resumed.step;
  if (session.parts_) session.settings_->SetDevice(session.parts_->planned->run->device);
  return session;
}

ExitCode Session::Replay(const fs::path& old, const BeginRequest& request, const fs::path& path,
                         Console& console) {
  const OnlySession only(path);
  OwnSettings settings;
  const OwnSettings::Turn turn(settings);
  const RepeatedRun repeated(old);
  auto parts = BeginSaying(request, path, &repeated, console);
  const std::shared_ptr<const RunDirectory> directory = parts->directory;
  ExitCode code = parts->trainer.Train();
  const auto goes_on = [&] { return code == ExitCode::kDone || code == ExitCode::kSomethingDropped; };
  for (std::size_t start = 1; start < repeated.starts().size() && goes_on(); ++start) {
    parts.reset();  // two models may not fit
    try {
      parts = Repeat(repeated, start, directory, path, request, console).parts;
      code = parts ? parts->trainer.Train() : ExitCode::kDone;
    } catch (const Interrupted&) {
      code = ExitCode::kInterrupted;
    }
  }
  directory->RequireConfig();
  if (code == ExitCode::kInterrupted)
    console.Say(
        "what is saved goes on by medley resume as a run of its own, without the resumes and the early "
        "decay of the one that it repeats; a replay begins anew, in another directory");
  return code;
}

ExitCode Session::Train(std::int64_t until, AtReturn leaves) {
  if (!parts_) return ExitCode::kDone;
  const OwnSettings::Turn turn(*settings_);
  const auto train = [&] {
    const ExitCode code = parts_->trainer.Train(until, leaves);
    if (leaves == AtReturn::kSaved) parts_->directory->RequireConfig();
    return code;
  };
  return parts_->events ? parts_->events->Train(train, [&] { return parts_->trainer.WhyOver(); }) : train();
}

void Session::Tell(RecordSink& sink) {
  if (parts_) parts_->trainer.Tell(sink);
}

std::map<std::string, ScoreRecord> Session::Score(std::int64_t rows) {
  if (!parts_)
    throw InputError("all steps of " + Printable(directory_) +
                     " are done, and this session has no model: ask medley eval " +
                     ShellWord(directory_.string()));
  const OwnSettings::Turn turn(*settings_);
  return parts_->trainer.Score(rows);
}

void Session::Edit(const std::string& text) {
  if (!parts_)
    throw InputError(
        "all steps of " + Printable(directory_) +
        " are done, so an edit of its weights would change nothing. Resume it with more steps first");
  const OwnSettings::Turn turn(*settings_);
  parts_->trainer.Edit(text);
}

std::int64_t Session::step() const { return parts_ ? parts_->trainer.step() : last_step_; }

}  // namespace medley

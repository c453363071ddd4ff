#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/plugin/confirmed_paths.h>
#include <medley/report/console.h>
#include <medley/report/score.h>
#include <medley/train/at_return.h>

namespace medley {

class Cluster;
class OnlySession;
class OwnSettings;
class RecordSink;
struct Run;
struct SessionParts;

// How a new run begins.
struct BeginRequest {
  std::filesystem::path config;             // a run config
  std::vector<std::string> overrides = {};  // of it: "steps=100"
  NamedPlugins plugins = {};                // searched before those that the config names
  bool allow_on_event = false;              // the program that the config's on_event names
  // Patterns of parameters that the weights of a pretrained model may lack, beside those of the config.
  std::vector<std::string> allow_missing = {};
  // The same of tensors that those weights may have and the model has not.
  std::vector<std::string> allow_unexpected = {};
  std::filesystem::path profile = {};     // profile.json of another run: what it holds is not measured again
  std::shared_ptr<Cluster> cluster = {};  // the processes that train it together; null: this one alone
};

// How a run goes on.
struct ResumeRequest {
  std::vector<std::string> overrides = {};  // of what may change, as "optimizer.learning_rate=1e-4"
  NamedPlugins plugins = {};
  bool allow_on_event = false;
  // Files and folders that the run is made from (a task's data, say) and that may have other contents now.
  std::vector<std::filesystem::path> allow_changed = {};
  // The step of an older checkpoint to go on from; newer ones are renamed, and no longer the run's.
  std::optional<std::int64_t> from = {};
  std::shared_ptr<Cluster> cluster = {};  // as at the begin; another number of them may go on
};

// A training run that is under way: what `medley train` and `medley resume` are commands of. It owns all that
// trains, holds the lock of the run's directory while it lives, and says what it does on the console, whose
// lines go to the directory's log.txt too.
//
// Where several processes train it, each has a session of the same request, and all call the same functions
// in the same order. The first one's is the run; another's directory is a folder of the run's, rank-1 and so
// on, with what that process says, and nothing that anybody needs.
//
// To be used on one thread. It installs no signal handler: whoever wants one asks for an interrupt in it
// (base/interrupt.h), which Train heeds. One session of a process at a time: a budget is the process's, and a
// second one is refused. What a program has set in libtorch (generators, threads, the default type, gradients
// off, autocast) is neither heeded nor changed: each call puts it back. What stays for the life of the
// process are the allocator that counts the CPU's tensors, a GPU's budget, and CUBLAS_WORKSPACE_CONFIG where
// a run is deterministic; tensors that the program makes while a session lives count towards its budget.
// Where the config has an on_event, its program is told what happens to the run; Train waits for it where the
// run ends, and so does the session's end. Errors are InputErrors for what the user gave, and an Error with
// ExitCode::kDoesNotFit for a budget that is too small.
class Session {
 public:
  // Checks every file, plans and makes the directory; nothing is trained so far. Where it throws nothing is
  // left behind, but where a file of the new directory could not be written: that stays, and the same can
  // begin there again. So it is where it was interrupted (Interrupted). Keeps the reference to the console.
  static Session Begin(const BeginRequest& request, const std::filesystem::path& directory, Console& console);
  // From its newest whole checkpoint, or an older one, with the edits of its weights file. One that is to go
  // beyond the end of its decay goes on from where that began. Of a run whose
  // steps are all done it says so: Train then has nothing to do. Where it throws, the run can be resumed as
  // before: what was trained is as it was; so it is where it was interrupted (Interrupted).
  // Keeps the reference to the console.
  static Session Resume(const std::filesystem::path& directory, const ResumeRequest& request,
                        Console& console);
  // Begins a run and trains it to the end as the one in `old` was, with its edits, its early decay and what
  // its resumes changed: to the same metrics.jsonl. The request must be that of `old`, else an InputError
  // says what differs, before anything is written. Returns what Train does; `old` is only read.
  static ExitCode Replay(const std::filesystem::path& old, const BeginRequest& request,
                         const std::filesystem::path& directory, Console& console);
  Session(Session&& other) noexcept;
  ~Session();

  // Until so many steps are done in all, or the run ends: see Trainer::Train. Saved when it returns. kDone,
  // kSomethingDropped where tasks were dropped, or kInterrupted.
  // kUnsaved: nothing is saved or said where the run goes on behind these steps; a later call saves.
  ExitCode Train(std::int64_t until = std::numeric_limits<std::int64_t>::max(),
                 AtReturn leaves = AtReturn::kSaved);
  // Tells this one of every step from now on, behind the run's logs; it outlives the session.
  void Tell(RecordSink& sink);
  // The scores of the active tasks as the run is now, of so many of the rows that it is evaluated on; 0: of
  // as many as its evaluations have. Written nowhere, and the run goes on as if nobody had asked. An
  // InputError where all steps of the run are done.
  std::map<std::string, ScoreRecord> Score(std::int64_t rows = 0);
  // The text of a weights file, which holds from the next step on: tasks that it brings are loaded and
  // planned now. The run's own weights file is then this text. Where it throws, what was in force stays. An
  // InputError where all steps of the run are done.
  void Edit(const std::string& text);

  std::int64_t step() const;  // steps done
  const std::filesystem::path& directory() const { return directory_; }

 private:
  explicit Session(std::filesystem::path directory);

  std::filesystem::path directory_;
  std::unique_ptr<OnlySession> only_;
  std::unique_ptr<OwnSettings> settings_;
  std::unique_ptr<SessionParts> parts_;  // null: all steps of the run are done
  std::int64_t last_step_ = 0;           // then
};

// The run that would begin, up to its first step: nothing is planned, and no directory is made. Throws what
// Session::Begin throws by then.
std::unique_ptr<Run> BuildBeginning(const BeginRequest& request, Console& console);

}  // namespace medley

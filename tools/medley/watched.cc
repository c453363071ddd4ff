#include "tools/medley/watched.h"

#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_watch.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/report/screen.h>
#include <medley/runs/run_list.h>
#include <medley/runs/run_state.h>
#include <medley/runs/runs_below.h>
#include <medley/runs/sweep_record.h>

#include "tools/medley/report_words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// Changes with what lies in the folder.
std::string LooksOf(const fs::path& folder) {
  std::string looks;
  for (const fs::path& path : ListDirectory(folder)) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) looks += path.filename().string() + " " + LookOf(path) + "\n";
  }
  return looks;
}

class WatchedRun final : public Watched {
 public:
  explicit WatchedRun(fs::path run) : run_(std::move(run)) {}

  bool Look() override {
    state_ = StateOf(run_);  // before its files, so that these have its end where it has ended
    std::string looks = state_.Words() + "\n" + LooksOf(run_);
    for (const fs::path& other : DirectoriesOfOthers(run_)) looks += LooksOf(other);
    if (looks == looks_) return false;
    if (report_ || IsRun(run_)) report_ = ReportOfRun(run_);
    looks_ = std::move(looks);  // not of what cannot be read: the next look tries again
    return true;
  }
  std::string Words() const override {
    if (!report_) return Progress();
    return Prose(DisplayPath(run_) + ", " + state_.Words()) + "\n\n" + report_->Words();
  }
  std::string Progress() const override {
    return report_ ? report_->Progress() : DisplayPath(run_) + " has no config yet: " + state_.Words() + "\n";
  }
  std::string Json() const override { return report_ ? JsonText(report_->Json()) + "\n" : ""; }
  bool GoesOn() const override { return state_.status == RunStatus::kTraining; }
  bool HasEnded() const override { return StateOf(run_).status != RunStatus::kTraining; }
  bool MayBeginAgain() const override { return false; }

 private:
  fs::path run_;
  RunState state_;
  std::string looks_;
  std::optional<ReportOfRun> report_;
};

class WatchedRuns final : public Watched {
 public:
  explicit WatchedRuns(fs::path directory) : directory_(std::move(directory)) {}

  bool Look() override {
    is_held_ =
        StateOf(directory_).status == RunStatus::kTraining;  // by a sweep, which starts one after another
    RunList list = ListRuns(RunsBelow({directory_}), {.directories = {directory_}});
    std::string looks;
    counts_.clear();
    for (const ListedRun& one : list.runs) {
      ++counts_[one.run.state.status];
      looks += one.name + "\n" + one.run.state.Words() + "\n" + JsonText(ToJson(one.run.facts)) + "\n";
    }
    list_ = std::move(list);
    return std::exchange(looks_, looks) != looks;
  }
  std::string Words() const override { return RunsText(list_); }
  std::string Progress() const override {
    std::string words = DisplayPath(directory_) + ": ";
    for (const auto& [status, count] : counts_)
      words +=
          (status == counts_.begin()->first ? "" : ", ") + std::to_string(count) + " " + EnumName(status);
    return words + Leading() + "\n";
  }
  std::string Json() const override { return JsonText(RunsJson(list_)) + "\n"; }
  bool GoesOn() const override { return is_held_ || counts_.contains(RunStatus::kTraining); }
  bool HasEnded() const override { return false; }
  bool MayBeginAgain() const override { return true; }

 private:
  // Where those are that train.
  std::string Leading() const {
    std::string words;
    for (const ListedRun& one : list_.runs) {
      if (one.run.state.status != RunStatus::kTraining) continue;
      words += (words.empty() ? "; " : ", ") + one.name + " after step " + std::to_string(one.run.facts.step);
      if (one.run.facts.ends) words += " of " + std::to_string(*one.run.facts.ends);
    }
    return words;
  }

  fs::path directory_;
  bool is_held_ = false;
  std::string looks_;
  RunList list_;
  std::map<RunStatus, std::size_t> counts_;
};

}  // namespace

std::unique_ptr<Watched> Watch(const fs::path& directory) {
  if (const std::string problem = DirectoryProblem(directory); !problem.empty())
    throw InputError(problem + "; a run's directory, or one with runs below it, is expected");
  const bool is_held = StateOf(directory).status == RunStatus::kTraining;
  std::error_code ignored;
  const bool is_sweep = !IsRun(directory) && fs::exists(directory / kSweepFile, ignored);
  if (IsRun(directory) || (is_held && !is_sweep)) return std::make_unique<WatchedRun>(directory);
  if (!is_held && FindRuns({directory}).empty())
    throw InputError(DisplayPath(directory) + " is no run, and none lies below it");
  return std::make_unique<WatchedRuns>(directory);
}

}  // namespace medley

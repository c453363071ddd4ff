#include <medley/report/progress.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>

#include <medley/base/bytes.h>
#include <medley/config/threads.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kForget = 0.95;      // how much of the past is kept a step
constexpr double kMuchWaiting = 0.3;  // of the time
constexpr double kTellingSteps = 5;   // the first ones wait for threads that have only begun
// A task that was not drawn for so many steps, and for so many of its own times between two draws, is paused
// or over: its numbers would be read as new ones.
constexpr std::int64_t kOldSteps = 200, kOldTimes = 3;

// Two digits: ".12", "3.4", "120".
std::string ShortNumber(double value) {
  if (std::isnan(value)) return "-";
  std::array<char, 32> buffer{};
  const bool whole = std::abs(value) >= 99.5 && std::abs(value) < 1e6;
  std::snprintf(buffer.data(), buffer.size(), whole ? "%.0f" : "%.2g", value);
  const std::string text = buffer.data();
  return text.rfind("0.", 0) == 0 ? text.substr(1) : text;
}

}  // namespace

std::string DataWaitWords(double share, const std::map<std::string, double>& waits,
                          std::int64_t data_threads) {
  if (!(share >= kMuchWaiting) || waits.empty()) return "";
  const auto longest =
      std::ranges::max_element(waits, [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto percent = static_cast<int>(std::lround(100 * std::min(share, 1.0)));
  std::string words = std::to_string(percent) + " % waiting for data (" + longest->first + ")";
  // Threads sample at once; without any, the trainer's samples between its steps.
  const double computing = std::max(1 - share, 0.01);
  const double wanted = data_threads > 0 ? static_cast<double>(data_threads) / computing : share / computing;
  const std::int64_t threads = std::min(Cores(), static_cast<std::int64_t>(std::ceil(wanted)));
  if (threads > data_threads) words += ": data.threads=" + std::to_string(threads);
  return words;
}

void Progress::EndsAt(std::int64_t total_steps, double most_seconds) {
  total_ = total_steps;
  most_seconds_ = most_seconds;
}

void Progress::Add(const StepRecord& record) {
  step_ = record.step;
  step_seconds_ = kForget * step_seconds_ + record.seconds;
  step_rows_ = kForget * step_rows_ + static_cast<double>(record.rows());
  weight_ = kForget * weight_ + 1;
  for (auto& [task, seconds] : waits_) seconds *= kForget;
  for (const auto& [task, milliseconds] : record.data_waits) waits_[task] += milliseconds / 1000;
  recent_work_.Add(record.rank_work_ms, kForget);
  rank_work_.Add(record.rank_work_ms);
  AddLosses(record);
  if (record.evaluation) {
    for (const auto& [task, score] : record.evaluation->tasks) scores_[task] = score.score.value;
  }
  memory_now_ = record.memory_now;
  memory_peak_ = std::max(memory_peak_, record.memory_peak);
}

void Progress::AddLosses(const StepRecord& record) {
  for (const auto& [task, terms] : record.losses) {
    for (const auto& [name, term] : terms) {
      const std::optional<double> loss = term.weighted();
      if (!loss) continue;
      losses_.Add(task, name, *loss);
    }
  }
  // Where a step draws all tasks, another one is the last of it each time.
  std::vector<std::string> drawn;
  for (const auto& [task, terms] : record.losses) {
    if (!std::isnan(losses_.Of(task))) drawn.push_back(task);
  }
  if (drawn.empty()) return;
  AddTasks(drawn);
  std::rotate(drawn.begin(), drawn.begin() + record.step % std::ssize(drawn), drawn.end());
  for (const std::string& task : drawn) {
    std::erase(drawn_, task);
    drawn_.insert(drawn_.begin(), task);
    DrawnSteps& steps = steps_[task];
    if (steps.count++ == 0) steps.first = record.step;
    steps.last = record.step;
  }
}

bool Progress::IsOld(const std::string& task) const {
  const DrawnSteps& steps = steps_.at(task);
  const std::int64_t between = (steps.last - steps.first) / std::max<std::int64_t>(1, steps.count - 1);
  return step_ - steps.last > std::max(kOldSteps, kOldTimes * between);
}

std::vector<std::string> Progress::Shown() const {
  std::vector<std::string> tasks;
  for (const std::string& task : drawn_) {
    if (!IsOld(task)) tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::string> Progress::AddTasks(const std::vector<std::string>& tasks) {
  std::vector<std::string> added = names_.Add(tasks);
  std::erase_if(added, [&](const std::string& task) { return names_.Of(task) == task; });
  return added;
}

void StatusLine::Take(const StepRecord& record) {
  progress_.Add(record);
  const std::string line = progress_.Line(), shown = progress_.Line(console_.columns());
  if (shown != line && !has_told_) Tell();
  console_.Status(line, shown);
}

void StatusLine::AddTasks(const std::vector<std::string>& named) {
  const std::vector<std::string> added = progress_.AddTasks(named);
  short_.insert(short_.end(), added.begin(), added.end());
  if (has_told_ && !added.empty()) Tell();
}

void StatusLine::Tell() {
  std::string words = has_told_ ? "" : "each line: steps, then tasks with loss, or loss/score";
  has_told_ = true;
  const char* separator = words.empty() ? "" : "; ";
  for (const std::string& task : std::exchange(short_, {})) {
    words += separator + progress_.ShortNameOf(task) + " is " + task;
    separator = ", ";
  }
  console_.Say(Wrapped(words, console_.columns()));
}

double Progress::RowsPerSecond() const { return step_seconds_ > 0 ? step_rows_ / step_seconds_ : 0; }

double Progress::SecondsLeft() const {
  if (weight_ <= 0) return -1;
  return std::min(most_seconds_, static_cast<double>(total_ - step_) * step_seconds_ / weight_);
}

std::string Progress::WaitWords() const {
  if (weight_ < kTellingSteps) return "";
  double waited = 0;
  for (const auto& [task, seconds] : waits_) waited += seconds;
  return DataWaitWords(step_seconds_ > 0 ? waited / step_seconds_ : 0, waits_, data_threads_);
}

std::string Progress::RankWords() const {
  return weight_ < kTellingSteps ? "" : recent_work_.Words(1000 * step_seconds_);
}

std::string Progress::LongLosses() const {
  std::string line = "step " + std::to_string(step_) + "/" + std::to_string(total_) + ":";
  std::vector<std::string> tasks = Shown();
  std::ranges::sort(tasks);
  for (const std::string& task : tasks) {
    line += "  " + task + " " + FormatNumber(losses_.Of(task));
    if (const auto score = scores_.find(task); score != scores_.end())
      line += " (" + FormatNumber(score->second) + ")";
  }
  return line;
}

std::string Progress::ShortTask(const std::string& task) const {
  std::string text = " " + names_.Of(task) + " " + ShortNumber(losses_.Of(task));
  if (const auto score = scores_.find(task); score != scores_.end()) text += "/" + ShortNumber(score->second);
  return text;
}

std::string Progress::ShortLosses() const {
  std::string line = std::to_string(step_) + "/" + std::to_string(total_);
  std::vector<std::string> tasks = Shown();
  std::ranges::sort(tasks);
  for (const std::string& task : tasks) line += ShortTask(task);
  return line;
}

// One task at least.
std::string Progress::LastDrawn(std::size_t columns) const {
  std::string line = std::to_string(step_) + "/" + std::to_string(total_);
  std::string others;
  const std::vector<std::string> tasks = Shown();
  for (std::size_t shown = 0; shown < tasks.size(); ++shown) {
    const std::size_t left = tasks.size() - shown - 1;
    const std::string text = ShortTask(tasks[shown]);
    const std::string rest = left > 0 ? " +" + std::to_string(left) : "";
    if (shown > 0 && line.size() + text.size() + rest.size() >= columns) break;
    line += text;
    others = rest;
  }
  return line + others;
}

std::string Progress::Line(std::size_t columns) const {
  const std::string time_left = FormatSeconds(SecondsLeft()) + " left";
  std::string line = LongLosses();
  if (line.size() >= columns) line = ShortLosses();
  if (line.size() >= columns) line = LastDrawn(columns - std::min(columns, time_left.size() + 2));
  const char* separator = "; ";
  for (const std::string& piece :
       {stage_, WaitWords(), time_left, FormatNumber(RowsPerSecond()) + " rows/s", RankWords(),
        "memory " + FormatBytes(memory_now_) + " (peak " + FormatBytes(memory_peak_) + ")"}) {
    if (piece.empty()) continue;
    if (columns - std::min(columns, line.size()) <= piece.size() + 2) break;
    line += separator + piece;
    separator = ", ";
  }
  return line;
}

}  // namespace medley

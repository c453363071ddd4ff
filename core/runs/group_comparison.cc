#include <medley/runs/group_comparison.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/config/config_values.h>
#include <medley/report/student.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using Values = std::map<std::int64_t, double>;  // by seed

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kConfidence = 0.95;

// "A" to "Z", then "AA".
std::string LabelOf(std::size_t group) {
  std::string label;
  for (std::size_t rest = group + 1; rest > 0; rest = (rest - 1) / 26)
    label.insert(label.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return label;
}

// With its folders where another one has its name.
const std::string& NameAmong(const std::vector<RunGroup>& groups, std::size_t group) {
  const bool is_alone = std::ranges::count(groups, groups[group].name, &RunGroup::name) == 1;
  return is_alone ? groups[group].name : groups[group].path;
}

std::vector<double> NumbersOf(const Values& values) {
  std::vector<double> numbers;
  for (const auto& [seed, value] : values) numbers.push_back(value);
  return numbers;
}

Interval MeanOfSeeds(const Values& values) {
  Interval mean = StudentInterval(NumbersOf(values), kConfidence);
  if (values.size() < kFewestSeeds) mean.low = mean.high = kNaN;
  return mean;
}

nlohmann::ordered_json WithoutSeed(const GroupRun& run) {
  nlohmann::ordered_json config = run.rows.config;
  config.erase("seed");
  return config;
}

// Keys in which configs differ, but the seed; and in words.
std::vector<std::string> DifferencesOf(const GroupRun& run, const GroupRun& other,
                                       std::vector<std::string>* words = nullptr) {
  const nlohmann::ordered_json before = WithoutSeed(run), now = WithoutSeed(other);
  if (before == now) return {};  // as of most
  std::vector<std::string> keys;
  std::vector<std::string> all = ConfigDifferences(before, now, &keys);
  // Which is no difference to a run that goes on.
  const auto weights = [](const nlohmann::ordered_json& config) {
    return config.value("weights", nlohmann::ordered_json()).dump();
  };
  if (weights(before) != weights(now)) {
    keys.emplace_back("weights");
    all.push_back("weights: " + weights(before) + " -> " + weights(now));
  }
  if (words != nullptr)
    for (const std::string& one : all) words->push_back(Printable(one));
  return keys;
}

class Comparer {
 public:
  explicit Comparer(const std::vector<RunGroup>& groups);
  GroupComparison Take() { return std::move(result_); }

 private:
  void TellRuns();
  void TellRows();
  void TellSteps();
  void AddTask(const std::string& task);
  void AddMeanLoss();
  void Compare(GroupRow& row, const std::string& task);
  GroupDifference DifferenceOf(const Values& base, const Values& values, std::size_t group,
                               bool is_unlike) const;
  std::string SeedsLeftOut(std::size_t group) const;
  bool HasNoSpread() const;
  void TellHow();

  const std::string& Label(std::size_t group) const { return result_.groups[group].label; }
  const GroupRun* First() const { return groups_[0].runs.empty() ? nullptr : &groups_[0].runs[0]; }

  const std::vector<RunGroup>& groups_;
  GroupComparison result_;
  std::vector<bool> may_pair_;     // by group, with the first
  std::vector<RowsApart> unlike_;  // likewise
};

Comparer::Comparer(const std::vector<RunGroup>& groups) : groups_(groups) {
  if (groups.empty()) throw Error("a comparison needs a group of runs");
  if (groups.size() > 2) result_.confidence = 1 - (1 - kConfidence) / static_cast<double>(groups.size() - 1);
  std::set<std::string> tasks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ComparedGroup& group =
        result_.groups.emplace_back(ComparedGroup{.label = LabelOf(i), .name = NameAmong(groups, i)});
    for (const GroupRun& run : groups[i].runs) {
      group.seeds.push_back(run.seed);
      for (const auto& [task, score] : run.scores) tasks.insert(task);
    }
    std::vector<std::string> keys;
    if (First() != nullptr && !groups[i].runs.empty())
      keys = DifferencesOf(*First(), groups[i].runs[0], &group.differs);
    may_pair_.push_back(keys.size() <= 1);
  }
  TellRuns();
  TellRows();
  TellSteps();
  for (const std::string& task : tasks) AddTask(task);
  AddMeanLoss();
  TellHow();
}

// Those that are not what their group says.
void Comparer::TellRuns() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const std::string& words : groups_[i].told) result_.before.push_back(Label(i) + ": " + words);
    if (groups_[i].runs.empty()) result_.before.push_back(Label(i) + ": no run of it is left");
    std::set<std::string> keys;
    for (const GroupRun& run : groups_[i].runs) {
      for (std::string& key : DifferencesOf(groups_[i].runs[0], run)) keys.insert(std::move(key));
    }
    if (!keys.empty())
      result_.before.push_back(Label(i) + ": its runs differ in more than their seeds (" +
                               JoinFew({keys.begin(), keys.end()}) + ")");
  }
}

void Comparer::TellRows() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    RowsApart& unlike = unlike_.emplace_back();
    for (const GroupRun& run : groups_[i].runs) {
      if (First() == nullptr || &run == First()) continue;
      const RowsApart one = CompareRows(First()->rows, run.rows);
      if (unlike.words.empty()) {
        for (const std::string& words : one.words)
          result_.before.push_back(Label(i) + " (seed " + std::to_string(run.seed) +
                                   ") is scored on other rows than A" + words);
        unlike.words = one.words;
      }
      unlike.all = unlike.all || one.all;
      unlike.tasks.insert(one.tasks.begin(), one.tasks.end());
    }
  }
  // What A itself has of unlike rows is in all of its differences.
  for (RowsApart& unlike : unlike_) {
    unlike.all = unlike.all || unlike_[0].all;
    unlike.tasks.insert(unlike_[0].tasks.begin(), unlike_[0].tasks.end());
  }
}

void Comparer::TellSteps() {
  std::map<std::string, std::vector<std::string>> by_steps;  // labels
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::set<std::int64_t> steps;
    for (const GroupRun& run : groups_[i].runs) steps.insert(NewestStep(run.scores));
    if (steps.empty()) continue;
    std::string words = std::to_string(*steps.begin());
    if (steps.size() > 1) words += " to " + std::to_string(*steps.rbegin());
    by_steps[words].push_back(Label(i));
  }
  const bool is_one = by_steps.size() == 1 && by_steps.begin()->first.find(' ') == std::string::npos;
  if (by_steps.empty() || is_one) return;
  std::string words;
  for (const auto& [steps, labels] : by_steps)
    words += (words.empty() ? "" : "; ") + JoinFew(labels) + " after step " + steps;
  result_.before.push_back("scores came after different steps: " + words);
}

void Comparer::AddTask(const std::string& task) {
  GroupRow row{.name = task};
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    GroupCell& cell = row.cells.emplace_back();
    for (const GroupRun& run : groups_[i].runs) {
      const auto found = run.scores.find(task);
      if (found == run.scores.end()) continue;
      const ScoreRecord& score = found->second.score;
      if (row.metric.empty()) {
        row.metric = score.metric;
        row.higher_is_better = score.higher_is_better;
      }
      if (score.metric != row.metric || score.higher_is_better != row.higher_is_better) {
        result_.before.push_back(Label(i) + " (seed " + std::to_string(run.seed) + ") scores '" +
                                 Printable(task) + "' by " + Printable(score.metric) + ", others by " +
                                 Printable(row.metric) + ": left out of its row");
      } else if (std::isfinite(score.score.value)) {
        cell.values[run.seed] = score.score.value;
      }
    }
    const std::size_t runs = groups_[i].runs.size(), values = cell.values.size();
    if (values > 0 && values < runs)
      result_.after.push_back(Label(i) + ": '" + Printable(task) + "' has a score in " +
                              std::to_string(values) + " of " + std::to_string(runs) + " runs");
  }
  Compare(row, task);
  result_.tasks.push_back(std::move(row));
}

void Comparer::AddMeanLoss() {
  std::set<std::string> common, left_out;
  for (const GroupRow& row : result_.tasks) {
    const bool have_all = std::ranges::all_of(groups_, [&](const RunGroup& group) {
      return std::ranges::all_of(group.runs, [&](const GroupRun& run) {
        const auto found = run.scores.find(row.name);
        return found != run.scores.end() && std::isfinite(found->second.score.loss);
      });
    });
    (have_all ? common : left_out).insert(row.name);
  }
  GroupRow& row = result_.mean_loss;
  row = {.name = "mean loss", .metric = "held-out loss", .higher_is_better = false};
  for (const RunGroup& group : groups_) {
    GroupCell& cell = row.cells.emplace_back();
    for (const GroupRun& run : group.runs) {
      std::map<std::string, ScoreRecord> scores;
      for (const std::string& task : common) scores[task] = run.scores.at(task).score;
      if (!scores.empty()) cell.values[run.seed] = MeanLoss(scores);
    }
  }
  if (!left_out.empty() && !common.empty())
    result_.after.push_back("The mean loss is of the tasks that every run has a loss of (not: " +
                            JoinFew({left_out.begin(), left_out.end()}) + ").");
  Compare(row, "");
}

// `task`: "" for all of them.
void Comparer::Compare(GroupRow& row, const std::string& task) {
  const Values& base = row.cells[0].values;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    GroupCell& cell = row.cells[i];
    cell.mean = MeanOfSeeds(cell.values);
    if (i == 0 || base.empty() || cell.values.empty()) continue;
    const bool is_unlike = task.empty() ? unlike_[i].all || !unlike_[i].tasks.empty() : unlike_[i].In(task);
    GroupDifference difference = DifferenceOf(base, cell.values, i, is_unlike);
    const Interval& found = difference.difference;
    if (std::isfinite(found.low)) {
      difference.verdict = found.low <= 0 && found.high >= 0         ? ScoreVerdict::kNoDifference
                           : (found.low > 0) == row.higher_is_better ? ScoreVerdict::kBetter
                                                                     : ScoreVerdict::kWorse;
      ComparedGroup& group = result_.groups[i];
      if (!task.empty())
        ++(*difference.verdict == ScoreVerdict::kBetter  ? group.better
           : *difference.verdict == ScoreVerdict::kWorse ? group.worse
                                                         : group.alike);
    }
    cell.difference = difference;
  }
}

GroupDifference Comparer::DifferenceOf(const Values& base, const Values& values, std::size_t group,
                                       bool is_unlike) const {
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : values) {
    const auto found = base.find(seed);
    if (found == base.end()) continue;
    ours.push_back(value);
    theirs.push_back(found->second);
  }
  GroupDifference difference{.is_paired = may_pair_[group] && ours.size() >= kFewestSeeds,
                             .pairs = ours.size()};
  difference.difference = difference.is_paired
                              ? PairedStudentInterval(ours, theirs, result_.confidence)
                              : WelchInterval(NumbersOf(values), NumbersOf(base), result_.confidence);
  if (is_unlike || std::min(base.size(), values.size()) < kFewestSeeds)
    difference.difference.low = difference.difference.high = kNaN;
  return difference;
}

// Of the groups whose mean loss is paired: seeds that only one of the two has.
std::string Comparer::SeedsLeftOut(std::size_t group) const {
  std::vector<std::int64_t> alone;
  std::ranges::set_symmetric_difference(result_.groups[0].seeds, result_.groups[group].seeds,
                                        std::back_inserter(alone));
  std::vector<std::string> seeds;
  for (const std::int64_t seed : alone) seeds.push_back(std::to_string(seed));
  return seeds.empty() ? "" : Label(group) + " without " + JoinFew(seeds);
}

// What was done, and what it is worth.
void Comparer::TellHow() {
  std::vector<std::string> few, paired, welch, left_out;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].runs.size() < kFewestSeeds) few.push_back(Label(i));
    const std::optional<GroupDifference>& mean = result_.mean_loss.cells[i].difference;
    if (!mean || !std::isfinite(mean->difference.low)) continue;
    (mean->is_paired ? paired : welch).push_back(Label(i));
    const std::string seeds = mean->is_paired ? SeedsLeftOut(i) : "";
    if (!seeds.empty()) left_out.push_back(seeds);
  }
  const auto say = [&](const std::string& words) { result_.after.push_back(words); };
  if (!few.empty())
    say("Fewer than three seeds (" + JoinFew(few) + "): numbers only, what is noise nobody can tell.");
  if (std::ranges::all_of(groups_, [](const RunGroup& group) { return group.runs.size() == 1; }) &&
      groups_.size() > 1)
    say("Whether two runs differ on these held-out rows: medley eval RUN --against RUN.");
  if (!paired.empty()) {
    say("Paired by seed (" + JoinFew(paired) + "): their configs differ from A's in one thing at most." +
        (left_out.empty() ? "" : " Seeds that only one has do not count: " + JoinFew(left_out) + "."));
  }
  if (!welch.empty())
    say("Not paired by seed (" + JoinFew(welch) +
        "; Welch's t): other seeds, or more than one thing differs.");
  if (paired.empty() && welch.empty()) return;
  if (groups_.size() > 2) {
    say("With " + std::to_string(groups_.size() - 1) + " comparisons each interval is of " +
        FormatShare(result_.confidence) + ", so that those of a row all hold 95 times in a hundred.");
  }
  if (result_.tasks.size() > 1)
    say("Each row is judged by itself: of twenty tasks without a difference about one is told apart.");
  if (HasNoSpread())
    say("No interval where all seeds have the same score: that tells nothing of how scores spread.");
}

bool Comparer::HasNoSpread() const {
  const auto has = [](const GroupCell& cell) {
    return cell.values.size() >= kFewestSeeds && std::isnan(cell.mean.low);
  };
  const auto is_one = [&](const GroupRow& row) { return std::ranges::any_of(row.cells, has); };
  return is_one(result_.mean_loss) || std::ranges::any_of(result_.tasks, is_one);
}

}  // namespace

GroupComparison CompareGroups(const std::vector<RunGroup>& groups) { return Comparer(groups).Take(); }

}  // namespace medley

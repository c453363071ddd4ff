#include <medley/contract/contract_check.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/contract/contract_comparison.h>
#include <medley/contract/contract_losses.h>
#include <medley/contract/contract_reruns.h>
#include <medley/contract/kept_state.h>
#include <medley/model/device.h>
#include <medley/plugin/author_words.h>
#include <medley/step/abandon.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kSearched = 32;                           // rows
constexpr std::int64_t kWatched = 16, kIdle = 50;                // draws
constexpr std::int64_t kTogether = 3, kTogetherThorough = 5;     // rows
constexpr std::size_t kUnlikeRows = 5, kUnlikeRowsThorough = 8;  // rows

RowRange OneRow(const RowRange& from, std::int64_t offset) { return from.Part(offset, 1); }

// The items of a row, by ragged column and by term. A row without any may lack the column.
using Counts = std::map<std::string, std::int64_t>;

Counts CountsOf(const Batch& one_row) {
  Counts counts;
  for (const auto& [name, column] : one_row.ragged()) counts["column " + name] = column.offsets.back();
  for (const auto& [term, items] : one_row.items()) counts["term " + term] = one_row.ItemCount(term);
  return counts;
}

// The first rows in which each count is smallest, smallest above 0, and largest.
std::vector<std::int64_t> Extremes(const std::vector<Counts>& rows) {
  std::vector<std::int64_t> chosen = {0};
  const auto add = [&](const std::vector<std::int64_t>& counts, const auto& is_better) {
    const auto best = std::ranges::min_element(counts, is_better);
    const auto shows = [&](std::int64_t row) { return counts[static_cast<std::size_t>(row)] == *best; };
    if (std::ranges::none_of(chosen, shows)) chosen.push_back(best - counts.begin());
  };
  const auto above_0 = [](std::int64_t n) { return n > 0 ? n : std::numeric_limits<std::int64_t>::max(); };
  std::set<std::string> names;
  for (const Counts& row : rows) {
    for (const auto& [name, count] : row) names.insert(name);
  }
  for (const std::string& name : names) {
    std::vector<std::int64_t> counts;
    for (const Counts& row : rows) counts.push_back(row.count(name) > 0 ? row.at(name) : 0);
    add(counts, std::less<>());
    add(counts, [&](std::int64_t a, std::int64_t b) { return above_0(a) < above_0(b); });
    add(counts, std::greater<>());
  }
  return chosen;
}

// For each term the first two neighbours that both have items of it, unlike in what they have where there are
// such; the first two rows where there are none.
std::vector<std::int64_t> Neighbours(const std::vector<Counts>& rows, const VariantInfo& variant) {
  std::set<std::int64_t> pairs;
  if (rows.size() < 2) return {};
  for (const TermInfo& term : variant.terms) {
    const auto first = [&](bool unlike) {
      return std::ranges::adjacent_find(rows, [&](const Counts& a, const Counts& b) {
        const std::string name = "term " + term.name;
        return a.at(name) > 0 && b.at(name) > 0 && (a != b || !unlike);
      });
    };
    const auto unlike = first(true), any = first(false);
    const auto found = unlike == rows.end() ? any : unlike;
    pairs.insert(found == rows.end() ? 0 : found - rows.begin());
  }
  return {pairs.begin(), pairs.end()};
}

// Those with a weight that are not in `terms`.
std::vector<std::string> Without(const std::set<std::string>& terms, const VariantInfo& variant) {
  std::vector<std::string> names;
  for (const TermInfo& term : variant.terms) {
    if (term.weight != 0 && terms.count(term.name) == 0) names.push_back(term.name);
  }
  return names;
}

std::string Listing(const LoadedTask& task, const std::vector<std::string>& differences) {
  std::string message = "task '" + task.info().name + "' (variant '" + task.variant().name +
                        "') does not do what its spec says; make the two agree:";
  for (const std::string& difference : differences) message += "\n  " + difference;
  return InAuthorsWords(std::move(message), task.in_python());
}

}  // namespace

// Row by row, so that what a check takes does not depend on how many it looks at.
ContractCheck::Rows ContractCheck::RowsToCheck(const LoadedTask& task, const RowRange& from) const {
  std::vector<Counts> counts;
  std::vector<RowContents> contents;
  RowSizes sizes;
  for (std::int64_t offset = 0; offset < kSearched; ++offset) {
    try {
      const Batch row = SampleRows(task, OneRow(from, offset), at::kCPU);
      CheckItems(task, row);
      counts.push_back(CountsOf(row));
      contents.push_back(ContentsOf(row));
      Widen(sizes, SizesOfRows(model_.spec(), row));
    } catch (const c10::OutOfMemoryError&) {
      throw;  // of whatever row: fewer rows would be a weaker check
    } catch (const std::exception&) {
      if (offset == 0) throw;
      break;  // a row that nobody has drawn yet: its own draw will say what is wrong with it
    }
  }
  return {.shown = Extremes(counts),
          .pairs = Neighbours(counts, task.variant()),
          .sampled = static_cast<std::int64_t>(counts.size()),
          .sizes = std::move(sizes),
          .contents = std::move(contents)};
}

// What passes do is compared where they do what the spec says: else that is what comes first.
std::vector<std::string> ContractCheck::CompareRows(LoadedTask& task, const RowRange& from, const Rows& rows,
                                                    const nlohmann::json& generators, bool thorough,
                                                    Judged& judged) {
  const MicroBatch::Setting setting{.task = task, .model = model_, .device = device_};
  const auto sample = [&](std::int64_t row, std::int64_t count) {
    return SampleRows(task, from.Part(row, count), device_);
  };
  ContractComparison comparison(setting);
  std::vector<std::string> differences;
  AloneRuns alone;  // beside the last of these rows, of which none follows that has graphs beside it
  for (const std::int64_t row : rows.shown) {
    alone.clear();
    const Batch batch = sample(row, 1);
    const Batch before = batch.Take({0});
    PassValues values;
    try {
      values = comparison.Add(batch);
    } catch (const c10::Error&) {  // libtorch's own words for it name no column
      if (WrittenTo(before, batch).empty()) throw;
    }
    if (const std::string written = WrittenTo(before, batch); !written.empty()) return {written};
    if (!comparison.differences().empty() || !differences.empty()) continue;
    std::vector<Batch> others;
    for (std::int64_t other = 0; other < rows.sampled && others.size() < 2; ++other) {
      if (other != row) others.push_back(sample(other, 1));
    }
    differences = CompareRepeat(setting, batch, others, values, alone);
  }
  if (comparison.differences().empty() && differences.empty()) {
    RowRange longest = from.Part(0, 1);
    longest.longest = true;
    comparison.AddLongest(SampleRows(task, longest, device_));
  }
  std::vector<std::string> of_spec = comparison.Finish(SaveGenerators(device_) == generators);
  if (!of_spec.empty()) return of_spec;
  for (const std::int64_t first : rows.pairs) {
    const std::int64_t most = thorough ? kTogetherThorough : kTogether;
    for (std::int64_t count : {first == rows.pairs.front() ? most : 2, std::int64_t{2}}) {
      count = std::min(count, rows.sampled - first);
      if (!differences.empty()) return differences;
      try {
        differences = CompareTogether(setting, sample(first, count), alone, thorough, judged);
        break;
      } catch (const c10::OutOfMemoryError&) {
        // Two may fit; and a run that has room for one row at a time never has two together.
      }
    }
  }
  if (differences.empty() && thorough) differences = CompareState(task, sample(rows.sampled - 1, 1));
  return differences;
}

// Of the last row, as what is kept of the first is right for that. Making the task once more may take long: a
// test has time for that, and a run watches memory.
std::vector<std::string> ContractCheck::CompareState(LoadedTask& task, const Batch& row) const {
  const MicroBatch::Setting setting{.task = task, .model = model_, .device = device_};
  std::string difference = CompareMemory(setting, row);
  if (difference.empty()) difference = CompareInstances(setting, row);
  return difference.empty() ? std::vector<std::string>() : std::vector{difference};
}

// Where neighbours have one content somewhere, others of the stream that have not; where that does not tell
// of a term whether it adds up, all.
std::vector<std::string> ContractCheck::CompareUnlikeRows(LoadedTask& task, const Rows& rows,
                                                          UnlikeRows& unlike, bool thorough, Judged& judged) {
  if (rows.pairs.empty() || !judged.ran) return {};
  const std::int64_t base = rows.pairs.front(), most = thorough ? kTogetherThorough : kTogether;
  std::vector<std::int64_t> chosen =
      unlike.Choose(base, std::min(most, rows.sampled - base), thorough ? kUnlikeRowsThorough : kUnlikeRows);
  std::vector<std::string> differences;
  try {
    if (chosen.size() > 1) differences = CompareRowsAt(task, std::move(chosen), unlike, thorough, judged);
    if (differences.empty() && !Without(judged.told, task.variant()).empty())
      differences = CompareRowsAt(task, unlike.Spread(), unlike, /*closely=*/true, judged);
  } catch (const c10::OutOfMemoryError&) {
    AbandonForward(device_);
    judged.not_judged.insert("what it makes of rows that are unlike: there is no room for them");
  }
  return differences;
}

std::vector<std::string> ContractCheck::CompareRowsAt(LoadedTask& task, std::vector<std::int64_t> places,
                                                      const UnlikeRows& unlike, bool closely,
                                                      Judged& judged) {
  const Batch batch = unlike.Sample(places, device_);
  return CompareUnlike({.task = task, .model = model_, .device = device_}, batch, unlike.Numbers(places),
                       closely, judged);
}

// Of terms whose sums tell nothing; `and_idle`: and of those that move nothing; and what else was not judged.
void ContractCheck::NameUntold(const LoadedTask& task, const Judged& judged, bool and_idle) {
  std::set<std::string> missed = judged.not_judged;
  const std::string rows = " in " + std::to_string(judged.rows) + " rows";
  for (const std::string& term : Without(judged.told, task.variant())) {
    if (!judged.ran) continue;
    if (judged.moved.count(term) > 0)
      missed.insert("whether rows add up: the sums of '" + term + "' are equal" + rows);
    else if (and_idle)
      missed.insert("whether the term '" + term + "' teaches: '" + term + "' moves nothing" + rows +
                    " (its gradient at the model's outputs is exactly 0)");
  }
  if (!missed.empty()) not_judged_[task.info().name].merge(missed);
}

void ContractCheck::Check(LoadedTask& task, const RowRange& from, bool thorough) {
  const KeepGenerators keep(device_);
  const nlohmann::json generators = SaveGenerators(device_);
  const Rows rows = RowsToCheck(task, from);
  if (SaveGenerators(device_) != generators) {
    throw Error("plugin '" + task.plugin() + "' (task " + task.info().name +
                InAuthorsWords(", while sampling): it drew from libtorch's own generator, so its rows would "
                               "depend on what was drawn before; draw from rows.Random(row) instead",
                               task.in_python()));
  }
  std::set<std::int64_t> again(rows.pairs.begin(), rows.pairs.end());
  again.insert(rows.shown.begin(), rows.shown.end());
  for (const std::int64_t row : again)
    CheckSampledAgain(task, from.Part(row, std::min<std::int64_t>(rows.sampled - row, 2)));
  Judged judged;
  UnlikeRows unlike(task, from, rows.contents);
  std::vector<std::string> differences = CompareRows(task, from, rows, generators, thorough, judged);
  if (differences.empty()) differences = CompareUnlikeRows(task, rows, unlike, thorough, judged);
  if (!differences.empty()) throw Error(Listing(task, differences));
  LongestRows longest(task, model_.spec(), from.Part(0, rows.sampled));
  longest.RefuseIgnored(rows.sizes);
  longest.Check(rows.sizes);
  Watched watched{.longest = std::move(longest)};
  if (judged.ran && !thorough && !Without(judged.moved, task.variant()).empty()) watched.idle.emplace(unlike);
  watched_.insert_or_assign(&task, std::move(watched));
  checked_.insert(&task);
  NameUntold(task, judged, /*and_idle=*/thorough);
}

// Declarations alone do not make a mode legal: a task may hide a tensor from one pass to the next.
void ContractCheck::CheckDraws(const std::vector<StepExecutor::Piece>& step) {
  for (const StepExecutor::Piece& piece : step) {
    if (piece.batch == nullptr) continue;
    const bool split = piece.execution->way.mode != Mode::kJoint && piece.batch->size() > 0;
    if (split && !Knows(*piece.task)) Check(*piece.task, piece.batch->rows());
  }
  for (const StepExecutor::Piece& piece : step) {
    if (piece.batch != nullptr) Watch(*piece.task, *piece.batch);
  }
}

void ContractCheck::Watch(LoadedTask& task, const Batch& drawn) {
  const auto found = watched_.find(&task);
  if (found == watched_.end() || drawn.rows().longest) return;
  Watched& watched = found->second;
  if (watched.draws++ < kWatched) watched.longest.Check(SizesOfRows(model_.spec(), drawn));
  if (watched.draws < (watched.idle ? kIdle : kWatched)) return;
  if (watched.idle) LookAgain(task, *watched.idle);
  watched_.erase(found);
}

// Where there is no room for it, nobody needs to know.
void ContractCheck::LookAgain(LoadedTask& task, UnlikeRows& rows) {
  const KeepGenerators keep(device_);
  Judged judged;
  try {
    const std::vector<std::string> differences =
        CompareRowsAt(task, rows.Spread(), rows, /*closely=*/true, judged);
    if (!differences.empty()) throw Error(Listing(task, differences));
  } catch (const c10::OutOfMemoryError&) {
    AbandonForward(device_);
    return;
  }
  NameUntold(task, judged, /*and_idle=*/true);
}

}  // namespace medley

#include <medley/step/contract/contract_check.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/device.h>
#include <medley/step/contract/contract_comparison.h>
#include <medley/step/contract/contract_reruns.h>
#include <medley/step/contract/contract_sample.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kSearched = 32;                        // rows
constexpr std::int64_t kWatched = 16;                         // draws
constexpr std::int64_t kTogether = 3, kTogetherThorough = 5;  // rows

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
    const auto best = std::min_element(counts.begin(), counts.end(), is_better);
    const auto shows = [&](std::int64_t row) { return counts[static_cast<std::size_t>(row)] == *best; };
    if (std::none_of(chosen.begin(), chosen.end(), shows)) chosen.push_back(best - counts.begin());
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
      return std::adjacent_find(rows.begin(), rows.end(), [&](const Counts& a, const Counts& b) {
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

std::string Listing(const LoadedTask& task, const std::vector<std::string>& differences) {
  std::string message = "task '" + task.info().name + "' (variant '" + task.variant().name +
                        "') does not do what its spec says; make the two agree:";
  for (const std::string& difference : differences) message += "\n  " + difference;
  return message;
}

}  // namespace

// Row by row, so that what a check takes does not depend on how many it looks at.
ContractCheck::Rows ContractCheck::RowsToCheck(const LoadedTask& task, const RowRange& from) const {
  std::vector<Counts> counts;
  RowSizes sizes;
  for (std::int64_t offset = 0; offset < kSearched; ++offset) {
    try {
      const Batch row = SampleRows(task, OneRow(from, offset), at::kCPU);
      CheckItems(task, row);
      counts.push_back(CountsOf(row));
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
          .sizes = std::move(sizes)};
}

// What passes do is compared where they do what the spec says: else that is what comes first.
std::vector<std::string> ContractCheck::CompareRows(LoadedTask& task, const RowRange& from, const Rows& rows,
                                                    const nlohmann::json& generators, bool thorough,
                                                    std::set<std::string>& not_judged) {
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
  std::vector<std::string> of_spec = comparison.Finish(SaveGenerators(device_) == generators);
  if (!of_spec.empty()) return of_spec;
  for (const std::int64_t first : rows.pairs) {
    const std::int64_t most = thorough ? kTogetherThorough : kTogether;
    for (std::int64_t count : {first == rows.pairs.front() ? most : 2, std::int64_t{2}}) {
      count = std::min(count, rows.sampled - first);
      if (!differences.empty()) return differences;
      try {
        differences = CompareTogether(setting, sample(first, count), alone, thorough, not_judged);
        break;
      } catch (const c10::OutOfMemoryError&) {
        // Two may fit; and a run that has room for one row at a time never has two together.
      }
    }
  }
  return differences;
}

void ContractCheck::Check(LoadedTask& task, const RowRange& from, bool thorough) {
  const KeepGenerators keep(device_);
  const nlohmann::json generators = SaveGenerators(device_);
  const Rows rows = RowsToCheck(task, from);
  if (SaveGenerators(device_) != generators) {
    throw Error("plugin '" + task.plugin() + "' (task " + task.info().name +
                ", while sampling): it drew from libtorch's own generator, so its rows would depend on what "
                "was drawn before; draw from rows.Random(row) instead");
  }
  std::set<std::int64_t> again(rows.pairs.begin(), rows.pairs.end());
  again.insert(rows.shown.begin(), rows.shown.end());
  for (const std::int64_t row : again)
    CheckSampledAgain(task, from.Part(row, std::min<std::int64_t>(rows.sampled - row, 2)));
  std::set<std::string> not_judged;
  const std::vector<std::string> differences =
      CompareRows(task, from, rows, generators, thorough, not_judged);
  if (!differences.empty()) throw Error(Listing(task, differences));
  LongestRows longest(task, model_.spec(), from.Part(0, rows.sampled));
  longest.Check(rows.sizes);
  watched_.insert_or_assign(&task, Watched{std::move(longest)});
  checked_.insert(&task);
  if (!not_judged.empty()) not_judged_[task.info().name].merge(not_judged);
}

void ContractCheck::Watch(const LoadedTask& task, const Batch& drawn) {
  const auto found = watched_.find(&task);
  if (found == watched_.end() || drawn.rows().longest) return;
  found->second.longest.Check(SizesOfRows(model_.spec(), drawn));
  if (++found->second.draws == kWatched) watched_.erase(found);
}

}  // namespace medley

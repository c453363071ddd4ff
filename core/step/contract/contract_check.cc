#include <medley/step/contract/contract_check.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <medley/base/error.h>
#include <medley/model/device.h>
#include <medley/step/contract/contract_comparison.h>
#include <medley/step/contract/contract_repeat.h>
#include <medley/step/row_shape.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kSearched = 32;  // rows

RowRange OneRow(const RowRange& from, std::int64_t offset) {
  return {.seed = from.seed, .begin = from.begin + offset, .count = 1};
}

// The first rows in which each count is smallest, smallest above 0, and largest.
std::vector<std::size_t> Extremes(const std::vector<RowShape>& shapes) {
  std::vector<std::size_t> rows = {0};
  const auto add = [&](std::size_t count, auto better) {
    std::size_t best = 0;
    for (std::size_t row = 1; row < shapes.size(); ++row) {
      if (better(shapes[row][count], shapes[best][count])) best = row;
    }
    const auto shows = [&](std::size_t row) { return shapes[row][count] == shapes[best][count]; };
    if (std::none_of(rows.begin(), rows.end(), shows)) rows.push_back(best);
  };
  const auto above_0 = [](std::int64_t n) { return n > 0 ? n : std::numeric_limits<std::int64_t>::max(); };
  for (std::size_t count = 0; count < shapes.front().size(); ++count) {
    add(count, [](std::int64_t a, std::int64_t b) { return a < b; });
    add(count, [&](std::int64_t a, std::int64_t b) { return above_0(a) < above_0(b); });
    add(count, [](std::int64_t a, std::int64_t b) { return a > b; });
  }
  return rows;
}

}  // namespace

// Row by row, so that what a check takes does not depend on how many it looks at.
ContractCheck::Rows ContractCheck::RowsToCheck(const LoadedTask& task, const RowRange& from) const {
  std::vector<RowShape> shapes;
  for (std::int64_t offset = 0; offset < kSearched; ++offset) {
    try {
      const Batch row = SampleRows(task, OneRow(from, offset), device_);
      CheckItems(task, row);
      shapes.push_back(ShapeOfRow(row, 0));
    } catch (const c10::OutOfMemoryError&) {
      throw;  // of whatever row: fewer rows would be a weaker check
    } catch (const std::exception&) {
      if (offset == 0) throw;
      break;  // a row that nobody has drawn yet: its own draw will say what is wrong with it
    }
  }
  Rows rows{.shown = {}, .sampled = static_cast<std::int64_t>(shapes.size())};
  for (const std::size_t row : Extremes(shapes)) rows.shown.push_back(static_cast<std::int64_t>(row));
  return rows;
}

void ContractCheck::Check(LoadedTask& task, const RowRange& from) {
  const KeepGenerators keep(device_);
  const nlohmann::json generators = SaveGenerators(device_);
  const Rows rows = RowsToCheck(task, from);
  if (SaveGenerators(device_) != generators) {
    throw Error("plugin '" + task.plugin() + "' (task " + task.info().name +
                ", while sampling): it drew from libtorch's own generator, so its rows would depend on what "
                "was drawn before; draw from rows.Random(row) instead");
  }
  const MicroBatch::Setting setting{.task = task, .model = model_, .device = device_};
  ContractComparison comparison(setting);
  std::vector<std::string> differences;
  for (const std::int64_t row : rows.shown) {
    const Batch batch = SampleRows(task, OneRow(from, row), device_);
    const PassValues values = comparison.Add(batch);
    if (!comparison.differences().empty() || !differences.empty()) continue;
    std::optional<Batch> other;
    if (rows.sampled > 1) other = SampleRows(task, OneRow(from, row == 0 ? 1 : 0), device_);
    differences = CompareRepeat(setting, batch, other ? &*other : nullptr, values);
  }
  std::vector<std::string> all = comparison.Finish(SaveGenerators(device_) == generators);
  if (all.empty()) all = std::move(differences);
  if (!all.empty()) {
    std::string message = "task '" + task.info().name + "' (variant '" + task.variant().name +
                          "') does not do what its spec says; make the two agree:";
    for (const std::string& difference : all) message += "\n  " + difference;
    throw Error(message);
  }
  checked_.insert(&task);
}

}  // namespace medley

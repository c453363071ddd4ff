#include <medley/train/work_division.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <medley/run/validate.h>

namespace medley {
namespace {

// How many rows begin below the bound, where the first begins at `begin` and each takes `cost`: those are of
// the processes up to that bound. Rounded to the nearest, so that a cut never leaves a sliver.
std::int64_t RowsBelow(std::int64_t bound, std::int64_t begin, std::int64_t cost, std::int64_t rows) {
  return std::clamp<std::int64_t>((bound - begin + cost / 2) / cost, 0, rows);
}

// Of costs in a fine unit the last digits go, so that no sum overflows.
std::vector<std::int64_t> InCoarserUnits(std::vector<std::int64_t> costs) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t dearest = 1, unit = 1;
  for (const std::int64_t cost : costs) dearest = std::max(dearest, cost);
  while (dearest / unit > kMost) unit *= 2;
  for (std::int64_t& cost : costs) cost = std::max<std::int64_t>(1, cost / unit);
  return costs;
}

}  // namespace

// The draws lie behind each other on a line, the longest first, each as long as its cost; the line is cut
// into even parts, each cut moved to the nearest border of two rows.
std::vector<std::vector<Draw>> AssignRows(const std::vector<CostedDraw>& costed, std::int64_t ranks) {
  std::vector<std::int64_t> costs;
  for (const CostedDraw& draw : costed) costs.push_back(draw.cost_per_row);
  costs = InCoarserUnits(std::move(costs));
  std::vector<CostedDraw> draws = costed;
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i].cost_per_row = costs[i];
  std::vector<std::vector<Draw>> pieces(static_cast<std::size_t>(ranks));
  const auto cost_of = [](const CostedDraw& draw) { return draw.draw.rows * draw.cost_per_row; };
  std::vector<const CostedDraw*> longest;
  for (const CostedDraw& draw : draws) longest.push_back(&draw);
  std::ranges::stable_sort(
      longest, [&](const CostedDraw* a, const CostedDraw* b) { return cost_of(*a) > cost_of(*b); });
  const std::int64_t total =
      std::accumulate(draws.begin(), draws.end(), std::int64_t{0},
                      [&](std::int64_t sum, const CostedDraw& draw) { return sum + cost_of(draw); });
  std::int64_t begin = 0;
  for (const CostedDraw* draw : longest) {
    std::int64_t taken = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t bound = total / ranks * (rank + 1) + total % ranks * (rank + 1) / ranks;
      const std::int64_t until =
          rank + 1 == ranks ? draw->draw.rows : RowsBelow(bound, begin, draw->cost_per_row, draw->draw.rows);
      if (until > taken)
        pieces[static_cast<std::size_t>(rank)].push_back(
            {.task = draw->draw.task, .begin = draw->draw.begin + taken, .rows = until - taken});
      taken = std::max(taken, until);
    }
    begin += cost_of(*draw);
  }
  return pieces;
}

std::vector<std::int64_t> AssignWhole(const std::vector<std::int64_t>& costs, std::int64_t ranks) {
  const std::vector<std::int64_t> coarse = InCoarserUnits(costs);
  std::vector<std::size_t> dearest(coarse.size());
  std::iota(dearest.begin(), dearest.end(), std::size_t{0});
  std::ranges::stable_sort(dearest, [&](std::size_t a, std::size_t b) { return coarse[a] > coarse[b]; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks)), owner(coarse.size());
  for (const std::size_t piece : dearest) {
    const auto least = std::ranges::min_element(load);
    *least += coarse[piece];
    owner[piece] = least - load.begin();
  }
  return owner;
}

std::vector<Draw> WorkDivision::OwnPart(const std::vector<Draw>& draws) const {
  if (place_.size == 1) return draws;  // in their order
  const auto per_step = static_cast<std::size_t>(draws_per_step_);
  std::vector<Draw> own;
  for (std::size_t first = 0; first < draws.size(); first += per_step) {
    std::vector<std::string> tasks;
    std::vector<CostedDraw> step;
    for (std::size_t i = first; i < std::min(first + per_step, draws.size()); ++i) {
      tasks.push_back(draws[i].task);
      step.push_back({draws[i]});
    }
    const std::vector<std::int64_t> costs = RowCosts(tasks);  // each step decides for itself
    for (std::size_t i = 0; i < step.size(); ++i) step[i].cost_per_row = costs[i];
    auto parts = AssignRows(step, place_.size);
    for (Draw& draw : parts[static_cast<std::size_t>(place_.rank)]) own.push_back(std::move(draw));
  }
  return own;
}

std::vector<std::string> WorkDivision::OwnTasks(const std::vector<std::string>& tasks) const {
  if (place_.size == 1) return tasks;
  const std::vector<std::int64_t> owners = AssignWhole(RowCosts(tasks), place_.size);
  std::vector<std::string> own;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (owners[i] == place_.rank) own.push_back(tasks[i]);
  }
  return own;
}

// What a row of each costs, in one unit: counted work where the plan has that of all, else declared tokens.
std::vector<std::int64_t> WorkDivision::RowCosts(const std::vector<std::string>& tasks) const {
  std::vector<std::int64_t> work, tokens;
  for (const std::string& task : tasks) {
    const TaskSize size = SizeOf(host_.Variant(plan_.FormOf(task)), 1);
    tokens.push_back(std::max<std::int64_t>(1, size.tokens_per_row));
    if (const auto operations = plan_.OperationsOf(task)) work.push_back(*operations);
  }
  return work.size() == tasks.size() ? work : tokens;
}

}  // namespace medley

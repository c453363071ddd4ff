#include <medley/train/draw_rows.h>

#include <medley/train/device.h>

namespace medley {

RowRange DrawRows::RangeOf(const Draw& draw, std::int64_t rows) const {
  return {TaskSeed(static_cast<std::uint64_t>(run_.config.seed), draw.task), draw.begin, rows};
}

LoadedTask& DrawRows::Checked(const Draw& draw) {
  LoadedTask& task = run_.task(draw.task);
  if (checked_.count(draw.task) != 0) return task;
  // Must leave no trace: a resumed run makes this check at another step than one that was never interrupted.
  const KeepGenerators keep(run_.device);
  run_.executor->CheckContract(task, task.Sample(RangeOf(draw, 1)));
  checked_.insert(draw.task);
  return task;
}

DrawRows::Rows DrawRows::Take(const std::vector<Draw>& draws) {
  Rows rows;
  for (const Draw& draw : draws) {
    LoadedTask& task = Checked(draw);
    rows.batches.push_back(task.Sample(RangeOf(draw, draw.rows)));
    rows.pieces.push_back({&task, &rows.batches.back(), &run_.plans.at(draw.task)});
  }
  return rows;
}

}  // namespace medley

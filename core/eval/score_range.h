#pragma once

#include <optional>
#include <vector>

#include <medley/base/rows.h>
#include <medley/plugin/loaded_task.h>
#include <medley/report/statistics.h>

namespace medley {

// What a spec says of where a score is; nothing: the rows tell.
std::optional<ScoreRange> RangeOf(const ScoreInfo& score);

// Rounding beyond an end that the spec declares is taken back; what is further outside is an Error that names
// the task and the row.
void KeepToRange(const LoadedTask& task, const RowRange& rows, std::vector<double>& scores);

}  // namespace medley

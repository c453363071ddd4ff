#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// Of a run's directory, whatever stands in its logs by now: where it stands and why it ended, its tasks with
// their scores (of medley eval where that came last) beside the best that needs no learning, memory planned
// and measured by form with the stages that make it, curves (thinned, peaks kept), asked and delivered
// shares, marks (edits, stages, drops, overflows, predictions) with their words. page.html and medley report
// say which keys. Reads files, changes nothing; a line that is being written is left out. Throws InputError
// where it is no run's directory, a log is damaged (FILE:LINE), or a score in it is none.
nlohmann::ordered_json RunData(const std::filesystem::path& run);

}  // namespace medley

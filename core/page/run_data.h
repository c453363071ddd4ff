#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// Of a run's directory, whatever stands in its logs by now, as the page shows it: where it stands, its tasks
// with their scores (of medley eval where that came last) and trivial answers, memory planned and measured,
// curves (thinned, peaks kept), asked and delivered shares, marks (edits, stages, drops, overflows,
// predictions) with their words, and the sheets of the last evaluation. page.html says which keys. Reads
// files, changes nothing; a line that is being written is left out. Throws InputError where it is no run's
// directory, or a log is damaged (FILE:LINE).
nlohmann::ordered_json RunData(const std::filesystem::path& run);

}  // namespace medley

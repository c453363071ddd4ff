#pragma once

#include <nlohmann/json.hpp>

#include <medley/report/records.h>

namespace medley {

// A step that was computed and not yet written down, as a checkpoint keeps it: without an evaluation, and
// without what only a guard and a ledger say.
nlohmann::json ToJson(const StepRecord& record);
// Throws nlohmann's exceptions where the JSON is another.
StepRecord StepRecordFromJson(const nlohmann::json& json);

}  // namespace medley

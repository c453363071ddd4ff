#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/report/console.h>
#include <medley/report/record_sink.h>

namespace medley {

// Makes the logs of JSON lines of a run ready to be opened at their marks; returns the marks to open them
// with. Logs never decide whether weights are whole: one that is damaged, shorter or no file any more is set
// aside as NAME.damaged-N, and a new one gets those of its lines that can still be read as steps up to
// `step`, the checkpoint's. All of that is said.
//
// Looks at all of them first: an Error (the machine is in trouble) leaves every log as it was.
LogMarks RepairLogs(const std::filesystem::path& directory, const std::vector<std::string>& logs,
                    const LogMarks& marks, std::int64_t step, Console& console);

// Puts a log with this text in the place of a damaged one, which gets a name of its own: returns that, ""
// where nothing lay there.
std::string ReplaceDamaged(const std::filesystem::path& path, const std::string& text);

// A log that is made anew at each start: what lies there must only be a file, or it is set aside.
void MakeWayForLog(const std::filesystem::path& path, Console& console);

}  // namespace medley

#pragma once

#include <filesystem>

#include <medley/eval/asker.h>
#include <medley/report/console.h>

#include "tools/medley/asked_run.h"
#include "tools/medley/output.h"

namespace medley {

// Asks each line of a file, some at a time, and writes the same lines with "reply" into another; with
// `details` also with "reply_details". A .json file is a list of what are lines elsewhere; of classes a .csv
// file is one question a record. Returns the exit code: where it is interrupted what is answered is written.
int AskFile(const std::filesystem::path& from, const Chosen& chosen, const AskSetting& setting, bool details,
            const OutputFileOption& out, Console& console);

}  // namespace medley

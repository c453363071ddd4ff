#pragma once

#include <string>
#include <vector>

#include <medley/eval/asker.h>
#include <medley/report/console.h>

#include "tools/medley/asked_run.h"

namespace medley {

// A conversation on stdin and stdout, a line a turn, which is remembered: "/image FILE" shows the next turn
// one more, "/clear" forgets all but the system, "/quit" or the input's end ends it. Ctrl-C ends an answer,
// and where none is under way the conversation. On a terminal what cannot be answered is said and the
// conversation goes on; elsewhere it is the end. Returns the exit code.
int Chat(const Chosen& chosen, const AskSetting& setting, const std::string& system,
         std::vector<std::string> files, Console& console);

}  // namespace medley

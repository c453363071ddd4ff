#pragma once

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/model/agent/agent_config.h>

namespace medley {

// Fill a struct from a file and report every mistake to the file's diagnostics; nothing is thrown.
void ReadConfig(ConfigFile& file, RunConfig& config);
void ReadConfig(ConfigFile& file, Mixture& mixture);
void ReadConfig(ConfigFile& file, AgentConfig& config);

}  // namespace medley

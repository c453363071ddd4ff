#pragma once

#include <filesystem>

#include <medley/model/agent/agent_config.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/weights/model_config_file.h>

namespace medley::test {

// Throws InputError with every mistake of the file.
inline AgentConfig ReadAgentConfig(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  const ModelConfig config = ReadModelConfig(file, InfoOf(kAgentSpec));
  diagnostics.Throw();
  return AgentConfig(config);
}

}  // namespace medley::test

#pragma once

#include <gtest/gtest.h>
#include <medley/plugin/plugin_host.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/plugin/fake_tokenizer.h"
#include "tests/plugin/test_files.h"
#include "tests/words.h"

namespace medley::testing {

using test::Has;
using test::MessageOf;

// An agent's with every default.
inline ModelFile AgentFile() {
  const ModelInfo info = *Registry().FindModel("agent");
  return {info, ModelConfig(info)};
}

// A registry of the named files and a host over it.
struct HostFixture {
  explicit HostFixture(std::vector<std::filesystem::path> paths,
                       std::map<std::string, TaskConfig> settings = {})
      : registry(ScanOnly(std::move(paths))),
        host({registry, model, &tokenizer, control_text}),
        settings_(std::move(settings)) {}

  LoadedTask& Get(const std::string& task) { return host.Get(OwnForm(task, settings_[task])); }

  Registry registry;
  ModelFile model = AgentFile();
  FakeTokenizer tokenizer;
  std::vector<std::string> control_text = {"one"};
  PluginHost host;

 private:
  std::map<std::string, TaskConfig> settings_;  // where they are not the defaults
};

// The files under a directory whose code is in this process.
inline std::set<std::string> MappedBelow(const std::filesystem::path& directory) {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(std::filesystem::canonical(directory).string());
    if (at != std::string::npos) files.insert(line.substr(at));
  }
  return files;
}

}  // namespace medley::testing

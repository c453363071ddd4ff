#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <medley/plugin/plugin_library.h>
#include <medley/plugin/registry.h>
#include <medley/text/special_tokens.h>

namespace medley {

// Runs plugins that are files of Python. Core has none of its own: a process whose interpreter it is gives
// one.
class PythonHost {
 public:
  virtual ~PythonHost();
  // Called before anything is made of a run that has such a task. May not return: a program then begins again
  // as a process of Python's.
  virtual void Prepare(const PluginFile& file) = 0;
  // `source`: the file's text, and `modules`: of those beside it, by path, which were checked. What Python
  // raises is an Error in words, and so is that a process which goes on with a run cannot become Python's any
  // more.
  virtual std::unique_ptr<PluginLibrary> Load(
      const PluginFile& file, const std::string& source,
      const std::map<std::filesystem::path, std::string>& modules) = 0;

  // How the run that begins samples: in processes of their own, which open its vocabulary ("": it has none).
  struct Sampling {
    bool in_processes = false;
    std::filesystem::path tokenizer{};
    SpecialTokenNames special_tokens{};
  };
  virtual void SetSampling(const Sampling&) {}
};

// The process's, which outlives all that it makes; null: there is none. Set before a run is begun.
void SetPythonHost(PythonHost* host);
PythonHost* TheHostOfPython();

// Calls Prepare where one of these tasks is of a file of Python. An Error, with what to do, where nobody runs
// it.
void PrepareHosts(const Registry& registry, const std::vector<std::string>& tasks);
// The same of a file.
PythonHost& RequirePythonHost(const PluginFile& file);

}  // namespace medley

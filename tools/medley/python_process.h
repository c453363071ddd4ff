#pragma once

#include <memory>
#include <string>
#include <vector>

#include <medley/plugin/python_host.h>

namespace medley {

// The host of Python in a process that is none of Python's: it becomes one. Where a run that begins has a
// task in Python, the process is replaced (exec: the same pid, signals and exit codes) by the interpreter's,
// which runs the same verb with the same arguments: see BecomePython.
class PythonProcess final : public PythonHost {
 public:
  // The verb and what follows it.
  explicit PythonProcess(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  void Prepare(const PluginFile& file) override;  // throws, or does not return
  std::unique_ptr<PluginLibrary> Load(
      const PluginFile& file, const std::string& source,
      const std::map<std::filesystem::path, std::string>& modules) override;  // throws

 private:
  std::vector<std::string> arguments_;
};

}  // namespace medley

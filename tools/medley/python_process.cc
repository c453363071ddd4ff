#include "tools/medley/python_process.h"

#include <filesystem>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>

#include "tools/medley/python_interpreter.h"

namespace medley {

void PythonProcess::Prepare(const PluginFile& file) {
  const std::filesystem::path script = FindInPackage("_command.py");
  if (script.empty())
    throw Error(
        Printable(file.path) +
        " is a plugin in Python, and this medley was built without its Python face. Build it with Python's "
        "headers (Debian: python3-dev)");
  const std::filesystem::path interpreter = FindInterpreter();
  if (interpreter.empty())
    throw Error("no Python is there: MEDLEY_PYTHON may name an interpreter with torch " +
                std::string(Torch().version) + " and numpy");
  BecomePython(interpreter, script, arguments_, Printable(file.path));
}

std::unique_ptr<PluginLibrary> PythonProcess::Load(const PluginFile& file, const std::string&,
                                                   const std::map<std::filesystem::path, std::string>&) {
  throw Error(
      Printable(file.path) +
      " is a plugin in Python, and this process, which began without one, is none of Python's. Stop the run, "
      "edit its weights, and resume it");
}

}  // namespace medley

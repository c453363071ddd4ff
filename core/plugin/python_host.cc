#include <medley/plugin/python_host.h>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

PythonHost* g_host = nullptr;

}  // namespace

PythonHost::~PythonHost() = default;

void SetPythonHost(PythonHost* host) { g_host = host; }
PythonHost* TheHostOfPython() { return g_host; }

PythonHost& RequirePythonHost(const PluginFile& file) {
  if (g_host != nullptr) return *g_host;
  throw Error(Printable(file.path) +
              " is a plugin in Python, and this program is none of Python's: use the medley command, or the "
              "package medley in Python");
}

void PrepareHosts(const Registry& registry, const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) {
    if (registry.Find(task) == nullptr) continue;
    const PluginFile& file = registry.FileOf(task);
    if (file.is_python) RequirePythonHost(file).Prepare(file);
  }
}

}  // namespace medley

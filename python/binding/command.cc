// A verb of the medley command in a process of Python's, which then is the command's.
#include "python/binding/command.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>

#include "python/binding/raised.h"
#include "tools/medley/process.h"
#include "tools/medley/verbs.h"

namespace medley::python {
namespace {

bool g_is_command = false;

// The library stays open, as in the command.
void EndAsVerb(std::vector<std::string>& words) {
  const std::filesystem::path library =
      LibraryDirectory() / "medley" / (words.front() == kHiddenVerb ? "medley_check.so" : "medley_verbs.so");
  void* const verbs = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (verbs == nullptr) throw Error("cannot open " + Printable(library) + ": " + dlerror());
  using End = decltype(&medley_end_as_command);
  const auto end = reinterpret_cast<End>(dlsym(verbs, "medley_end_as_command"));
  if (end == nullptr) throw Error(Printable(library) + " is not medley's: " + dlerror());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  end(argv.front(), static_cast<int>(words.size()), argv.data());
}

}  // namespace

bool IsCommand() { return g_is_command; }

// run_verb(words): runs the verb that stands first, and ends the process with its exit code: nothing of
// Python is finalised, as threads of libtorch and of tasks live on.
PyObject* RunVerbOf(PyObject*, PyObject* given) {
  std::vector<std::string> words;
  const bool read = Guarded([&] {
                      ForEachOf(given, [&](PyObject* word) { words.push_back(Text(word)); });
                      return Object::Borrowed(Py_None).release();
                    }) != nullptr;
  if (!read) return nullptr;
  g_is_command = true;
  return Free([&] { EndAsVerb(words); }) ? Object::Borrowed(Py_None).release() : nullptr;
}

}  // namespace medley::python

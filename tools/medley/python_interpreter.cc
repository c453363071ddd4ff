#include "tools/medley/python_interpreter.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/printable.h>
#include <medley/base/run_program.h>
#include <medley/base/user_directories.h>
#include <medley/base/version.h>
#include <medley/plugin/trust.h>

#include "tools/medley/process.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The interpreter of a folder that lies in its site-packages: of X/lib/python3.11/site-packages/medley/lib
// that is X/bin/python3.11; "" where it lies nowhere so.
fs::path InterpreterAbove(const fs::path& folder) {
  for (fs::path at = folder; at != at.root_path() && !at.empty(); at = at.parent_path()) {
    const std::string name = at.filename().string(), python = at.parent_path().filename().string();
    if ((name != "site-packages" && name != "dist-packages") || !python.starts_with("python")) continue;
    const fs::path programs = at.parent_path().parent_path().parent_path() / "bin";
    for (const std::string& program : {python, std::string("python3")}) {
      if (Exists(programs / program)) return programs / program;
    }
  }
  return "";
}

}  // namespace

fs::path FindInterpreter() {
  if (const auto named = Environment("MEDLEY_PYTHON")) {
    if (!fs::path(*named).is_absolute() || !Exists(*named))
      throw InputError("MEDLEY_PYTHON is '" + Printable(*named) +
                       "', and should be the absolute path of an interpreter");
    return *named;
  }
  if (fs::path own = InterpreterAbove(LibraryDirectory()); !own.empty()) return own;
  if (const auto active = Environment("VIRTUAL_ENV"); active && Exists(fs::path(*active) / "bin" / "python"))
    return fs::path(*active) / "bin" / "python";
  if (fs::path torchs = InterpreterAbove(TorchRoot()); !torchs.empty()) return torchs;
  return FindProgram("python3");
}

fs::path FindInPackage(const fs::path& file) {
  const fs::path libraries = LibraryDirectory();
  for (const fs::path& package : {libraries.parent_path(), libraries / "medley" / "python" / "medley"}) {
    if (Exists(package / file)) return package / file;
  }
  return "";
}

void BecomePython(const fs::path& interpreter, const fs::path& script,
                  const std::vector<std::string>& arguments, const std::string& what) {
  std::error_code error;
  const fs::path real = fs::canonical(interpreter, error);
  const std::string unsafe = error ? error.message() : WhyUnsafe(real);
  if (!unsafe.empty()) throw Error(Printable(interpreter) + ", which would run " + what + ": " + unsafe);
  std::vector<std::string> words = {interpreter.string(), script.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::cout.flush();
  std::fflush(nullptr);
  BlockRunSignals(true);  // until the script has its handlers: one that comes meanwhile waits
  HeedInterrupt();
  ::execv(interpreter.c_str(), argv.data());
  throw Error(Printable(interpreter) + " cannot be started: " + std::strerror(errno));
}

}  // namespace medley

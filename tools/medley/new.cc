#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/new_folder.h>
#include <medley/base/printable.h>
#include <medley/base/spec_names.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/task/abi.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// What stands for what in a template, in the names of files too.
using Words = std::map<std::string, std::string>;

// "count_on" -> "CountOn"
std::string ClassName(const std::string& name) {
  std::string made;
  bool upper = true;
  for (const char c : name) {
    const bool is_joint = c == '_' || c == '-';
    if (!is_joint) made += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = is_joint;
  }
  return made;
}

std::string Filled(std::string text, const Words& words) {
  for (const auto& [word, with] : words) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + with.size()))
      text.replace(at, word.size(), with);
  }
  return text;
}

// What every kind has, unless it has a file of that name itself; and the kinds in Python.
constexpr const char* kCommon = "common";
constexpr const char* kPython = "python";

std::vector<std::string> KindsIn(const fs::path& templates) {
  std::vector<std::string> kinds;
  for (const fs::directory_entry& entry : fs::directory_iterator(templates)) {
    const fs::path name = entry.path().filename();
    if (entry.is_directory() && name != kCommon && name != kPython)
      kinds.push_back(entry.path().filename().string());
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

void Write(const fs::path& from, const fs::path& to, const Words& words) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from))
    ReplaceFile(to / Filled(entry.path().filename().string(), words), Filled(ReadFile(entry.path()), words));
}

// A name of a task that can also be a CMake target, a class beside medley's own, and a model's with "_net".
void RequireName(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  if (!detail::IsName(name) || name.size() > kLongest || name.find('-') != std::string::npos)
    throw InputError(
        "'" + Printable(name) +
        "' is no name of a task: expected 1 to 60 characters of a-z, 0-9 and _, the first a letter");
  static const std::set<std::string> kTaken = {
      "all",           "carry_task",    "chat_task",    "classify_task", "clean",        "help",
      "install",       "medley",        "mlp_model",    "package",       "picture_task", "preference_task",
      "question_task", "rebuild_cache", "regress_task", "reply_task",    "test"};
  if (kTaken.count(name) > 0)
    throw InputError("'" + name + "' is taken by CMake or medley; choose another name, such as my_" + name);
}

// What a plugin is built against: throws, and says how to come by one, for a medley that still lies where it
// was built.
fs::path InstalledPrefix() {
  const fs::path library = LibraryDirectory();
  if (!fs::exists(library / "cmake/medley/medleyConfig.cmake"))
    throw InputError(
        "a plugin is built against an installed medley, and this one lies in its build tree. "
        "First cmake --install " +
        Printable(library.parent_path()) + " --prefix DIR, then DIR/bin/medley new");
  return library.parent_path();
}

// Where this program lies, for commands that are to find it again.
fs::path OwnProgram() { return fs::canonical("/proc/self/exe"); }

}  // namespace

int RunNew(int argc, char** argv) {
  const fs::path templates = TemplateDirectory();
  const std::vector<std::string> kinds = KindsIn(templates);
  CLI::App app(
      "Makes a folder with a task of your own that builds, passes its test and can be trained as it is; its "
      "README.md says how.",
      "medley new");
  std::string name, kind = "reply", language = "c++";
  NewFolderOption folder;
  app.add_option("NAME", name, "of the task and the folder: a-z, 0-9 and _, the first a letter")->required();
  app.add_option("--kind", kind,
                 "reply: a reply to a prompt; chat: conversations; preference: the better of two replies; "
                 "question: about "
                 "a picture; picture: draws one; classify: a class of a tensor; regress: numbers of one; "
                 "model: with a "
                 "model of your own")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  app.add_option("--lang", language, "c++, or python: one file that nothing builds")
      ->check(CLI::IsMember(std::vector<std::string>{"c++", kPython}))
      ->capture_default_str();
  folder.AddTo(app, "--dir", "the folder to make (default: NAME here)");
  if (!ParseArguments(app, argc, argv)) return 0;

  RequireName(name);
  if (!folder.is_named()) folder.Name(name);
  const fs::path& directory = folder.path();
  folder.Check();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(directory, ignored)))
    throw InputError(DisplayPath(directory) + " is already there; choose another name or --dir");
  const bool in_python = language == kPython;
  const fs::path of_language = in_python ? templates / kPython : templates;
  if (!fs::exists(of_language / kind))
    throw InputError("--kind " + kind +
                     " is C++'s: a model is no part of Python. Leave --lang out; a task in Python "
                     "trains it too");
  const fs::path prefix = in_python ? "" : InstalledPrefix();
  const Words words = {{"@NAME@", name},
                       {"@CLASS@", ClassName(name)},
                       {"@CONFIGS@", ConfigDirectory().string()},
                       {"@PREFIX@", prefix.string()},
                       {"@MEDLEY@", OwnProgram().string()},
                       {"@API@", std::to_string(kPluginApi)}};
  const NewFolder made(directory);
  Write(of_language / kCommon, made.path(), words);
  Write(of_language / kind, made.path(), words);
  made.Commit();
  std::cout << "made " << DisplayPath(directory) << "; its README.md has the commands that "
            << (in_python ? "check" : "build") << " and train it\n";
  return 0;
}

}  // namespace medley

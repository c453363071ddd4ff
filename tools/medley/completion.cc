// What a shell needs to complete a command line: one function of POSIX's shell with tables of the verbs,
// which bash and zsh define and fish hands to sh.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <medley/base/error.h>

#include "tools/medley/arguments.h"
#include "tools/medley/command.h"
#include "tools/medley/completion_scripts.h"
#include "tools/medley/completion_values.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

// One line, as a shell's list of words with their meanings needs it.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

// The lines of a table's entries, each an arm of a case.
class Arms {
 public:
  explicit Arms(const char* function) { text_ << function << "() {\n  case \"$1\" in\n"; }
  void Add(const std::string& verb, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    text_ << "  '" << verb << "') cat <<'END'\n";
    for (const std::string& line : lines) text_ << line << '\n';
    text_ << "END\n    ;;\n";
  }
  std::string Text() const { return text_.str() + "  esac\n}\n"; }

 private:
  std::ostringstream text_;
};

// "words cpu cuda", a kind, or "none" of what only the user knows.
std::string TakenBy(const ordered_json& value, const std::string& name) {
  if (value.contains("words")) {
    std::string words = "words";
    for (const auto& word : value.at("words")) words += " " + word.get<std::string>();
    return words;
  }
  const std::string kind(CompletedKind(name)), type = value.value("type", "");
  static const std::set<std::string> kFree = {"INT", "UINT", "FLOAT", "N", "STEP", "PATTERN"};
  return kind == "file" && kFree.contains(type) ? "none" : kind;
}

// The three tables of the command's verbs.
class Tables {
 public:
  explicit Tables(const ordered_json& command) {
    std::vector<std::string> verbs;
    for (const ordered_json& verb : command.at("verbs")) {
      verbs.push_back(Named(verb));
      Add(verb, verb.at("name"));
    }
    verbs_.Add("", verbs);
    options_.Add("", {"--help\twhat the verbs are", "--version\tof medley"});
  }
  std::string Text() const { return verbs_.Text() + options_.Text() + takes_.Text(); }

 private:
  static std::string Named(const ordered_json& verb) {
    return verb.at("name").get<std::string>() + "\t" + OneLine(verb.at("summary"));
  }

  // `path`: "plugins list".
  void Add(const ordered_json& verb, const std::string& path) {
    std::vector<std::string> options, below;
    for (const ordered_json& option : verb.at("options")) {
      const std::string help = OneLine(option.at("help"));
      for (const std::string name : option.at("names")) {
        options.push_back(name + "\t" + help);
        if (option.contains("type")) takes_.Add(path + " " + name, {TakenBy(option, name)});
      }
    }
    AddArguments(verb.at("arguments"), path);
    for (const ordered_json& deeper : verb.value("verbs", ordered_json::array())) {
      below.push_back(Named(deeper));
      Add(deeper, path + " " + deeper.at("name").get<std::string>());
    }
    options_.Add(path, options);
    verbs_.Add(path, below);
  }

  // By their places, from 1; what may be repeated has the places behind it too.
  void AddArguments(const ordered_json& arguments, const std::string& path) {
    constexpr int kMostRepeated = 9;
    int place = 0;
    for (const ordered_json& argument : arguments) {
      const std::string taken = TakenBy(argument, argument.at("name"));
      const int last = argument.value("many", false) ? kMostRepeated : place + 1;
      while (place < last) takes_.Add(path + " " + std::to_string(++place), {taken});
    }
  }

  Arms verbs_{"_medley_verbs"}, options_{"_medley_options"}, takes_{"_medley_takes"};
};

// As fish quotes.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string ScriptFor(const std::string& shell) {
  const std::string functions = kCandidates + Tables(CommandJson()).Text();
  if (shell == "fish") return "set -g __medley_functions " + Quoted(functions) + kFish;
  return shell == "zsh" ? "#compdef medley\n" + functions + kZsh : functions + kBash;
}

}  // namespace

int RunCompletion(int argc, char** argv) {
  CLI::App app(
      "Prints what makes your shell complete medley's verbs, options, tasks, config keys and run "
      "directories: "
      "source <(medley completion bash), source <(medley completion zsh), medley completion fish | source.",
      "medley completion");
  std::string shell, kind, word;
  app.add_option("SHELL", shell, "yours")
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  // For the scripts: what a word may become.
  app.add_option("--list", kind)
      ->group("")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kCompletedKinds), std::end(kCompletedKinds))));
  app.add_option("--word", word)->group("");
  if (!ParseArguments(app, argc, argv)) return 0;
  if (!kind.empty()) {
    for (const std::string& value : CompletedValues(kind, word)) std::cout << value << '\n';
  } else if (shell.empty()) {
    throw InputError("medley completion: say for which shell: bash, zsh or fish");
  } else {
    std::cout << ScriptFor(shell);
  }
  return 0;
}

}  // namespace medley

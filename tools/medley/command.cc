#include "tools/medley/command.h"

#include <iostream>
#include <sstream>
#include <string>

#include <medley/base/json_reader.h>
#include <medley/base/version.h>

#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

// What is printed on stdout while it lives.
class CapturedOutput {
 public:
  CapturedOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(before_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

ordered_json VerbJson(const std::string& verb) {
  std::string name = verb, help = "--help", json = "--json";
  char* arguments[] = {name.data(), help.data(), json.data(), nullptr};
  const CapturedOutput output;
  RunVerb(verb, 3, arguments);
  return ReadJson(output.text(), verb + " --help --json");
}

// No default: the compiler misses a code that is new.
std::string_view MeaningOf(ExitCode code) {
  switch (code) {
    case ExitCode::kDone:
      return "done";
    case ExitCode::kFailed:
      return "failed: what was asked for could not be done, though nothing was wrong with how it was asked";
    case ExitCode::kBadInput:
      return "bad input: a file, a key, a value or an argument; the message says which, and what is expected";
    case ExitCode::kSomethingDropped:
      return "finished, but something was dropped, has no score or was not checked";
    case ExitCode::kPeerFailed:
      return "another process of the same run failed";
    case ExitCode::kDoesNotFit:
      return "does not fit in memory, or in the budget";
    case ExitCode::kInterrupted:
      return "interrupted, also where the terminal was closed; what was done is saved, and starting again "
             "with the "
             "command that is printed is right";
  }
  return "";
}

}  // namespace

std::vector<ExitMeaning> ExitMeanings() {
  std::vector<ExitMeaning> meanings;
  for (int code = 0; code < 256; ++code) {
    const std::string_view words = MeaningOf(static_cast<ExitCode>(code));
    if (!words.empty()) meanings.push_back({static_cast<ExitCode>(code), words});
  }
  return meanings;
}

ordered_json CommandJson() {
  ordered_json verbs = ordered_json::array(), codes = ordered_json::array();
  for (const std::string& verb : VerbNames()) {
    ordered_json json = {{"name", verb}};
    json.update(VerbJson(verb));
    verbs.push_back(std::move(json));
  }
  for (const ExitMeaning& exit : ExitMeanings())
    codes.push_back({{"code", static_cast<int>(exit.code)}, {"meaning", exit.words}});
  return {{"version", Version()}, {"verbs", std::move(verbs)}, {"exit_codes", std::move(codes)}};
}

}  // namespace medley

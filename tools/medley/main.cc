// The medley command. It starts in milliseconds because it knows no tensors: verbs that need libtorch are in
// medley_verbs.so, which it opens when one of them is asked for.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/version.h>

#include "tools/medley/verbs.h"

namespace medley {
namespace {

struct Help {
  std::string_view verb;
  std::string_view arguments;
  std::string_view summary;
};

constexpr std::array kHelp = {
    Help{"train", "CONFIG [--out DIR] [--plugin-path P] [KEY=VALUE ...]",
         "train a model; a run is a directory"},
    Help{"resume", "DIR [--steps N] [KEY=VALUE ...]", "go on with a run that was stopped"},
    Help{"plan", "CONFIG [--budget B] [--out DIR] [--profile FILE] [KEY=VALUE ...]",
         "measure what every task takes, and fit it into the budget"},
    Help{"report", "DIR", "what a run's tasks took, against the plan"},
    Help{"estimate", "CONFIG [--gpu NAME | --memory SIZE] [--check]",
         "say what a run would take, and where it fits"},
    Help{"eval", "DIR [--rows N] [--against DIR]", "score a run on rows that it never trained on"},
    Help{"generate", "DIR --image FILE --prompt TEXT [--out P]", "ask a trained model"},
    Help{"tasks", "[--json] [--plugin-path P]", "list every task that can be trained"},
    Help{"sample", "TASK [--rows N] [--variant V] [--config CONFIG] [--out P]",
         "look at a task's examples before training it"},
    Help{"validate", "CONFIG [KEY=VALUE ...]", "check a run config and the files it names"},
    Help{"tokenizer", "train --corpus FILE --out FILE", "make a tokenizer"},
    Help{"version", "[--json]", "what this medley was built from"},
};

using VerbFunction = int (*)(int, char**);

VerbFunction FindPlainVerb(std::string_view verb) {
#define MEDLEY_VERB(name, function) \
  if (verb == #name) return &function;
#include "plain_verbs.inc"
#undef MEDLEY_VERB
  return nullptr;
}

bool IsVerb(std::string_view verb) {
  for (const Help& help : kHelp) {
    if (help.verb == verb) return true;
  }
  return false;
}

// The library stays open: its code is on the stack, in exception types and in libtorch's registries.
int RunTensorVerb(const std::string& verb, int argc, char** argv) {
  const std::filesystem::path library = LibraryDirectory() / "medley" / "medley_verbs.so";
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    throw Error("cannot open the library with the verb '" + verb + "': " + dlerror() +
                ". Is the installation complete, and libtorch still at " + TorchRoot().string() + "?");
  }
  using Entry = decltype(&medley_run_tensor_verb);
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "medley_run_tensor_verb"));
  if (entry == nullptr) throw Error(library.string() + " is not medley's: " + dlerror());
  return entry(verb.c_str(), argc, argv);
}

int PrintHelp(std::ostream& out) {
  constexpr std::size_t kSummaryColumn = 58;
  out << "medley " << Version() << ": trains one model on a medley of tasks\n\n";
  for (const Help& help : kHelp) {
    std::string line = "  medley " + std::string(help.verb) + " " + std::string(help.arguments);
    if (line.size() + 2 > kSummaryColumn) line += "\n";
    const std::size_t used = line.ends_with('\n') ? 0 : line.size();
    out << line << std::string(kSummaryColumn - used, ' ') << help.summary << '\n';
  }
  out << "\nmedley VERB --help says more about each.\n";
  return 0;
}

int RunCommand(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "--help" || verb == "-h" || verb == "help") return PrintHelp(std::cout);
  if (verb == "--version") {
    std::cout << "medley " << Version() << '\n';
    return 0;
  }
  if (verb.empty() || !IsVerb(verb)) {
    PrintHelp(std::cerr);
    throw InputError(verb.empty() ? "say what to do: one of the verbs above"
                                  : "no such verb: '" + verb + "'");
  }
  const VerbFunction plain = FindPlainVerb(verb);
  return plain != nullptr ? plain(argc - 1, argv + 1) : RunTensorVerb(verb, argc - 1, argv + 1);
}

// Where 0, 1 or 2 were closed, the next file that is opened would take the number, and the words of a run.
void OpenStandardStreams() {
  int opened = -1;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  medley::OpenStandardStreams();
  // A file over its limit is then an error like a full disk, which is told.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return medley::RunCommand(argc, argv);
  } catch (const medley::Error& error) {
    std::cerr << "medley: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const CLI::ParseError& error) {  // also --help, which is no error
    return CLI::App().exit(error, std::cout, std::cerr) == 0 ? 0
                                                             : static_cast<int>(medley::ExitCode::kBadInput);
  } catch (const std::exception& error) {
    std::cerr << "medley: " << error.what() << '\n';
    return static_cast<int>(medley::ExitCode::kFailed);
  }
}

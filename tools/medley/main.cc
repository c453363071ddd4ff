// The medley command. It starts in milliseconds because it knows no tensors: verbs that need libtorch are in
// medley_verbs.so and medley_check.so, which it opens when one of them is asked for.
#include <dlfcn.h>
#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/libraries.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/torch_folder.h>
#include <medley/base/user_directories.h>
#include <medley/base/version.h>

#include "tools/medley/command.h"
#include "tools/medley/process.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Opens the libtorch that MEDLEY_TORCH_ROOT names, a folder with lib/libtorch_cpu.so: what is opened later
// and needs a libtorch gets that one, wherever the one lies that medley was built with. Without the variable
// nothing happens. An InputError where there is none, or where it does not open.
void OpenNamedTorch() {
  namespace fs = std::filesystem;
  const auto named = Environment("MEDLEY_TORCH_ROOT");
  if (!named) return;
  for (const char* below : {"lib", "lib64", "lib/x86_64-linux-gnu", "."}) {
    const fs::path library = fs::path(*named) / below / "libtorch_cpu.so";
    std::error_code ignored;
    if (!fs::exists(library, ignored)) continue;
    if (const std::string why = WhyOtherTorch(*named); !why.empty())
      throw InputError("MEDLEY_TORCH_ROOT: " + why);
    // By its absolute path: the linker then knows it by its name, and looks for no other.
    if (dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return;
    throw InputError("MEDLEY_TORCH_ROOT: cannot open " + Printable(library) + ": " + dlerror());
  }
  throw InputError("MEDLEY_TORCH_ROOT is " + *named +
                   ", and there is no lib/libtorch_cpu.so below it; name the folder of a libtorch " +
                   std::string(Torch().version) + " (of a Python package: site-packages/torch)");
}

struct Help {
  std::string_view verb;
  std::string_view arguments;
  std::string_view summary;
};

constexpr std::array kHelp = {
    Help{"train", "CONFIG [--out DIR] [--plugin-path P] [KEY=VALUE ...]",
         "train a model; a run is a directory"},
    Help{"resume", "DIR [--steps N] [KEY=VALUE ...]", "go on with a run that was stopped"},
    Help{"launch", "-n N -- medley VERB ...", "train one run with several processes of this machine"},
    Help{"sweep", "CONFIG --out DIR [--seeds N] [--jobs N] KEY=V1,V2 ...",
         "train a run for each value and seed, several at a time, and compare them"},
    Help{"plan", "CONFIG [--budget B] [--out DIR] [--profile FILE] [--json] [KEY=VALUE ...]",
         "measure what every task takes, and fit it into the budget"},
    Help{"report", "DIR [--against DIR] [--html FILE | --json]",
         "what a run's tasks took, against the plan; what differs between groups of runs"},
    Help{"watch", "DIR [--json]", "the report of a run, or a line a run, anew while they train"},
    Help{"runs", "[DIR ...] [--where KEY=VALUE] [--sort KEY] [--last N] [--json]",
         "list runs: what became of each, its scores, and what differs"},
    Help{"follow", "DIR --to mlflow|trackio|wandb [--project P] [--name N] [--json]",
         "send what a run logs to a tracker, until it is over"},
    Help{"estimate", "CONFIG [--gpu NAME | --memory SIZE] [--check] [--json]",
         "say what a run would take, and where it fits"},
    Help{"eval", "DIR|CONFIG [--rows N] [--against DIR] [--json] [KEY=VALUE ...]",
         "score a run, or a model before its first step, on held-out rows"},
    Help{"export", "DIR --out FOLDER", "write a run's model as a Hugging Face folder"},
    Help{"generate", "DIR [--prompt TEXT] [--image FILE] [--chat]", "ask a trained run"},
    Help{"inspect", "FILE|DIR [--model FILE]",
         "say what tensors a file, a checkpoint or a Hugging Face folder holds"},
    Help{"tasks", "[TASK] [--json] [--plugin-path P]",
         "list every task that can be trained, or say all of one"},
    Help{"models", "[KIND] [--json] [--schema] [--plugin-path P]", "list every model, or say what one takes"},
    Help{"new", "NAME [--kind KIND] [--lang LANGUAGE] [--dir DIR]", "make a folder with a task of your own"},
    Help{"plugins", "list | show PLUGIN | check PLUGIN... | lock",
         "every plugin found; what one says; whether it works"},
    Help{"sample", "TASK [--rows N] [--variant V] [--config CONFIG] [--out P]",
         "look at a task's examples before training it"},
    Help{"validate", "CONFIG [--json] [KEY=VALUE ...]", "check a run config and its files, draw its stages"},
    Help{"weights", "history DIR | diff DIR [--json]",
         "what became of a run's weights; what an edit would change"},
    Help{"tokenizer", "train --out FILE [--corpus FILE] [--task NAME ...] | show FILE",
         "make a tokenizer, or look at one"},
    Help{"completion", "bash|zsh|fish", "make your shell complete what you type"},
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
  if (verb == kHiddenVerb) return true;
  for (const Help& help : kHelp) {
    if (help.verb == verb) return true;
  }
  return false;
}

// libtorch aborts where it gets no memory while it is opened.
void CheckAddressSpace() {
  constexpr rlim_t kLibtorch = rlim_t{512} << 20;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kLibtorch)
    return;
  throw Error("this process may have " + FormatBytes(static_cast<std::int64_t>(limit.rlim_cur)) +
              " of address space (ulimit -v); libtorch alone takes up to " +
              FormatBytes(static_cast<std::int64_t>(kLibtorch)) + ". Raise the limit");
}

// Where the user names no libtorch: the one that would be opened is the one that medley was built for.
void CheckOwnTorch() {
  if (Environment("MEDLEY_TORCH_ROOT")) return;
  const std::filesystem::path root = TorchRoot();
  std::error_code ignored;
  if (!SitePackagesOf(LibraryDirectory()).empty() && !std::filesystem::exists(root, ignored))
    throw InputError("this medley was installed by pip, and no torch lies beside it: expected " +
                     Printable(root) +
                     ". Install it there: pip install torch==" + std::string(Torch().version) +
                     "; or MEDLEY_TORCH_ROOT names another copy of that release");
  if (const std::string why = WhyOtherTorch(root); !why.empty()) throw InputError(why);
}

// The library stays open: its code is on the stack, in exception types and in libtorch's registries.
int RunTensorVerb(const std::string& verb, int argc, char** argv) {
  CheckAddressSpace();
  OpenNamedTorch();
  CheckOwnTorch();
  const std::filesystem::path library =
      LibraryDirectory() / "medley" / (verb == kHiddenVerb ? "medley_check.so" : "medley_verbs.so");
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    throw Error("cannot open the library with the verb '" + verb + "': " + dlerror() +
                ". Is the installation complete, and libtorch " + std::string(Torch().version) +
                " still at " + TorchRoot().string() +
                "? Another copy is taken where MEDLEY_TORCH_ROOT names its folder");
  }
  using Entry = decltype(&medley_run_tensor_verb);
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "medley_run_tensor_verb"));
  if (entry == nullptr) throw Error(Printable(library) + " is not medley's: " + dlerror());
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
  out << "\nmedley VERB --help says more about each.\n\nExit codes:\n";
  for (const ExitMeaning& exit : ExitMeanings())
    out << "  " << static_cast<int>(exit.code) << "  " << exit.words << '\n';
  return 0;
}

[[noreturn]] void RefuseVerb(const std::string& verb) {
  if (verb.empty()) {
    PrintHelp(std::cerr);
    throw InputError("say what to do: one of the verbs above");
  }
  const std::vector<std::string> verbs = VerbNames();
  throw InputError("no such verb: '" + Printable(verb) + "'" + DidYouMean(verb, verbs) + " (" +
                   JoinNames(verbs) + "; medley --help says what they do)");
}

int RunAsked(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "--help" || verb == "-h" || verb == "help") {
    if (argc == 2 || std::string_view(argv[2]) != "--json") return PrintHelp(std::cout);
    std::cout << JsonText(CommandJson(), 2) << '\n';
    return 0;
  }
  if (verb == "--version") {
    std::cout << "medley " << Version() << '\n';
    return 0;
  }
  if (!IsVerb(verb)) RefuseVerb(verb);
  HandleSignals(verb);
  return RunVerb(verb, argc - 1, argv + 1);
}

}  // namespace

std::vector<std::string> VerbNames() {
  std::vector<std::string> verbs;
  for (const Help& help : kHelp) verbs.emplace_back(help.verb);
  return verbs;
}

int RunVerb(const std::string& verb, int argc, char** argv) {
  const VerbFunction plain = FindPlainVerb(verb);
  return plain != nullptr ? plain(argc, argv) : RunTensorVerb(verb, argc, argv);
}

}  // namespace medley

int main(int argc, char** argv) {
  medley::PrepareLibraries();
  medley::BeginProcess();
  medley::EndProcess([&] { return medley::RunAsked(argc, argv); });
}

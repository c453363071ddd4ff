#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/cluster/line.h>

#include "tools/medley/arguments.h"
#include "tools/medley/processes.h"
#include "tools/medley/scratch.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// Seconds that processes have to end by themselves once one of them failed, and then once they were asked to.
constexpr double kGrace = 5, kLastGrace = 5;

struct Process : StartedProcess {
  bool killed = false;  // by the launcher, as it did not end
  fs::path error_file;

  bool EndedWith(ExitCode code) const {
    return status && WIFEXITED(*status) && WEXITSTATUS(*status) == static_cast<int>(code);
  }
  bool Failed() const {
    if (!status) return false;
    if (!WIFEXITED(*status)) return true;
    const auto code = static_cast<ExitCode>(WEXITSTATUS(*status));
    return code != ExitCode::kDone && code != ExitCode::kSomethingDropped && code != ExitCode::kInterrupted;
  }
  // It is not alone in it: it lost another one.
  bool LostAPeer() const { return EndedWith(ExitCode::kPeerFailed); }
};

// Of this machine, that nobody listens on now.
std::int64_t FreePort() {
  const Descriptor listening = Listen(0);
  if (!listening.ok())
    throw Error(std::string("no port of this machine can be had: ") + std::strerror(errno));
  return PortOf(listening);
}

class Processes {
 public:
  Processes(std::vector<std::string> command, std::int64_t count, std::int64_t port, const fs::path& scratch)
      : command_(std::move(command)) {
    const std::string launch = std::to_string(::getpid()) + "." + std::to_string(port);
    for (std::int64_t rank = 0; rank < count; ++rank) Start(rank, count, port, launch, scratch);
  }

  // Until all ended. Returns who is to blame: the first that failed, and not for want of another; nothing
  // where none did.
  std::optional<std::size_t> Wait() {
    std::optional<std::size_t> blamed;
    double deadline = 0;
    int next = SIGTERM;
    while (std::any_of(list_.begin(), list_.end(), [](const Process& p) { return !p.status; })) {
      constexpr std::chrono::milliseconds kSlice{200};
      const int signal = signals_.Wait(kSlice);
      if (signal > 0 && signal != SIGCHLD) Signal(signal);
      for (std::size_t rank = 0; rank < list_.size(); ++rank) {
        if (!list_[rank].Reap()) continue;
        if (!list_[rank].Failed()) continue;
        if (!blamed) deadline = SteadySeconds() + kGrace;
        if (!blamed || (list_[*blamed].LostAPeer() && !list_[rank].LostAPeer())) blamed = rank;
      }
      if (!blamed || SteadySeconds() < deadline) continue;
      Signal(next);
      for (Process& process : list_) process.killed = process.killed || (!process.status && next == SIGKILL);
      next = SIGKILL;
      deadline = SteadySeconds() + kLastGrace;
    }
    return blamed;
  }

  const std::vector<Process>& list() const { return list_; }
  const Process& at(std::size_t rank) const { return list_[rank]; }

 private:
  void Start(std::int64_t rank, std::int64_t count, std::int64_t port, const std::string& launch,
             const fs::path& scratch) {
    Process process;
    process.error_file = scratch / ("rank-" + std::to_string(rank) + ".json");
    static_cast<StartedProcess&>(process) = StartProcess(command_, signals_, [&] {
      const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
      set("RANK", std::to_string(rank));
      set("LOCAL_RANK", std::to_string(rank));
      set("WORLD_SIZE", std::to_string(count));
      set("LOCAL_WORLD_SIZE", std::to_string(count));
      set("MASTER_ADDR", "127.0.0.1");
      set("MASTER_PORT", std::to_string(port));
      set("MEDLEY_LAUNCH", launch);
      set("TORCHELASTIC_ERROR_FILE", process.error_file.string());
    });
    list_.push_back(std::move(process));
  }

  void Signal(int signal) const {
    for (const Process& process : list_) process.Signal(signal);
  }

  std::vector<std::string> command_;
  std::vector<Process> list_;
  HeldSignals signals_;
};

// What the process itself said: its "message", or the command that goes on, "next".
std::string OwnWords(const Process& process, const char* which = "message") {
  try {
    return nlohmann::json::parse(ReadFile(process.error_file)).at(which).get<std::string>();
  } catch (const std::exception&) {
    return "";
  }
}

// As any of them knows it: the first may have been killed.
void SayWhatGoesOn(const Processes& processes) {
  for (const Process& process : processes.list()) {
    SetNextCommand(OwnWords(process, "next"));
    if (!NextCommand().empty()) return WriteNextCommand();
  }
}

int Blame(const Processes& processes, std::size_t blamed) {
  const Process& process = processes.at(blamed);
  const int status = *process.status;
  const std::string who =
      "medley launch: rank " + std::to_string(blamed) + " (process " + std::to_string(process.pid) + ") ";
  if (process.killed) {
    std::fprintf(stderr, "%sdid not end with the others, and was killed\n", who.c_str());
    return static_cast<int>(ExitCode::kPeerFailed);
  }
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "%swas ended by signal %d (%s); the others ended with it\n", who.c_str(),
                 WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return static_cast<int>(ExitCode::kPeerFailed);
  }
  if (blamed > 0)  // the first one's words are on the screen
    std::fprintf(stderr, "%sfailed: %s\n", who.c_str(), PrintableLines(OwnWords(process)).c_str());
  return WEXITSTATUS(status);
}

int Conclude(const Processes& processes, std::optional<std::size_t> blamed) {
  if (!blamed) return WEXITSTATUS(*processes.at(0).status);
  const auto was_interrupted = [](const Process& one) { return one.EndedWith(ExitCode::kInterrupted); };
  if (processes.at(*blamed).LostAPeer() &&
      std::any_of(processes.list().begin(), processes.list().end(), was_interrupted))
    return static_cast<int>(ExitCode::kInterrupted);  // one alone was asked to, before they could agree
  const int code = Blame(processes, *blamed);
  SayWhatGoesOn(processes);
  return code;
}

}  // namespace

int RunLaunch(int argc, char** argv) {
  CLI::App app(
      "Trains one run with several processes of this machine, as torchrun does for who has Python. Signals "
      "go "
      "to all of them; where one fails the others are ended.",
      "medley launch");
  std::int64_t count = 0, port = 0;
  std::vector<std::string> command;
  app.add_option("-n,--processes", count, "how many")->required()->check(WholeNumber(1, 1024));
  app.add_option("--port", port, "of this machine, by which they find each other (default: one that is free)")
      ->check(WholeNumber(1, 65535));
  app.add_option("COMMAND", command, "what each of them runs, behind --: medley and its arguments")
      ->required();
  if (!ParseArguments(app, argc, argv)) return 0;
  const Scratch scratch;
  Processes processes(command, count, port > 0 ? port : FreePort(), scratch.path());
  return Conclude(processes, processes.Wait());
}

}  // namespace medley

#include "tools/medley/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include <medley/base/crash.h>
#include <medley/base/error.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/stop_signal.h>
#include <medley/base/user_directories.h>
#include <medley/report/screen.h>

#include "tools/medley/printable_output.h"

namespace medley {
namespace {

// Where 0, 1 or 2 were closed, the next file that is opened would take the number, and the words of a run.
void OpenStandardStreams() {
  int opened = -1;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

ExitCode CodeOf(const std::error_code& code) {
  for (const std::errc named :
       {std::errc::too_many_symbolic_link_levels, std::errc::filename_too_long, std::errc::not_a_directory,
        std::errc::is_a_directory, std::errc::no_such_file_or_directory, std::errc::permission_denied}) {
    if (code == named) return ExitCode::kBadInput;
  }
  return ExitCode::kFailed;
}

constexpr const char* kNoMemory =
    "out of memory: the system gives this process no more. Look at its limits (ulimit -v, a container's), or "
    "give it less to do";

// For torchrun and medley launch: why this process ended, when, and what goes on. Nothing where they ask for
// none.
void WriteErrorFile(const std::string& words) {
  const auto file = Environment("TORCHELASTIC_ERROR_FILE");
  if (!file) return;
  const nlohmann::json error = {
      {"message", words}, {"next", NextCommand()}, {"timestamp", std::time(nullptr)}};
  std::ofstream(*file) << error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

// What was caught, in words and as a number.
int ReportFailure(const std::exception_ptr& caught) {
  ExitCode code = ExitCode::kFailed;
  std::string words;
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    code = error.code();
    words = error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    code = CodeOf(error.code());
    words = Printable(error.path1()) + ": " + error.code().message();
  } catch (const std::system_error& error) {
    words = std::string("the system refused a thread or a lock: ") + error.what() +
            ". Look at its limits (ulimit -u, -v)";
  } catch (const std::bad_alloc&) {
    code = ExitCode::kDoesNotFit;
    words = kNoMemory;
  } catch (const std::exception& error) {
    words = error.what();
  } catch (...) {
    words = "an exception of an unknown type";
  }
  const auto launched = Environment("MEDLEY_LAUNCH"), rank = Environment("RANK");
  WriteErrorFile(words);
  // medley launch says what another process than the first failed of, and it alone.
  if (launched && rank.value_or("0") != "0") return static_cast<int>(code);
  const std::string line = "medley: " + words;
  std::cerr << (::isatty(STDERR_FILENO) == 1 ? Wrapped(line, ColumnsOf(stderr), 0) : line) << '\n';
  if (!launched) std::cerr << NextCommandLines(code);  // medley launch says it last
  return static_cast<int>(code);
}

// An exception cannot leave the initializers of a library that is being opened, and libtorch has many: it
// ends up here.
[[noreturn]] void OnTerminate() {
  if (const std::exception_ptr caught = std::current_exception()) {
    try {
      std::rethrow_exception(caught);
    } catch (const std::bad_alloc&) {
      ::_exit(ReportFailure(caught));
    } catch (...) {
      ReportFailure(caught);
    }
  }
  std::abort();
}

// What is left when a verb is done goes with the process: libtorch would take its thousands of operators
// apart one by one, a quarter of a short command's time.
[[noreturn]] void Leave(int code) {
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(code);
}

// What a verb prints is its result: where that did not get through, the command has failed.
void RequireWritten() {
  std::cout.flush();
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return;
  throw Error(std::string("the output could not be written whole") +
              (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

}  // namespace

// From the first line to the last: a signal that comes while libtorch is opened is heeded then, and one that
// comes when the run is over ends nothing.
void HandleSignals(const std::string& verb) {
  if (verb == "train" || verb == "resume") {
    static const StopSignal stop;  // never destroyed: see Leave
  } else if (verb == kHiddenVerb) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever waits for what it finds is gone
  } else {
    LeaveAtSignals();
  }
}

void BlockRunSignals(bool on) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &signals, nullptr);
}

void BeginProcess() {
  OpenStandardStreams();
  // A file over its limit is then an error like a full disk, which is told.
  std::signal(SIGXFSZ, SIG_IGN);
  InstallCrashWords();
  std::set_terminate(OnTerminate);
  static PrintableOutput results(std::cout), errors(std::cerr);
}

void EndProcess(const std::function<int()>& run) {
  int code = 0;
  try {
    code = run();
    RequireWritten();
  } catch (...) {
    code = ReportFailure(std::current_exception());
  }
  Leave(code);
}

}  // namespace medley

#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/tools/starter/environment.h"

namespace medley::test {

// The server of commands that have opened libtorch already, as long as it lives (server.cc). A command line
// that is run through the client without MEDLEY_STARTER is the plain command, with its own process.
class Starter {
 public:
  Starter(const std::string& command, const std::string& module, const std::string& verbs) {
    std::string pattern = std::filesystem::temp_directory_path() / "medley_starter_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    const std::filesystem::path socket = folder_ / "socket";
    ::setenv("MEDLEY_STARTED_WITH", LoadingEnvironment(environ).c_str(), 1);
    ::setenv("MEDLEY_STARTER", socket.c_str(), 1);
    server_ = ::fork();
    if (server_ == 0) {
      ::setenv("LD_PRELOAD", module.c_str(), 1);
      ::setenv("MEDLEY_STARTER_VERBS", verbs.c_str(), 1);
      ::setenv("OMP_WAIT_POLICY", "passive", 0);  // as the command does before it opens libtorch
      const int none = ::open("/dev/null", O_RDWR);
      for (const int stream : {0, 1, 2}) ::dup2(none, stream);
      ::execl(command.c_str(), "medley", nullptr);
      ::_exit(127);
    }
    while (server_ > 0 && !std::filesystem::exists(socket)) {
      if (::waitpid(server_, nullptr, WNOHANG) != 0) server_ = -1;  // none here: all commands are plain ones
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ~Starter() {
    if (server_ > 0) {
      ::kill(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

 private:
  std::filesystem::path folder_;
  pid_t server_ = -1;
};

}  // namespace medley::test

// Stands for the medley command in tests (tests/tools/run_command.h): has the server of server.cc fork one
// that has opened libtorch already, passes signals on to it, and ends as it ends. Where that would not be the
// same command, it becomes the command itself: another linker's or libtorch's environment, a terminal, a
// limit of memory.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/tools/starter/environment.h"
#include "tests/tools/starter/request.h"

namespace {

using medley::test::StartRequest;

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool IsPlain() {
  const char* with = std::getenv("MEDLEY_STARTED_WITH");
  if (with == nullptr || medley::test::LoadingEnvironment(environ) != with) return false;
  for (const int stream : {0, 1, 2}) {
    if (::isatty(stream) != 0 || ::fcntl(stream, F_GETFD) < 0) return false;
  }
  rlimit memory{};
  return ::getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur == RLIM_INFINITY;
}

int Connect() {
  const char* path = std::getenv("MEDLEY_STARTER");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path == nullptr || *path == 0 || std::strlen(path) >= sizeof address.sun_path) return -1;
  std::strcpy(address.sun_path, path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

bool Send(int socket, char** arguments) {
  StartRequest request;
  std::string strings;
  for (char** next = arguments; *next != nullptr; ++next, ++request.arguments)
    strings.append(*next).push_back('\0');
  for (char** next = environ; *next != nullptr; ++next, ++request.variables)
    strings.append(*next).push_back('\0');
  request.bytes = static_cast<std::uint32_t>(strings.size());
  request.umask = ::umask(0);
  ::umask(static_cast<mode_t>(request.umask));
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      request.ignored |= std::uint64_t{1} << signal;
  }
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit)
    ::getrlimit(static_cast<__rlimit_resource>(limit), &request.limits[static_cast<std::size_t>(limit)]);

  const int folder = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const std::array<int, medley::test::kStartDescriptors> descriptors = {folder, 0, 1, 2};
  iovec head{.iov_base = &request, .iov_len = sizeof request};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = &head;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const first = CMSG_FIRSTHDR(&message);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(first), descriptors.data(), sizeof descriptors);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof request) return false;
  for (std::size_t sent = 0; sent < strings.size();) {
    const ssize_t part = ::send(socket, strings.data() + sent, strings.size() - sent, MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += static_cast<std::size_t>(part);
  }
  return true;
}

[[noreturn]] void EndAs(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

}  // namespace

int main(int, char** arguments) {
  std::string command = MEDLEY_STARTED_COMMAND;
  arguments[0] = command.data();
  sigset_t passed_on;
  sigemptyset(&passed_on);
  const int socket = IsPlain() ? Connect() : -1;
  for (const int signal : kPassedOn) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&passed_on, signal);
  }
  if (socket >= 0) ::sigprocmask(SIG_BLOCK, &passed_on, nullptr);  // before there is whom to pass them to
  if (socket < 0 || !Send(socket, arguments)) {
    ::sigprocmask(SIG_UNBLOCK, &passed_on, nullptr);
    ::execv(command.c_str(), arguments);
    ::_exit(127);
  }
  const int signals = ::signalfd(-1, &passed_on, SFD_CLOEXEC);
  for (;;) {
    pollfd of[] = {{.fd = socket, .events = POLLIN, .revents = 0},
                   {.fd = signals, .events = POLLIN, .revents = 0}};
    if (::poll(of, 2, -1) < 0) continue;
    if ((of[1].revents & POLLIN) != 0) {
      signalfd_siginfo info{};
      if (::read(signals, &info, sizeof info) == sizeof info) {
        const char signal = static_cast<char>(info.ssi_signo);
        ::send(socket, &signal, 1, MSG_NOSIGNAL);
      }
    }
    if (of[0].revents == 0) continue;
    int status = 0;
    if (::recv(socket, &status, sizeof status, MSG_WAITALL) != sizeof status) ::_exit(125);
    EndAs(status);
  }
}

// Is preloaded into the medley command, and forks a child for each client (client.cc) that asks, which runs
// the command's own main. It ends with the test program that started it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/forking_command.h"
#include "tests/tools/starter/request.h"

namespace medley::test {
namespace {

struct Started {
  int client = -1, process = -1;  // its socket, and the child's pidfd
  pid_t pid = 0;
};

struct Received {
  StartRequest request;
  std::array<int, kStartDescriptors> descriptors{};
  std::string strings;
};

std::optional<Received> Receive(int client) {
  Received received;
  iovec head{.iov_base = &received.request, .iov_len = sizeof received.request};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof received.descriptors)> control{};
  msghdr message{};
  message.msg_iov = &head;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(client, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof received.request) return {};
  const cmsghdr* const first = CMSG_FIRSTHDR(&message);
  if (first == nullptr || first->cmsg_len != CMSG_LEN(sizeof received.descriptors)) return {};
  std::memcpy(received.descriptors.data(), CMSG_DATA(first), sizeof received.descriptors);
  received.strings.resize(received.request.bytes);
  if (::recv(client, received.strings.data(), received.strings.size(), MSG_WAITALL) !=
      static_cast<ssize_t>(received.strings.size()))
    return {};
  return received;
}

// In the child.
[[noreturn]] void RunCommand(Received received) {
  const StartRequest& request = received.request;
  if (::fchdir(received.descriptors[0]) != 0) ::_exit(125);
  for (const int stream : {0, 1, 2})
    ::dup2(received.descriptors[static_cast<std::size_t>(stream) + 1], stream);
  ::umask(static_cast<mode_t>(request.umask));
  for (int signal = 1; signal < 32; ++signal)
    ::signal(signal, (request.ignored >> signal & 1) != 0 ? SIG_IGN : SIG_DFL);
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit)
    ::setrlimit(static_cast<__rlimit_resource>(limit), &request.limits[static_cast<std::size_t>(limit)]);
  std::vector<char*> arguments, variables;
  char* next = received.strings.data();
  const auto take = [&](std::int32_t count, std::vector<char*>& to) {
    for (; count > 0; --count, next += std::strlen(next) + 1) to.push_back(next);
    to.push_back(nullptr);
  };
  take(request.arguments, arguments);
  take(request.variables, variables);
  ::clearenv();
  for (char* variable : variables) {
    if (variable != nullptr) ::putenv(variable);
  }
  RunMain(arguments, environ);
}

// Readable once the process has ended.
int DescriptorOf(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

class Server {
 public:
  explicit Server(int listening) : listening_(listening) {}

  [[noreturn]] void Run() {
    for (;;) {
      std::vector<pollfd> of = {{.fd = listening_, .events = POLLIN, .revents = 0}};
      for (const Started& started : started_) {
        of.push_back({.fd = started.client, .events = POLLIN, .revents = 0});
        of.push_back({.fd = started.process, .events = POLLIN, .revents = 0});
      }
      if (::poll(of.data(), of.size(), -1) < 0) continue;
      for (std::size_t i = started_.size(); i-- > 0;) {
        if (of[2 * i + 1].revents != 0) PassOn(started_[i]);
        if (of[2 * i + 2].revents != 0) {
          Answer(started_[i]);
          started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (of[0].revents != 0) Accept();
    }
  }

 private:
  void Accept() {
    const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    std::optional<Received> received = Receive(client);
    if (!received) {
      ::close(client);
      return;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(listening_);
      ::close(client);
      for (const Started& other : started_) ::close(other.client), ::close(other.process);
      RunCommand(*std::move(received));
    }
    for (const int descriptor : received->descriptors) ::close(descriptor);
    started_.push_back({client, DescriptorOf(child), child});
  }
  // A signal; or its end, and then the command is ended that it stands for.
  static void PassOn(Started& started) {
    char signal = 0;
    if (::recv(started.client, &signal, 1, 0) == 1) {
      ::kill(started.pid, signal);
    } else {
      ::kill(started.pid, SIGKILL);
      ::close(started.client);
      started.client = -1;  // which poll leaves out
    }
  }
  static void Answer(const Started& started) {
    int status = 0;
    ::waitpid(started.pid, &status, 0);
    if (started.client >= 0) {
      ::send(started.client, &status, sizeof status, MSG_NOSIGNAL);
      ::close(started.client);
    }
    ::close(started.process);
  }

  int listening_;
  std::vector<Started> started_;
};

}  // namespace

int Serve(int, char**, char**) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* path = std::getenv("MEDLEY_STARTER");
  if (path == nullptr || !OpenVerbs(std::getenv("MEDLEY_STARTER_VERBS")) || Threads() != 1) return 125;
  const int own = DescriptorOf(::getpid());  // since Linux 5.3
  if (own < 0) return 125;
  ::close(own);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (std::strlen(path) >= sizeof address.sun_path) return 125;
  std::strcpy(address.sun_path, path);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening, 64) != 0)
    return 125;
  Server(listening).Run();
}

}  // namespace medley::test

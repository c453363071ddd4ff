#include <medley/cluster/line.h>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace medley {
namespace {

constexpr int kBacklog = 4096;  // nobody has to take who calls: a call is answered by the kernel

void Set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

Descriptor ListenOn(const sockaddr* address, socklen_t size) {
  Descriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.ok()) return socket;
  Set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6) Set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), address, size) == 0 && ::listen(socket.get(), kBacklog) == 0) return socket;
  const int error = errno;
  socket.Close();
  errno = error;
  return socket;
}

// 0, or why not.
int Connect(int socket, const addrinfo& to, std::chrono::milliseconds limit) {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{socket, POLLOUT, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(limit.count()));
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// Where the other machine loses its power, no word of it comes.
void AskWhetherItLives(int socket) {
  constexpr int kIdle = 15, kBetween = 5, kTimes = 5;
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kBetween);
  Set(socket, IPPROTO_TCP, TCP_KEEPCNT, kTimes);
}

}  // namespace

Descriptor Listen(std::int64_t port) {
  sockaddr_in6 both{};
  both.sin6_family = AF_INET6;
  both.sin6_addr = in6addr_any;
  both.sin6_port = htons(static_cast<std::uint16_t>(port));
  Descriptor socket = ListenOn(reinterpret_cast<const sockaddr*>(&both), sizeof both);
  if (socket.ok() || errno == EADDRINUSE || errno == EACCES) return socket;
  sockaddr_in old{};  // a machine without IPv6
  old.sin_family = AF_INET;
  old.sin_addr.s_addr = htonl(INADDR_ANY);
  old.sin_port = both.sin6_port;
  return ListenOn(reinterpret_cast<const sockaddr*>(&old), sizeof old);
}

std::int64_t PortOf(const Descriptor& listening) {
  sockaddr_in6 address{};  // the port is where sockaddr_in has it
  socklen_t size = sizeof address;
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin6_port);
}

Descriptor Accept(const Descriptor& listening) {
  return Descriptor(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

Call CallTo(const std::string& host, std::int64_t port, std::chrono::milliseconds limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  Call call;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
      error != 0) {
    call.has_address = false;
    call.problem = "'" + host + "' has no address: " + ::gai_strerror(error);
    return call;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = socket.ok() ? Connect(socket.get(), *one, limit) : errno;
    if (error != 0) continue;
    AskWhetherItLives(socket.get());
    call.line = std::move(socket);
    return call;
  }
  call.refused = error == ECONNREFUSED;
  call.problem = std::strerror(error);
  return call;
}

bool IsOpen(const Descriptor& line) {
  std::array<char, 1> byte{};
  const ssize_t got = ::recv(line.get(), byte.data(), byte.size(), MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

}  // namespace medley

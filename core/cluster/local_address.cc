#include <medley/cluster/local_address.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include <medley/base/descriptor.h>
#include <medley/base/error.h>

namespace medley {
namespace {

std::string Numbers(const sockaddr* address, socklen_t size) {
  char words[NI_MAXHOST] = "";
  if (::getnameinfo(address, size, words, sizeof words, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return words;
}

bool IsLoopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

std::string FirstNetwork() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    return Numbers(one->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

// Where what is sent to the host would leave; sends nothing.
std::string WayTo(const addrinfo& host) {
  const Descriptor socket(::socket(host.ai_family, SOCK_DGRAM, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!socket.ok() || ::connect(socket.get(), host.ai_addr, host.ai_addrlen) != 0) return "";
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
  return Numbers(reinterpret_cast<sockaddr*>(&own), size);
}

}  // namespace

std::string LocalAddress(const std::string& host, std::int64_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    throw InputError("the host '" + host +
                     "', where the processes of the run are to find each other, has no " +
                     "address: " + ::gai_strerror(error) + ". Set MASTER_ADDR to one that has");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::string address = WayTo(*list);
  if (address.empty() || IsLoopback(address)) address = FirstNetwork();
  if (address.empty())
    throw InputError("this machine has no network by which others could reach it; is MASTER_ADDR, '" + host +
                     "', right?");
  return address;
}

}  // namespace medley

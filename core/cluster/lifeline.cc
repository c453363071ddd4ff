#include <medley/cluster/lifeline.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <medley/base/error.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestNote = 64 << 10;
constexpr const char* kKey = "key";

}  // namespace

bool TakeNotes(NoteLine& line, const std::string& key, std::vector<json>& notes) {
  std::array<char, 4096> piece;
  ssize_t got = 0;
  while ((got = ::recv(line.line.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0) {
    line.text.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = line.text.find('\n')) != std::string::npos; line.text.erase(0, end + 1)) {
      json note = json::parse(line.text.substr(0, end), nullptr, /*allow_exceptions=*/false);
      if (note.is_object() && note.value(kKey, json()) == json(key)) notes.push_back(std::move(note));
    }
    if (line.text.size() > kLongestNote) return false;
  }
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

Lifeline::Lifeline() : listening_(Listen(0)) {
  if (!listening_.ok())
    throw Error(std::string("no port of this machine can be had: ") + std::strerror(errno));
}

void Lifeline::AcceptAll() {
  for (Descriptor line = Accept(listening_); line.ok(); line = Accept(listening_))
    callers_.push_back({.line = std::move(line)});
}

std::vector<json> Lifeline::TakeNotes(const std::string& key) {
  AcceptAll();
  std::vector<json> notes;
  std::erase_if(callers_, [&](NoteLine& caller) { return !medley::TakeNotes(caller, key, notes); });
  return notes;
}

void Lifeline::LeaveNotes(const std::string& key, const json& note) {
  AcceptAll();
  for (const NoteLine& caller : callers_) LeaveNote(caller.line, key, note);
}

void LeaveNote(const Descriptor& line, const std::string& key, json note) {
  note[kKey] = key;
  const std::string text = note.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  [[maybe_unused]] const auto sent =
      ::send(line.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace medley

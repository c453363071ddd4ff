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

// Hands out whole lines, and is false where no more can come.
bool Read(const Descriptor& line, std::string& text, std::vector<std::string>& lines) {
  std::array<char, 4096> piece;
  ssize_t got = 0;
  while ((got = ::recv(line.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0) {
    text.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      lines.push_back(text.substr(0, end));
    if (text.size() > kLongestNote) return false;
  }
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

Lifeline::Lifeline() : listening_(Listen(0)) {
  if (!listening_.ok())
    throw Error(std::string("no port of this machine can be had: ") + std::strerror(errno));
}

std::vector<json> Lifeline::TakeNotes(const std::string& key) {
  for (Descriptor line = Accept(listening_); line.ok(); line = Accept(listening_))
    callers_.push_back({std::move(line), ""});
  std::vector<std::string> lines;
  std::erase_if(callers_, [&](Caller& caller) { return !Read(caller.line, caller.text, lines); });
  std::vector<json> notes;
  for (const std::string& line : lines) {
    json note = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (note.is_object() && note.value(kKey, json()) == json(key)) notes.push_back(std::move(note));
  }
  return notes;
}

void LeaveNote(const Descriptor& line, const std::string& key, json note) {
  note[kKey] = key;
  const std::string text = note.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  [[maybe_unused]] const auto sent =
      ::send(line.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace medley

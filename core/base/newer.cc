#include <medley/base/newer.h>

#include <array>
#include <charconv>

namespace medley {
namespace {

std::array<int, 3> NumbersOf(std::string_view version) {
  std::array<int, 3> numbers{};
  const char *at = version.data(), *const end = at + version.size();
  for (int& number : numbers) {
    at = std::from_chars(at, end, number).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return numbers;
}

}  // namespace

std::string OfANewerMedley(const std::string& says) { return "is of a newer medley (" + says + ")"; }

NewerError::NewerError(const std::string& what, const std::string& says, const std::string& otherwise)
    : InputError(what + " " + OfANewerMedley(says) + ". Use that medley" +
                 (otherwise.empty() ? "" : ", or " + otherwise)) {}
NewerError::~NewerError() = default;

bool IsLaterVersion(std::string_view version, std::string_view than) {
  return NumbersOf(version) > NumbersOf(than);
}

}  // namespace medley

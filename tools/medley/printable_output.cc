#include "tools/medley/printable_output.h"

#include <cstddef>
#include <ostream>
#include <string_view>
#include <utility>

#include <medley/base/printable.h>

namespace medley {
namespace {

// How many bytes at the end are a character that may go on.
std::size_t BegunCharacter(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

PrintableOutput::PrintableOutput(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(this)) {}

PrintableOutput::~PrintableOutput() {
  PrintableOutput::sync();
  stream_.rdbuf(before_);
}

bool PrintableOutput::Put(const std::string& text) {
  const std::string printable = PrintableLines(text);
  return before_->sputn(printable.data(), std::ssize(printable)) == std::ssize(printable);
}

std::streamsize PrintableOutput::xsputn(const char* text, std::streamsize size) {
  std::string whole = std::exchange(begun_, {}).append(text, static_cast<std::size_t>(size));
  const std::size_t end = whole.size() - BegunCharacter(whole);
  begun_ = whole.substr(end);
  whole.resize(end);
  return Put(whole) ? size : 0;
}

PrintableOutput::int_type PrintableOutput::overflow(int_type next) {
  if (traits_type::eq_int_type(next, traits_type::eof())) return traits_type::not_eof(next);
  const char one = traits_type::to_char_type(next);
  return xsputn(&one, 1) == 1 ? next : traits_type::eof();
}

int PrintableOutput::sync() {
  const bool is_good = begun_.empty() || Put(std::exchange(begun_, {}));
  return is_good ? before_->pubsync() : -1;
}

}  // namespace medley

#include <medley/text/normal_form.h>

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include <medley/base/error.h>

namespace medley {
namespace {

// No character below U+0300 is changed by this form or by another such.
bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0xcc; });
}

int CombiningClass(utf8proc_int32_t character) { return utf8proc_get_property(character)->combining_class; }

std::vector<utf8proc_int32_t> Decomposed(std::string_view text) {
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    utf8proc_int32_t character = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &character);
    std::array<utf8proc_int32_t, 8> parts{};  // Unicode's longest canonical decomposition has 4
    const auto count =
        utf8proc_decompose_char(character, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, nullptr);
    if (length <= 0 || count <= 0 || count > std::ssize(parts))
      throw Error("a text to normalize is not UTF-8");
    characters.insert(characters.end(), parts.begin(), parts.begin() + count);
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return characters;
}

// utf8proc_decompose does it by swapping neighbours: a megabyte of marks would take hours.
void OrderMarks(std::vector<utf8proc_int32_t>& characters) {
  const auto is_mark = [](utf8proc_int32_t character) { return CombiningClass(character) != 0; };
  for (auto begin = characters.begin(); begin != characters.end();) {
    begin = std::find_if(begin, characters.end(), is_mark);
    const auto end = std::find_if_not(begin, characters.end(), is_mark);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return CombiningClass(a) < CombiningClass(b);
    });
    begin = end;
  }
}

}  // namespace

std::string NormalFormC(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::vector<utf8proc_int32_t> characters = Decomposed(text);
  OrderMarks(characters);
  const auto count =
      utf8proc_normalize_utf32(characters.data(), std::ssize(characters),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  std::string normal;
  normal.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto length = utf8proc_encode_char(characters[static_cast<std::size_t>(i)], bytes.data());
    normal.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
  }
  return normal;
}

}  // namespace medley

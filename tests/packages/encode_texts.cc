// encode_texts VOCABULARY TEXTS IDS: writes the ids of each text as a line. A text is its length in bytes, 32
// bits, and its bytes.

#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/text/load_tokenizer.h>

namespace medley {
namespace {

std::string EncodeAll(const Tokenizer& tokenizer, std::string_view texts) {
  std::string lines;
  while (!texts.empty()) {
    std::uint32_t length = 0;
    std::memcpy(&length, texts.substr(0, sizeof length).data(), sizeof length);
    for (const std::int64_t id : tokenizer.Encode(texts.substr(sizeof length, length)))
      lines.append(std::to_string(id)).append(" ");
    lines += '\n';
    texts.remove_prefix(sizeof length + length);
  }
  return lines;
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw medley::InputError("expected encode_texts VOCABULARY TEXTS IDS");
    const auto tokenizer = medley::LoadTokenizer(argv[1]);
    medley::ReplaceFile(argv[3], medley::EncodeAll(*tokenizer, medley::ReadFile(argv[2])));
    return 0;
  } catch (const medley::Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}

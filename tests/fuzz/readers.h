#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace medley::fuzz {

// A reader of files from strangers. Whatever the bytes are, it may return or throw medley::Error (of which
// Rejection is the plugins' kind) and nothing else.
struct Reader {
  std::string name;  // its corpus is tests/fuzz/corpus/<name>
  bool json = true;  // whether edits of JSON's tokens make sense
  std::function<void(const std::string& bytes)> read;
};

std::vector<Reader> Readers();

}  // namespace medley::fuzz

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace medley::fuzz {

// A reader of files from strangers. Whatever the bytes are, it may return or throw medley::Error (of which
// Rejection is the plugins' kind) and nothing else.
struct Reader {
  std::string name;
  bool json = true;  // whether edits of JSON's tokens make sense
  std::function<void(const std::string& bytes)> read;
  std::int64_t most_memory = std::int64_t{160} << 20;  // that it may take for an input, in bytes
  std::string corpus{};                                // in tests/fuzz/corpus; "": its name
  std::string file{};  // of people's data: what it refuses is an InputError that names this file
};

// Of a program.
std::vector<Reader> Readers();
// Of what a run writes while it goes on; among the Readers without libtorch.
std::vector<Reader> LogReaders();
// Of people's pictures, likewise.
std::vector<Reader> PictureReaders();
// Of the plugin signs, likewise.
std::vector<Reader> SignReaders();
// Of the plugin texts, likewise.
std::vector<Reader> TalkReaders();
// Of the plugin volumes, among those with libtorch.
std::vector<Reader> ConversationReaders();

}  // namespace medley::fuzz

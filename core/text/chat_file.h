#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <medley/config/field.h>
#include <medley/text/chat_strings.h>

namespace medley {

template <>
struct EnumNames<ChatBlanks> {
  static constexpr std::array<std::string_view, 3> kNames = {"none", "lines", "blanks"};
};

// Whether a chat format that a config names is a file of its strings, and not the name of one that is built
// in.
bool IsChatFile(std::string_view named);

// The strings of a JSON file (configs/schema/chat.schema.json; tools/chat-format writes it). Throws an
// InputError with every mistake, "FILE:LINE:COLUMN: key: what is wrong".
ChatStrings ReadChatFile(const std::filesystem::path& file);
// The same of what was read from it before.
ChatStrings ReadChatText(const std::filesystem::path& file, std::string text);

// As the file has it; what is read back to the same.
nlohmann::ordered_json ToJson(const ChatStrings& strings);
nlohmann::ordered_json ChatSchema();

}  // namespace medley

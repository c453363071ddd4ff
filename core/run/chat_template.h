#pragma once

#include <filesystem>

namespace medley {

// The file of a published folder that has a template for chats: chat_template.jinja, chat_template.json, or
// tokenizer_config.json where that has one. "" where there is none, or nothing to be read.
std::filesystem::path ChatTemplateIn(const std::filesystem::path& folder);

}  // namespace medley

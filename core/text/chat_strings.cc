#include <medley/text/chat_strings.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

// Strings of the templates that these models are published with, for texts without tools and thoughts.
std::vector<ChatStrings> MakeFormats() {
  constexpr ChatTrim all = {ChatBlanks::kBlanks, ChatBlanks::kBlanks};
  std::vector<ChatStrings> formats;
  formats.push_back({.name = "plain",
                     .head = "user:",
                     .system = "system:",
                     .after_system = "<eos>user:",
                     .to_assistant = "<eos>assistant:",
                     .to_last = "<eos>assistant:",
                     .to_user = "<eos>user:",
                     .tail = "<eos>",
                     .generation = "<eos>assistant:",
                     .end = "<eos>"});
  ChatStrings chatml{.name = "chatml",
                     .head = "<|im_start|>user\n",
                     .system = "<|im_start|>system\n",
                     .after_system = "<|im_end|>\n<|im_start|>user\n",
                     .to_assistant = "<|im_end|>\n<|im_start|>assistant\n",
                     .to_last = "<|im_end|>\n<|im_start|>assistant\n",
                     .to_user = "<|im_end|>\n<|im_start|>user\n",
                     .tail = "<|im_end|>\n",
                     .generation = "<|im_end|>\n<|im_start|>assistant\n",
                     .end = "<|im_end|>"};
  formats.push_back(chatml);
  chatml.name = "qwen3";
  chatml.to_last += "<think>\n\n</think>\n\n";
  chatml.generation = chatml.to_last;
  chatml.trims = {{"last", {.front = ChatBlanks::kLines}}};
  chatml.answers_without = {"</think>"};
  formats.push_back(std::move(chatml));
  const std::string user = "<|start_header_id|>user<|end_header_id|>\n\n",
                    assistant = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
  formats.push_back({.name = "llama3",
                     .head = "<|begin_of_text|>" + user,
                     .system = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n",
                     .after_system = "<|eot_id|>" + user,
                     .to_assistant = assistant,
                     .to_last = assistant,
                     .to_user = "<|eot_id|>" + user,
                     .tail = "<|eot_id|>",
                     .generation = assistant,
                     .end = "<|eot_id|>",
                     .trims = {{"system", all}, {"user", all}, {"assistant", all}}});
  // A system's words stand before the first user's, as the third of these models has it.
  formats.push_back({.name = "gemma",
                     .head = "<bos><start_of_turn>user\n",
                     .system = "<bos><start_of_turn>user\n",
                     .after_system = "\n\n",
                     .to_assistant = "<end_of_turn>\n<start_of_turn>model\n",
                     .to_last = "<end_of_turn>\n<start_of_turn>model\n",
                     .to_user = "<end_of_turn>\n<start_of_turn>user\n",
                     .tail = "<end_of_turn>\n",
                     .generation = "<end_of_turn>\n<start_of_turn>model\n",
                     .end = "<end_of_turn>",
                     .trims = {{"user", all}, {"assistant", all}},
                     .alternates = true});
  return formats;
}

}  // namespace

const std::vector<ChatStrings>& BuiltInChatFormats() {
  static const std::vector<ChatStrings> formats = MakeFormats();
  return formats;
}

const ChatStrings& BuiltInChatFormat(std::string_view name) {
  std::vector<std::string> names;
  for (const ChatStrings& strings : BuiltInChatFormats()) {
    if (strings.name == name) return strings;
    names.push_back(strings.name);
  }
  throw InputError("chat: " + NoSuchName("chat format", Printable(std::string(name)), names) +
                   ". A format of one's own is a file NAME.json; tools/chat-format makes it of a folder");
}

}  // namespace medley

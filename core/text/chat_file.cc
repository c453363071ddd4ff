#include <medley/text/chat_file.h>

#include <algorithm>
#include <utility>

#include <medley/config/config_file.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>

namespace medley {

template <typename Visitor>
void Fields(Visitor& visit, ChatTrim& c) {
  visit(c.front, {.name = "front", .help = "What goes at the front", .omit_default = true});
  visit(c.back, {.name = "back", .help = "What goes at the end", .omit_default = true});
}

template <typename Visitor>
void FieldsOfTurns(Visitor& visit, ChatStrings& c) {
  visit(c.name, {.name = "name",
                 .help = "What messages call it. Not given: the file's name",
                 .omit_default = true,
                 .is_label = true});
  const auto text = [&](auto& member, std::string_view name, std::string_view help, bool required) {
    visit(
        member,
        {.name = name, .help = help, .required = required, .omit_default = !required, .may_be_empty = true});
  };
  text(c.head, "head", "Before the first words of all, where these are a user's", true);
  text(c.system, "system", "Before a system's words; not given: no conversation may begin with them", false);
  text(c.after_system, "after_system", "From a system's words to the first user's", false);
  text(c.to_assistant, "to_assistant", "From a user's words to an answer", true);
  text(c.to_last, "to_last",
       "The same before an answer with which the conversation ends. Not given: as to_assistant", false);
  text(c.to_user, "to_user", "From an answer to the next words of a user", true);
  text(c.tail, "tail", "Behind the answer with which a conversation ends", true);
  text(c.user_tail, "user_tail", "Behind a user's words with which one ends. Not given: as tail", false);
  text(c.generation, "generation", "From a user's words to the answer that the model is to give", true);
}

template <typename Visitor>
void Fields(Visitor& visit, ChatStrings& c) {
  FieldsOfTurns(visit, c);
  visit(c.end, {.name = "end",
                .help = "The token that ends an answer, which is learned with it; to_user or tail has it",
                .required = true});
  visit(c.specials, {.name = "specials",
                     .help = "Tokens in these strings that words must not be: the vocabulary must have them "
                             "among its special tokens. Not given: names in angles",
                     .omit_default = true});
  visit(c.trims, {.name = "trims",
                  .help = "What words lose at their ends, by who says them: system, user, assistant, and "
                          "last, an answer with which the conversation ends",
                  .omit_default = true});
  visit(c.answers_without,
        {.name = "answers_without",
         .help = "Texts that an answer must not have, as the model's own template cuts it there",
         .omit_default = true});
  visit(c.alternates,
        {.name = "alternates", .help = "Whether users and assistants must take turns", .omit_default = true});
  visit(c.image, {.name = "image",
                  .help = "What stands for a picture among a user's words, with its token. Not given: "
                          "pictures do not stand among words",
                  .omit_default = true});
  visit(c.images_first, {.name = "images_first",
                         .help = "Whether all pictures of a turn stand before its words",
                         .omit_default = true});
  visit(c.trims_pieces, {.name = "trims_pieces",
                         .help = "Whether the words between pictures are trimmed as whole turns are",
                         .omit_default = true});
  visit(c.image_drops,
        {.name = "image_drops",
         .help = "What the string before a user's words loses at its end where a picture stands first",
         .omit_default = true});
}

namespace {

void CheckStrings(ConfigFile& file, const ChatStrings& strings) {
  const auto has_end = [&](const std::string& text) { return text.find(strings.end) != std::string::npos; };
  if (!strings.end.empty() && !has_end(strings.to_user) && !has_end(strings.tail))
    file.FailAt({"end"}, "stands neither in to_user nor in tail, so that nothing would end an answer");
  for (const auto& [who, trim] : strings.trims) {
    static constexpr std::string_view kWho[] = {"system", "user", "assistant", "last"};
    if (std::ranges::find(kWho, who) == std::end(kWho))
      file.FailAtKey({"trims", who}, "expected system, user, assistant or last");
  }
  const std::string around = strings.head + strings.system + strings.after_system + strings.to_assistant +
                             strings.to_last + strings.to_user + strings.tail + strings.generation +
                             strings.user_tail.value_or("") + strings.image;
  for (std::size_t i = 0; i < strings.specials.size(); ++i) {
    if (around.find(strings.specials[i]) == std::string::npos)
      file.FailAt({"specials", std::to_string(i)}, "stands in none of the strings; leave it out");
  }
  if (strings.system.empty() && !strings.after_system.empty())
    file.FailAtKey({"after_system"}, "stands behind a system's words, and without system none are there");
  if (!strings.image.empty()) return;
  for (const auto& [key, is_given] : {std::pair{"images_first", strings.images_first},
                                      {"trims_pieces", strings.trims_pieces},
                                      {"image_drops", !strings.image_drops.empty()}}) {
    if (is_given) file.FailAtKey({key}, "is about pictures among words, and image is not given");
  }
}

ChatStrings Read(ConfigFile& file, const std::filesystem::path& path) {
  ChatStrings strings;
  ReadFields(file, strings);
  if (file.Find({"to_last"}) == nullptr) strings.to_last = strings.to_assistant;
  if (strings.name.empty()) strings.name = path.stem().string();
  if (file.root() != nullptr) CheckStrings(file, strings);
  return strings;
}

}  // namespace

bool IsChatFile(std::string_view named) { return named.ends_with(".json"); }

ChatStrings ReadChatFile(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  ChatStrings strings = Read(file, path);
  diagnostics.Throw();
  return strings;
}

ChatStrings ReadChatText(const std::filesystem::path& path, std::string text) {
  Diagnostics diagnostics;
  ConfigFile file(path, std::move(text), diagnostics);
  ChatStrings strings = Read(file, path);
  diagnostics.Throw();
  return strings;
}

nlohmann::ordered_json ToJson(const ChatStrings& strings) {
  ChatStrings given = strings;
  const bool is_same = strings.to_last == strings.to_assistant;
  if (is_same) given.to_last.clear();
  nlohmann::ordered_json json = FieldDumper::Dump(given);
  if (!is_same) json["to_last"] = strings.to_last;  // be it empty
  return json;
}

nlohmann::ordered_json ChatSchema() {
  return SchemaWriter::File<ChatStrings>(
      "medley chat format",
      "What stands around the words of conversations: the key chat of a run config, or a task's option of "
      "that name. tools/chat-format writes it of a folder of published weights");
}

}  // namespace medley
